from __future__ import annotations

import copy
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.merge import MergeConflict, three_way_merge, two_way_merge
from kubewright.api.model import UNSET, ListMap, Model
from kubewright.api.overlay import shape_of
from kubewright.api.patch import apply_merge_patch, same


class Port(Model):
    container_port: int
    protocol: str | None = None
    name: str | None = None


class Container(Model):
    name: str
    image: str | None = None
    args: list[str] | None = None
    ports: Annotated[list[Port], ListMap("containerPort", "protocol")] | None = None


class Spec(Model):
    replicas: int | None = None
    containers: Annotated[list[Container], ListMap("name")] | None = None


class Document(Model):
    spec: Spec


SHAPE = shape_of(Document)


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(items)}}


@pytest.mark.parametrize(
    ("original", "desired", "current", "result"),
    [
        pytest.param({}, {"a": 1}, {}, {"a": 1}, id="added"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}, id="changed"),
        pytest.param({"a": 1}, {"a": 1}, {"a": 2}, {"a": 1}, id="drift is undone"),
        pytest.param({"a": 1}, {"a": 1}, {}, {"a": 1}, id="what others removed comes back"),
        pytest.param({"a": 1}, {}, {"a": 1}, {}, id="dropped"),
        pytest.param({"a": 1}, {}, {}, {}, id="dropped by others too"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}, id="others changed it alike"),
        pytest.param({}, {}, {"b": 1}, {"b": 1}, id="others' field stays"),
        pytest.param({}, {"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"c": 2, "b": 1}}, id="maps merge"),
        pytest.param({"a": {"b": 1}}, {}, {"a": {"b": 1, "default": 2}}, {}, id="dropped with its defaults"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, {"a": [1]}, {"a": [1, 2]}, id="lists are replaced"),
        pytest.param({"a": [1]}, {"a": [1]}, {"a": [1]}, {"a": [1]}, id="nothing to do"),
        pytest.param({"a": 1}, {"a": None}, {"a": 1}, {}, id="null drops"),
        pytest.param({}, {"a": None}, {"a": 1}, {}, id="null drops others' field"),
        pytest.param({"a": None}, {}, {"a": 1}, {"a": 1}, id="null was never ours"),
        pytest.param({}, {"a": {"b": None, "c": 1}}, {}, {"a": {"c": 1}}, id="nulls are not added"),
        pytest.param({"a": "x"}, {"a": {"b": 1}}, {"a": "x"}, {"a": {"b": 1}}, id="another type"),
        pytest.param({"a": True}, {"a": 1}, {"a": True}, {"a": 1}, id="true is not one"),
    ],
)
def test_three_way_merge_does_as_kubectl_apply(original: Any, desired: Any, current: Any, result: Any) -> None:
    merge = three_way_merge(original, desired, current)

    assert same(merge.result, result)
    assert same(apply_merge_patch(current, merge.patch), result)
    assert merge.conflicts == ()


@pytest.mark.parametrize(
    ("original", "desired", "current", "conflict"),
    [
        pytest.param({"a": 1}, {"a": 2}, {"a": 3}, MergeConflict(".a", 1, 3, 2), id="changed"),
        pytest.param({}, {"a": 2}, {"a": 3}, MergeConflict(".a", UNSET, 3, 2), id="added"),
        pytest.param({"a": 1}, {"a": 2}, {}, MergeConflict(".a", 1, UNSET, 2), id="removed by others"),
        pytest.param({"a": 1}, {}, {"a": 3}, MergeConflict(".a", 1, 3, UNSET), id="dropped by us"),
        pytest.param({"a": 1}, {"a": None}, {"a": 3}, MergeConflict(".a", 1, 3, UNSET), id="dropped by null"),
        pytest.param({"a": [1]}, {"a": [2]}, {"a": [3]}, MergeConflict(".a", [1], [3], [2]), id="list"),
        pytest.param(
            {"a": {"b": 1}}, {}, {"a": {"b": 2}}, MergeConflict(".a", {"b": 1}, {"b": 2}, UNSET), id="dropped map"
        ),
        pytest.param({"a": {"b": {"c": 1}}}, {"a": {"b": {"c": 2}}}, {"a": {"b": {"c": 3}}},
                     MergeConflict(".a.b.c", 1, 3, 2), id="deep"),
    ],
)  # fmt: skip
def test_three_way_merge_tells_what_others_changed_otherwise(
    original: Any, desired: Any, current: Any, conflict: MergeConflict
) -> None:
    merge = three_way_merge(original, desired, current)

    assert merge.conflicts == (conflict,)
    assert merge.result.get("a", UNSET) == (desired["a"] if desired.get("a") is not None else UNSET)


@pytest.mark.parametrize(
    ("original", "desired", "current"),
    [
        pytest.param({"a": 1}, {"a": 1}, {"a": 3}, id="we changed nothing"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="others changed it alike"),
        pytest.param({"a": 1}, {}, {}, id="others dropped it too"),
        pytest.param({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, {"a": [{"b": 1, "default": 0}]}, id="defaults in a list"),
        pytest.param({"a": {"b": [{"c": 1}]}}, {}, {"a": {"b": [{"c": 1, "d": 2}]}}, id="defaults in what we drop"),
    ],
)
def test_three_way_merge_tells_no_conflict_where_there_is_none(original: Any, desired: Any, current: Any) -> None:
    assert three_way_merge(original, desired, current).conflicts == ()


def test_three_way_merge_without_an_original_removes_nothing_and_tells_no_conflict() -> None:
    merge = three_way_merge(None, {"a": 1, "n": None}, {"a": 2, "b": 3, "n": 4})

    assert merge.result == {"a": 1, "b": 3}
    assert merge.conflicts == ()


def test_three_way_merge_keeps_the_order_of_current() -> None:
    merge = three_way_merge({}, {"z": 1, "a": 1, "m": 1}, {"m": 0, "z": 0})

    assert list(merge.result) == ["m", "z", "a"]


def test_keyed_lists_merge_item_by_item_in_the_order_of_current() -> None:
    original = containers({"name": "web", "image": "web:1"}, {"name": "old", "image": "old:1"})
    desired = containers({"name": "new", "image": "new:1"}, {"name": "web", "image": "web:2"})
    current = containers(
        {"name": "injected", "image": "proxy"},
        {"name": "old", "image": "old:1", "pull": "Always"},
        {"name": "web", "image": "web:1", "pull": "Always"},
    )

    merge = three_way_merge(original, desired, current, shape=SHAPE)

    assert merge.result == containers(
        {"name": "injected", "image": "proxy"},
        {"name": "web", "image": "web:2", "pull": "Always"},
        {"name": "new", "image": "new:1"},
    )
    assert merge.conflicts == ()


def test_conflict_in_a_keyed_list_names_the_item_by_its_key() -> None:
    original, desired, current = (containers({"name": "c", "image": image}) for image in ("1", "2", "3"))

    merge = three_way_merge(original, desired, current, shape=SHAPE)

    assert merge.conflicts == (MergeConflict('.spec.containers[name="c"].image', "1", "3", "2"),)


def test_conflict_names_items_by_all_their_keys() -> None:
    sides = [
        containers({"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP", "name": name}]}) for name in "abc"
    ]

    merge = three_way_merge(*sides, shape=SHAPE)

    path = '.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name'
    assert [conflict.path for conflict in merge.conflicts] == [path]


def test_an_item_that_others_removed_comes_back_untold_unless_we_changed_it() -> None:
    original = containers({"name": "kept", "image": "1"}, {"name": "changed", "image": "1"})
    desired = containers({"name": "kept", "image": "1"}, {"name": "changed", "image": "2"})

    merge = three_way_merge(original, desired, containers(), shape=SHAPE)

    assert merge.result == desired
    assert [conflict.path for conflict in merge.conflicts] == ['.spec.containers[name="changed"]']


def test_an_item_that_we_drop_and_others_changed_is_told() -> None:
    original, current = containers({"name": "c", "image": "1"}), containers({"name": "c", "image": "2"})

    merge = three_way_merge(original, containers(), current, shape=SHAPE)

    assert merge.result == containers()
    assert [conflict.path for conflict in merge.conflicts] == ['.spec.containers[name="c"]']


def test_a_key_that_the_server_filled_in_does_not_make_another_item() -> None:
    ours = containers({"name": "c", "ports": [{"containerPort": 53, "name": "x"}, {"containerPort": 80}]})
    desired = containers({"name": "c", "ports": [{"containerPort": 53, "name": "y"}]})
    current = containers(
        {
            "name": "c",
            "ports": [
                {"containerPort": 53, "protocol": "TCP", "name": "x"},
                {"containerPort": 80, "protocol": "TCP"},
            ],
        }
    )

    merge = three_way_merge(ours, desired, current, shape=SHAPE)

    assert merge.result == containers({"name": "c", "ports": [{"containerPort": 53, "protocol": "TCP", "name": "y"}]})
    assert merge.conflicts == ()


def test_items_that_differ_in_a_key_stay_two() -> None:
    desired = containers({"name": "c", "ports": [{"containerPort": 53, "protocol": "UDP"}]})
    current = containers({"name": "c", "ports": [{"containerPort": 53, "protocol": "TCP"}]})

    ports = two_way_merge(current, desired, shape=SHAPE).result["spec"]["containers"][0]["ports"]

    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]


def test_an_item_that_gets_another_key_is_one_dropped_and_one_new() -> None:
    original, desired, current = (
        containers({"name": "c", "ports": [{"containerPort": 53, **protocol}]})
        for protocol in ({}, {"protocol": "UDP"}, {"protocol": "TCP"})
    )

    merge = three_way_merge(original, desired, current, shape=SHAPE)

    assert merge.result == desired
    assert merge.conflicts == ()


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param([{"name": "a"}, {"name": "a"}], id="twice the same name"),
        pytest.param([{"image": "nameless"}], id="no name"),
        pytest.param(["text"], id="no object"),
    ],
)
def test_a_list_whose_keys_do_not_tell_items_apart_is_replaced(wanted: list[Any]) -> None:
    merge = two_way_merge(containers({"name": "b"}), containers(*wanted), shape=SHAPE)

    assert merge.result == containers(*wanted)


def test_a_list_without_keys_is_replaced_whole() -> None:
    sides = [containers({"name": "c", "args": args}) for args in (["a"], ["a", "b"], ["a", "x"])]

    merge = three_way_merge(*sides, shape=SHAPE)

    assert merge.result == sides[1]
    assert merge.conflicts == (MergeConflict('.spec.containers[name="c"].args', ["a"], ["a", "x"], ["a", "b"]),)


def test_two_way_merge_shows_the_difference() -> None:
    current = {"metadata": {"uid": "1"}, "spec": {"replicas": 1, "containers": [{"name": "a", "pull": "Always"}]}}

    merge = two_way_merge(current, {"spec": {"replicas": 2, "containers": [{"name": "a"}]}}, shape=SHAPE)

    assert merge.patch == {"spec": {"replicas": 2}}
    assert merge.conflicts == ()


def test_printing_tells_paths_but_no_values() -> None:
    merge = three_way_merge({"data": {"p": "secret1"}}, {"data": {"p": "secret2"}}, {"data": {"p": "secret3"}})

    told = f"{merge!r} {merge.conflicts[0]!r} {merge.conflicts[0]}"

    assert told.count(".data.p") == 3
    assert "secret" not in told


items = st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"image": st.sampled_from("xyz")})
documents = st.fixed_dictionaries(
    {},
    optional={
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "replicas": st.integers(0, 2),
                "containers": st.lists(items, max_size=3, unique_by=lambda item: item["name"]),
            },
        ),
        "data": st.dictionaries(st.sampled_from("pqr"), st.sampled_from([True, 1, "1"]), max_size=3),
    },
)


@given(documents, documents, documents)
@settings(derandomize=True)
def test_what_we_want_holds_and_what_only_others_have_stays(original: Any, desired: Any, current: Any) -> None:
    untouched = copy.deepcopy((original, desired, current))

    merge = three_way_merge(original, desired, current, shape=SHAPE)

    assert same(two_way_merge(merge.result, desired, shape=SHAPE).patch, {})
    assert same(three_way_merge(desired, desired, merge.result, shape=SHAPE).patch, {})
    for key, value in current.get("data", {}).items():
        if key not in original.get("data", {}) and key not in desired.get("data", {}) and "data" in desired:
            assert same(merge.result["data"][key], value)
    assert (original, desired, current) == untouched


@given(documents, documents)
@settings(derandomize=True)
def test_without_changes_by_others_the_result_is_what_we_want(original: Any, desired: Any) -> None:
    merge = three_way_merge(original, desired, original, shape=SHAPE)

    assert merge.conflicts == ()
    assert same(two_way_merge(desired, merge.result, shape=SHAPE).patch, {})

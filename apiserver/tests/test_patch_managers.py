"""Managed fields are read, changed and written as kube-apiserver 1.36.3 does it."""

import copy
from typing import Any

import pytest

from kubewright_apiserver.patch.apply import apply, track
from kubewright_apiserver.patch.endpoint import Endpoint, Versions
from kubewright_apiserver.patch.fieldset import FieldSet, Tree
from kubewright_apiserver.patch.managers import Identity, decode, encode, is_wipe, keep_times, problem_of
from kubewright_apiserver.patch.scale import entries_of_parent, entries_of_scale
from kubewright_apiserver.schema.node import node_of_builtin

NOW = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"
REPLICAS = {"apps/v1": ("spec", "replicas"), "apps/v2": None}


def endpoint_of(definition: str, api_version: str, subresource: str = "") -> Endpoint:
    versions = Versions(
        node=lambda version: node_of_builtin(definition) if version == api_version else None,
        convert=lambda obj, version: None,
    )
    return Endpoint(
        versions=versions, api_version=api_version, kind=definition.rpartition(".")[2], subresource=subresource
    )


CONFIG_MAPS = endpoint_of("io.k8s.api.core.v1.ConfigMap", "v1")


def entry_of(**changes: Any) -> dict[str, Any]:
    entry = {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }
    return {name: value for name, value in {**entry, **changes}.items() if value is not None}


def config_map(data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", **metadata}, "data": data}


def tracked(live: dict[str, Any] | None, new: dict[str, Any], manager: str = "u", now: str = NOW) -> dict[str, Any]:
    track(live, new, endpoint=CONFIG_MAPS, manager=manager, now=now)
    return {**new, "metadata": {**new["metadata"], "uid": "u"}}


def managers_of(obj: dict[str, Any]) -> list[str]:
    return [entry["manager"] for entry in obj["metadata"].get("managedFields", [])]


def test_entries_come_appliers_first_then_by_time_manager_version_and_subresource():
    entries = [
        entry_of(manager="b", subresource="status"),
        entry_of(manager="b"),
        entry_of(manager="b", apiVersion="a/v1"),
        entry_of(manager="c", time=LATER),
        entry_of(manager="a"),
        entry_of(manager="z", time=None),
        entry_of(manager="z", operation="Apply", time=LATER),
    ]

    found = [(entry["manager"], entry.get("time"), entry["apiVersion"]) for entry in encode(decode(entries))]

    assert found == [
        ("z", LATER, "v1"),
        ("z", None, "v1"),
        ("a", NOW, "v1"),
        ("b", NOW, "a/v1"),
        ("b", NOW, "v1"),
        ("b", NOW, "v1"),
        ("c", LATER, "v1"),
    ]


def test_an_entry_is_written_in_the_order_of_its_go_type():
    written = encode(decode([entry_of(subresource="status")]))

    assert list(written[0]) == [
        "manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource",
    ]  # fmt: skip


def test_an_applier_is_the_same_in_all_versions_and_an_updater_is_not():
    appliers = [entry_of(operation="Apply"), entry_of(operation="Apply", apiVersion="v2")]
    updaters = [entry_of(), entry_of(apiVersion="v2")]

    assert [entry["apiVersion"] for entry in encode(decode(appliers))] == ["v2"]
    assert [entry["apiVersion"] for entry in encode(decode(updaters))] == ["v1", "v2"]


@pytest.mark.parametrize(
    ("identity", "printed"),
    [
        (Identity("m", "Apply"), '"m"'),
        (Identity("m", "Update", "v1"), '"m" using v1'),
        (Identity('m"', "Update", "v1", "status"), '"m\\"" with subresource "status" using v1'),
        (Identity("m", "Apply", "", "scale"), '"m" with subresource "scale"'),
    ],
)
def test_a_manager_is_printed_with_its_version_only_if_it_updates(identity, printed):
    assert identity.printed == printed


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (entry_of(operation="Patch"), "operation must be `Apply` or `Update`"),
        (entry_of(apiVersion=""), "apiVersion must not be empty"),
        (entry_of(fieldsType=""), "missing fieldsType in managed fields entry 1"),
        (entry_of(fieldsType="V2"), 'invalid fieldsType "V2" in managed fields entry 1'),
        (entry_of(), None),
        (entry_of(fieldsV1=None), None),
    ],
)
def test_what_is_wrong_with_an_entry_is_said(entry, problem):
    assert problem_of([entry_of(), entry]) == problem


@pytest.mark.parametrize("entries", [[], [{}], [{"manager": "", "time": None}]])
def test_empty_entries_are_a_wish_to_forget(entries):
    assert is_wipe(entries)


@pytest.mark.parametrize("entries", [None, [entry_of()], [{}, {}], [{"fieldsV1": {}}]])
def test_other_entries_are_no_wish_to_forget(entries):
    assert not is_wipe(entries)


def test_times_are_brought_into_utc_and_to_whole_seconds():
    entries = [entry_of(time="2020-01-01T02:00:00+02:00"), entry_of(manager="n", time="2020-01-01T00:00:01.75Z")]

    times = [entry["time"] for entry in encode(decode(entries))]

    assert times == ["2020-01-01T00:00:00Z", "2020-01-01T00:00:01Z"]


def test_a_create_owns_all_that_it_sets_but_what_nobody_owns():
    new = config_map({"a": "1"}, namespace="n", labels={"l": "1"}, generateName="y", resourceVersion="3")

    created = tracked(None, new)

    assert created["metadata"]["managedFields"] == [
        entry_of(
            manager="u",
            fieldsV1={
                "f:data": {".": {}, "f:a": {}},
                "f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:l": {}}},
            },
        )
    ]


def test_a_create_does_not_own_the_structs_that_every_object_of_its_type_has():
    deployments = endpoint_of("io.k8s.api.apps.v1.Deployment", "apps/v1")
    new: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "Recreate"},
            "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {}}]}},
        },
        "status": {},
    }

    track(None, new, endpoint=deployments, manager="u", now=NOW)

    assert new["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"] == {
        "f:replicas": {},
        "f:selector": {},
        "f:strategy": {"f:type": {}},
        "f:template": {
            "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:name": {}, "f:resources": {}}}},
        },
    }


def test_a_nameless_manager_is_called_unknown():
    assert managers_of(tracked(None, config_map({"a": "1"}), manager="")) == ["unknown"]


def test_an_update_takes_what_it_changes_and_leaves_the_rest():
    live = tracked(None, config_map({"a": "1", "b": "1", "c": "1"}), "u1")

    new = tracked(live, config_map({"a": "1", "b": "2"}), "u2", LATER)

    assert new["metadata"]["managedFields"] == [
        entry_of(manager="u1", fieldsV1={"f:data": {".": {}, "f:a": {}}}),
        entry_of(manager="u2", time=LATER, fieldsV1={"f:data": {"f:b": {}}}),
    ]


def test_an_update_that_changes_nothing_moves_no_time():
    live = tracked(None, config_map({"a": "1"}), "u1")

    new = tracked(live, config_map({"a": "1"}), "u2", LATER)

    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_an_object_that_nobody_tracked_stays_untracked_through_updates():
    live = config_map({"a": "1"}, uid="u")

    assert managers_of(tracked(live, config_map({"a": "2"}))) == []


def test_managed_fields_sent_with_a_subresource_are_ignored():
    endpoint = endpoint_of("io.k8s.api.core.v1.ConfigMap", "v1", "status")
    live = config_map({"a": "1"}, uid="u", managedFields=[entry_of()])
    new = config_map({"a": "1"}, uid="u", managedFields=[{}])

    track(live, new, endpoint=endpoint, manager="u", now=NOW)

    assert new["metadata"]["managedFields"] == [entry_of()]


def test_a_manager_of_a_version_that_is_gone_is_forgotten():
    live = config_map({"a": "1"}, uid="u", managedFields=[entry_of(apiVersion="v0"), entry_of(manager="n")])

    assert managers_of(tracked(live, config_map({"a": "1"}))) == ["n"]


def test_of_more_than_ten_updaters_the_oldest_become_ancient_changes():
    live = tracked(None, config_map({"k00": "1"}), "u00")

    for place in range(1, 13):
        data = {**live["data"], f"k{place:02}": "1"}
        live = tracked(live, config_map(data), f"u{place:02}", f"2026-01-02T03:05:{place:02}Z")

    entries = live["metadata"]["managedFields"]
    assert managers_of(live) == ["ancient-changes", *(f"u{place:02}" for place in range(4, 13))][:10]
    assert entries[0]["time"] == "2026-01-02T03:05:03Z"
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}, "f:k03": {}}}


def test_ancient_changes_are_kept_apart_by_version():
    entries = [entry_of(manager=f"u{place}", apiVersion=f"v{place % 2}", time=None) for place in range(12)]
    managers = decode(entries)

    managers.cap()

    assert sorted((found.manager, found.api_version) for found in managers.sets)[:2] == [
        ("ancient-changes", "v0"),
        ("ancient-changes", "v1"),
    ]
    assert len(managers.sets) == 10


def test_times_are_kept_if_nothing_else_changed():
    old = config_map({"a": "1"}, managedFields=[entry_of(), entry_of(manager="n", time=None)])
    new = config_map({"a": "1"}, managedFields=[entry_of(time=LATER), entry_of(manager="n", time=LATER)])

    keep_times(old, new, is_custom=False)

    assert new == old


@pytest.mark.parametrize(
    "new",
    [
        config_map({"a": "2"}, managedFields=[entry_of(time=LATER)]),
        config_map({"a": "1"}, managedFields=[entry_of(time=LATER, manager="n")]),
        config_map({"a": "1"}, managedFields=[entry_of(time=LATER, fieldsV1={"f:data": {"f:b": {}}})]),
        config_map({"a": "1"}, managedFields=[entry_of(time=LATER), entry_of(manager="n")]),
    ],
)
def test_times_move_if_anything_else_changed(new):
    before = copy.deepcopy(new)

    keep_times(config_map({"a": "1"}, managedFields=[entry_of()]), new, is_custom=False)

    assert new == before


@pytest.mark.parametrize(("is_custom", "time"), [(False, LATER), (True, NOW)])
def test_the_order_of_fields_is_a_change_except_in_custom_resources(is_custom, time):
    old = config_map({}, managedFields=[entry_of(fieldsV1={"f:b": {}, "f:a": {}})])
    new = config_map({}, managedFields=[entry_of(time=LATER, fieldsV1={"f:a": {}, "f:b": {}})])

    keep_times(old, new, is_custom=is_custom)

    assert new["metadata"]["managedFields"][0]["time"] == time


def test_scale_has_the_managers_that_own_the_replicas():
    owning: Tree = {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    entries = [
        entry_of(apiVersion="apps/v1", fieldsV1=owning),
        entry_of(apiVersion="apps/v1", manager="n"),
        entry_of(apiVersion="apps/v2", manager="o", fieldsV1=owning),
        entry_of(apiVersion="other/v1", manager="p", fieldsV1=owning),
    ]

    scale = entries_of_scale(entries, REPLICAS)

    assert scale == [entry_of(apiVersion="autoscaling/v1", fieldsV1={"f:spec": {"f:replicas": {}}})]


def test_a_scaled_object_loses_replicas_to_who_scaled_it_and_managers_of_unknown_versions():
    owning: Tree = {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    parent = [
        entry_of(apiVersion="apps/v1", fieldsV1=owning),
        entry_of(apiVersion="apps/v1", manager="n", fieldsV1={"f:spec": {"f:replicas": {}}}),
        entry_of(apiVersion="apps/v1", manager="o", operation="Apply", fieldsV1=owning),
        entry_of(apiVersion="apps/v2", manager="p", fieldsV1=owning),
        entry_of(apiVersion="other/v1", manager="q", fieldsV1=owning),
        entry_of(apiVersion="apps/v1", manager="r"),
    ]
    in_scale: Tree = {"f:spec": {"f:replicas": {}}}
    scale = [
        entry_of(apiVersion="autoscaling/v1", manager="hpa", subresource="scale", fieldsV1=in_scale),
        entry_of(apiVersion="autoscaling/v1", manager="o", operation="Apply", fieldsV1=in_scale),
    ]

    entries = entries_of_parent(parent, scale, api_version="apps/v1", paths=REPLICAS)

    assert entries == [
        entry_of(apiVersion="apps/v1", manager="o", operation="Apply", fieldsV1=owning),
        entry_of(apiVersion="apps/v1", manager="hpa", subresource="scale", time=None, fieldsV1=in_scale),
        entry_of(apiVersion="apps/v1", fieldsV1={"f:spec": {"f:paused": {}}}),
        entry_of(apiVersion="apps/v2", manager="p", fieldsV1=owning),
        entry_of(apiVersion="apps/v1", manager="r"),
    ]


def test_scaling_sorts_the_fields_of_the_parent_as_text():
    ports: Tree = {'k:{"port":80}': {}, 'k:{"port":443}': {}}

    entries = entries_of_parent(
        [entry_of(apiVersion="apps/v1", fieldsV1=ports)], None, api_version="apps/v1", paths=REPLICAS
    )

    assert list(entries[0]["fieldsV1"]) == ['k:{"port":443}', 'k:{"port":80}']


def test_an_applier_that_shares_all_its_fields_gets_no_time():
    live = apply(
        None, config_map({"a": "1"}), endpoint=CONFIG_MAPS, manager="m1", force=False, now=NOW, finish=lambda obj: obj
    )
    live["metadata"]["uid"] = "u"

    shared = apply(
        live, config_map({"a": "1"}), endpoint=CONFIG_MAPS, manager="m2", force=False, now=LATER, finish=lambda obj: obj
    )

    assert shared["metadata"]["managedFields"] == [
        entry_of(manager="m2", operation="Apply", time=None),
        entry_of(manager="m1", operation="Apply"),
    ]


def test_fields_that_an_endpoint_resets_are_owned_by_nobody():
    pods = endpoint_of("io.k8s.api.core.v1.Pod", "v1")
    reset = Endpoint(versions=pods.versions, api_version="v1", kind="Pod", reset={"v1": FieldSet.of_paths(("status",))})
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x"},
        "spec": {"hostname": "h"},
        "status": {"phase": "R"},
    }

    track(None, pod, endpoint=reset, manager="u", now=NOW)

    assert pod["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:hostname": {}}}

"""Strategic merge patches come out as on the real server, lists in its order, and are refused in its words."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.golang import go_text
from kubewright_apiserver.patch.refusals import rejected_text
from kubewright_apiserver.patch.strategic import apply_strategic_patch, read_strategic_patch
from kubewright_apiserver.schema.decoding import normalise_leniently
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.status import Refusal

ABSENT = "absent"
DEPLOYMENT = node_of_builtin("io.k8s.api.apps.v1.Deployment")

RECORDED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "data" / "strategic_patches.json").read_text(encoding="utf-8")
)
LIVE: dict[str, Any] = RECORDED["live"]


def in_metadata(patch: Any) -> dict[str, Any]:
    return {"metadata": patch}


def in_pod(patch: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": patch}}}


def in_container(patch: Any) -> dict[str, Any]:
    return in_pod({"containers": [{"name": "a", **patch}]})


def changes(before: Any, after: Any, path: str = "") -> dict[str, Any]:
    """What differs, by path; of containers the order of their names and what differs in each."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return {} if before == after and type(before) is type(after) else {path.removeprefix("/"): after}
    found: dict[str, Any] = {}
    for name in [*before, *(name for name in after if name not in before)]:
        inner = f"{path}/{name}".replace("/spec/template/spec", "/pod")
        if inner == "/pod/containers":
            found |= container_changes(before[name], after.get(name, []))
        elif name not in after:
            found[inner.removeprefix("/")] = ABSENT
        else:
            found |= changes(before.get(name), after[name], inner)
    return found


def container_changes(before: list[Any], after: list[Any]) -> dict[str, Any]:
    old, new = ({item["name"]: item for item in items} for items in (before, after))
    found: dict[str, Any] = {} if list(old) == list(new) else {"containers": list(new)}
    for name in old.keys() & new.keys():
        found |= changes(old[name], new[name], name)
    return found


def patched(patch: Any) -> dict[str, Any]:
    read, _ = read_strategic_patch(json.dumps(patch).encode())
    return apply_strategic_patch(LIVE, read, DEPLOYMENT)


@pytest.mark.parametrize(("patch", "expected"), RECORDED["merged"])
def test_a_patch_changes_what_it_changes_on_the_real_server(patch, expected):
    assert changes(LIVE, patched(patch)) == expected


@pytest.mark.parametrize(("patch", "code", "message"), RECORDED["refused"])
def test_a_patch_that_cannot_be_merged_is_refused_in_the_real_servers_words(patch, code, message):
    with pytest.raises(Refusal) as refused:
        patched(patch)

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(("patch", "why"), RECORDED["undecodable"])
def test_an_outcome_that_go_cannot_convert_is_refused_in_the_real_servers_words(patch, why):
    with pytest.raises(Undecodable) as refused:
        normalise_leniently(patched(patch), DEPLOYMENT)

    assert str(refused.value) == why


def test_the_document_and_what_it_shares_stay_as_they_are():
    before = json.dumps(LIVE)

    patched(in_container({"env": [{"name": "E1", "value": "9"}, {"name": "E2", "$patch": "delete"}]}))
    patched(in_metadata({"labels": {"x": None}, "$setElementOrder/finalizers": ["f.io/c", "f.io/a"]}))

    assert json.dumps(LIVE) == before


def test_a_new_container_stands_where_go_puts_it_when_others_made_room():
    four = [{"name": name} for name in ("a", "g", "e", "c")]
    live = {"spec": {"template": {"spec": {"containers": four}}}}
    delete = [{"$patch": "delete", "name": "g"}, {"$patch": "delete", "name": "e"}]
    named = [{"name": "f"}, {"name": "b"}, {"name": "c"}]
    patch = in_pod({"containers": [*named, *delete], "$setElementOrder/containers": [*named, {"name": "d"}]})

    merged = apply_strategic_patch(live, patch, DEPLOYMENT)["spec"]["template"]["spec"]["containers"]

    assert [container["name"] for container in merged] == ["a", "f", "b", "c"]


def test_a_whole_number_with_a_fraction_becomes_an_integer_and_a_large_one_wraps_around():
    assert normalise_leniently(patched({"spec": {"replicas": 5.0}}), DEPLOYMENT).value["spec"]["replicas"] == 5
    assert normalise_leniently(patched({"spec": {"replicas": 2**32 + 2}}), DEPLOYMENT).value["spec"]["replicas"] == 2


def test_unknown_fields_are_told_sorted():
    patch = in_pod({"foo": 1, "containers": [{"name": "a", "bar": 2}], "affinity": {"zz": {}}})

    assert normalise_leniently(patched(patch), DEPLOYMENT).strict == [
        'unknown field "spec.template.spec.affinity.zz"',
        'unknown field "spec.template.spec.containers[0].bar"',
        'unknown field "spec.template.spec.foo"',
    ]


def test_repeated_fields_of_a_patch_are_told_unless_nobody_checks():
    data = b'{"metadata":{"labels":{"a":"1","a":"2"}}}'

    assert read_strategic_patch(data)[1] == ['duplicate field "metadata.labels.a"']
    assert read_strategic_patch(data, is_checked=False) == ({"metadata": {"labels": {"a": "2"}}}, [])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b'"x"', "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        (b"3", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        (b"{", "unexpected end of JSON input"),
        (b"", "unexpected end of JSON input"),
    ],
)
def test_a_body_that_is_no_object_is_a_bad_request(data, message):
    with pytest.raises(Refusal) as refused:
        read_strategic_patch(data)

    assert (refused.value.code, refused.value.message) == (400, message)


def test_null_patches_nothing():
    assert read_strategic_patch(b"null") == ({}, [])


def test_a_refused_outcome_shows_the_patch_without_its_directives():
    patch, _ = read_strategic_patch(b'{"spec":{"strategy":{"$retainKeys":["type"],"type":3},"paused":null}}')
    apply_strategic_patch(LIVE, patch, DEPLOYMENT)

    refusal = rejected_text(go_text(patch), "cannot convert int64 to v1.DeploymentStrategyType")

    assert refusal.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": ' "" is invalid: patch: Invalid value: "map[spec:map[paused:<nil> strategy:map[type:3]]]": '
        "cannot convert int64 to v1.DeploymentStrategyType",
        "reason": "Invalid",
        "details": {
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": 'Invalid value: "map[spec:map[paused:<nil> strategy:map[type:3]]]": '
                    "cannot convert int64 to v1.DeploymentStrategyType",
                    "field": "patch",
                }
            ]
        },
        "code": 422,
    }


def test_ports_of_a_service_are_merged_by_their_number():
    service = node_of_builtin("io.k8s.api.core.v1.Service")
    live = {"spec": {"ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]}}

    merged = apply_strategic_patch(live, {"spec": {"ports": [{"port": 80, "targetPort": 9090}]}}, service)

    assert merged == {
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 9090}, {"name": "https", "port": 443}]}
    }


def test_taints_of_a_node_are_replaced_as_a_whole():
    node = node_of_builtin("io.k8s.api.core.v1.Node")
    live = {"spec": {"taints": [{"key": "k1", "effect": "NoSchedule"}, {"key": "k2", "effect": "NoExecute"}]}}

    merged = apply_strategic_patch(live, {"spec": {"taints": [{"key": "k3", "effect": "NoSchedule"}]}}, node)

    assert merged == {"spec": {"taints": [{"key": "k3", "effect": "NoSchedule"}]}}


def test_raw_data_cannot_be_merged_into():
    revision = node_of_builtin("io.k8s.api.apps.v1.ControllerRevision")

    with pytest.raises(Refusal) as refused:
        apply_strategic_patch({"data": {"spec": {"a": 1}}}, {"data": {"spec": {"b": 2}}}, revision)

    message = 'unable to find api field in struct RawExtension for the json field "spec"'
    assert (refused.value.code, refused.value.reason, refused.value.message) == (500, "", message)

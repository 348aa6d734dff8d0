"""§1.9 Patches, server-side apply, dry run, field validation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod

pytestmark = pytest.mark.section("1.9")


async def apply(api: Api, path: str, body: Any, manager: str = "m", **query: Any) -> Any:
    return await api.patch(path, body, type="apply", query={"fieldManager": manager, **query})


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "/data/n", "value": "1"}],
        [{"op": "remove", "path": "/data/k"}],
        [{"op": "replace", "path": "/data/k", "value": "w"}],
        [{"op": "test", "path": "/data/k", "value": "v"}, {"op": "replace", "path": "/data/k", "value": "w"}],
        [{"op": "test", "path": "/data/k", "value": "other"}],
        [{"op": "remove", "path": "/data/nope"}],
        [{"op": "replace", "path": "/data/nope", "value": "x"}],
        [{"op": "add", "path": "/nope/x", "value": "1"}],
        [{"op": "move", "from": "/data/k", "path": "/data/l"}],
        [{"op": "copy", "from": "/data/k", "path": "/data/l"}],
        [{"op": "frobnicate", "path": "/data/k"}],
        [{"op": "add", "path": "data/k", "value": "x"}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a~b": "x"}}],
        [],
    ],
)
async def test_a_json_patch(api: Api, operations: list[Any]):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", operations, type="json")


@pytest.mark.parametrize("body", [{}, {"op": "add"}, "x", None, [1]])
async def test_a_json_patch_that_is_none(api: Api, body: Any):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", b"null" if body is None else body, type="json")


@pytest.mark.parametrize(
    "patch",
    [
        {"data": {"k": "w", "n": "1"}},
        {"data": {"k": None}},
        {"data": None},
        {"metadata": {"name": "other"}},
        {},
        {"nope": 1},
        [],
    ],
)
async def test_a_merge_patch(api: Api, patch: Any):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", patch)


CONTAINERS = [{"name": "c", "image": "busybox:2"}, {"name": "side", "image": "envoy"}]


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"template": {"spec": {"containers": CONTAINERS}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": "c", "$patch": "delete"}, CONTAINERS[1]]}}}},
        {
            "spec": {
                "template": {
                    "spec": {
                        "$setElementOrder/containers": [{"name": "side"}, {"name": "c"}],
                        "containers": CONTAINERS[1:],
                    }
                }
            }
        },
        {"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}},
        {"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/f"]}},
        {"spec": {"template": {"metadata": {"labels": {"$patch": "replace", "app": "web", "x": "y"}}}}},
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        {"spec": {"replicas": None}},
    ],
)
async def test_a_strategic_patch(api: Api, patch: Any):
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", patch, type="strategic")


async def test_force_is_for_apply_alone(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", {}, query={"force": "true"})


async def test_apply_creates_and_changes(api: Api):
    await apply(api, MAPS + "/a", config_map(k="v", other="x"))
    await apply(api, MAPS + "/a", config_map(k="w"))
    await apply(api, MAPS + "/a", config_map(k="w"))


async def test_apply_of_a_deployment(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=2))
    changed = deployment(replicas=3)
    changed["spec"]["template"]["spec"]["containers"] = CONTAINERS
    await apply(api, DEPLOYMENTS + "/d", changed)
    await apply(api, DEPLOYMENTS + "/d", deployment())


async def test_conflicts_of_two_managers(api: Api):
    await apply(api, MAPS + "/a", config_map(k="v", l="v"), "one")
    await apply(api, MAPS + "/a", config_map(k="w"), "two")
    await apply(api, MAPS + "/a", config_map(k="w", l="w"), "two")
    await apply(api, MAPS + "/a", config_map(k="w", l="w"), "two", force="true")
    await apply(api, MAPS + "/a", config_map(k="v"), "one")


async def test_conflict_with_an_update(api: Api):
    await api.post(MAPS, config_map(k="v"), query={"fieldManager": "creator"})
    await apply(api, MAPS + "/a", config_map(k="w"))
    await apply(api, MAPS + "/a", config_map(k="v"))


async def test_equal_values_are_shared(api: Api):
    await apply(api, MAPS + "/a", config_map(k="v"), "one")
    await apply(api, MAPS + "/a", config_map(k="v"), "two")
    await apply(api, MAPS + "/a", config_map(), "one")
    await apply(api, MAPS + "/a", config_map(), "two")


async def test_conflicts_in_lists_and_labels(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(), "one")
    other = deployment()
    other["metadata"]["labels"] = {"l": "1"}
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    await apply(api, DEPLOYMENTS + "/d", other, "two")


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ({}, config_map()),
        ({"fieldManager": "m"}, config_map() | {"metadata": {"name": "a", "managedFields": [{}]}}),
        ({"fieldManager": "m"}, config_map() | {"kind": "Secret"}),
        ({"fieldManager": "m"}, config_map() | {"dat": {}}),
        ({"fieldManager": "m"}, config_map() | {"metadata": {"name": "b"}}),
        ({"fieldManager": "m"}, config_map() | {"metadata": {"name": "a", "resourceVersion": "5"}}),
        ({"fieldManager": "m" * 129}, config_map()),
        ({"fieldManager": "a\nb"}, config_map()),
        ({"fieldManager": "m"}, {"metadata": {"name": "a"}}),
        ({"fieldManager": "m"}, []),
    ],
)
async def test_an_apply_that_is_refused(api: Api, query: dict[str, str], body: Any):
    await api.patch(MAPS + "/a", body, type="apply", query=query)


async def test_duplicate_keys_in_an_apply(api: Api):
    twice = deployment()
    twice["spec"]["template"]["spec"]["containers"] *= 2
    await apply(api, DEPLOYMENTS + "/d", twice)


async def test_apply_of_a_status(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(), "one")
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "status": {"replicas": 2}}
    await apply(api, DEPLOYMENTS + "/d/status", status, "two")
    await apply(api, DEPLOYMENTS + "/d/status", {**status, "status": {}}, "two")


async def test_update_managers_take_what_they_change(api: Api):
    await apply(api, MAPS + "/a", config_map(k="v", l="v"), "applier")
    await api.patch(MAPS + "/a", {"data": {"k": "w"}}, query={"fieldManager": "patcher"})
    await api.put(MAPS + "/a", config_map(k="w", l="w", m="w"), query={"fieldManager": "putter"})


async def test_managed_fields_are_wiped(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", {"metadata": {"managedFields": [{}]}})
    await apply(api, MAPS + "/a", config_map(k="v"))


async def test_the_scale_door_owns_replicas(api: Api):
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=1), "one")
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 3}}, query={"fieldManager": "scaler"})
    await api.get(DEPLOYMENTS + "/d")
    await apply(api, DEPLOYMENTS + "/d", deployment(replicas=1), "one")


@pytest.mark.parametrize("value", ["All", "Some", ""])
async def test_a_dry_run(api: Api, value: str):
    await api.post(MAPS, config_map(), query={"dryRun": value})
    await api.get(MAPS + "/a")


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore", "Nonsense", ""])
async def test_field_validation(api: Api, validation: str):
    body = b'{"metadata":{"name":"a","foo":1},"data":{"a":"1","a":"2"},"spec":{}}'
    await api.post(MAPS, body, query={"fieldValidation": validation})


@pytest.mark.parametrize("type", ["merge", "strategic"])
async def test_field_validation_of_a_patch(api: Api, type: str):
    patch = {"metadata": {"labels": {"x": "y"}}, "spec": {"nonsense": 1}, "more": {}}
    with api.unrecorded():
        await api.post(PODS, pod())
        refused = await api.patch(PODS + "/p", patch, type=type, query={"fieldValidation": "Strict"})
    await api.patch(PODS + "/p", patch, type=type)

    # What stands between the two is the patched object as Go prints it.
    assert refused.status == 422
    assert refused.body["message"].startswith(' "" is invalid: patch: Invalid value: ')
    assert refused.body["message"].endswith(
        'strict decoding error: unknown field "more", unknown field "spec.nonsense"'
    )


LABELLED = {"metadata": {"name": "a", "labels": {"a/b": "1", "m~n": "2"}}, "data": {"k": "v"}}


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "remove", "path": "/metadata/labels/a~1b"}],
        [{"op": "replace", "path": "/metadata/labels/m~0n", "value": "3"}],
        [
            {"op": "add", "path": "/metadata/finalizers", "value": []},
            {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/f"},
        ],
        [
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/b"]},
            {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/a"},
        ],
        [
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/b"]},
            {"op": "add", "path": "/metadata/finalizers/5", "value": "x"},
        ],
        [
            {"op": "add", "path": "/metadata/finalizers", "value": ["example.com/b"]},
            {"op": "remove", "path": "/metadata/finalizers/-1"},
        ],
        [{"op": "add", "path": "", "value": {"metadata": {"name": "a"}}}],
        [{"op": "replace", "path": "/data", "value": None}],
        [{"op": "test", "path": "/data", "value": {"k": "v"}}],
        [{"op": "test", "path": "/nope", "value": None}],
        [{"op": "test", "path": "/data/k", "value": None}],
        [{"op": "add", "path": "/data/a/b", "value": "x"}],
        [{"op": "move", "from": "/nope", "path": "/data/l"}],
        [{"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}],
        [{"op": "replace", "path": "/metadata/name", "value": "b"}],
        [{"op": "add", "path": "/metadata/resourceVersion", "value": "1"}],
        [{"op": "add", "path": "/data/n", "value": 5}],
        [{"op": "remove"}],
        [{"path": "/data"}],
        [{"op": "add", "path": "/data/k"}],
    ],
)
async def test_operations(api: Api, operations: list[Any]):
    with api.unrecorded():
        await api.post(MAPS, LABELLED)
    await api.patch(MAPS + "/a", operations, type="json")


async def test_so_many_operations_are_refused(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v"))
    operations = [{"op": "test", "path": "/data/k", "value": "v"}] * 10_001
    await api.patch(MAPS + "/a", operations, type="json")
    with api.unrecorded():
        answer = await api.patch(MAPS + "/a", operations[:-1], type="json")

    assert answer.status == 200


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"labels": {"x": None, "y": "1"}}},
        {"metadata": {"labels": None}},
        {"metadata": None},
        {"data": {"k": {"deep": None}}},
        {"kind": "Secret"},
        {"apiVersion": "v2"},
        {"kind": None, "apiVersion": None},
        {"metadata": {"namespace": "other"}},
        {"binaryData": {"b": "eA=="}},
        {"data": []},
        "text",
        5,
        None,
    ],
)
async def test_a_merge_patch_of_more_shapes(api: Api, patch: Any):
    with api.unrecorded():
        await api.post(MAPS, config_map(k="v", labels={"x": "1"}))
    await api.patch(MAPS + "/a", b"null" if patch is None else patch)


LISTS = {
    "containers": [
        {"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "args": ["x"]},
        {"name": "d", "image": "i:1"},
    ],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "one"}],
}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "c", "env": [{"name": "B", "$patch": "delete"}, {"name": "C", "value": "3"}]}]},
        {"containers": [{"name": "c", "env": [{"$patch": "replace"}, {"name": "Z", "value": "9"}]}]},
        {"containers": [{"name": "c", "args": ["y", "z"]}]},
        {"containers": [{"name": "c", "args": None, "env": None}]},
        {"$setElementOrder/containers": [{"name": "d"}, {"name": "c"}], "containers": [{"name": "d", "image": "i:2"}]},
        {"$setElementOrder/containers": [{"name": "nope"}], "containers": [{"name": "d", "image": "i:2"}]},
        {"containers": [{"name": "d", "$patch": "merge", "image": "i:3"}]},
        {"containers": [{"name": "d", "$patch": "nonsense"}]},
        {"containers": "x"},
        {"$patch": "replace", "containers": [{"name": "e", "image": "i:4"}]},
        {"$patch": "delete"},
        {"imagePullSecrets": [{"name": "two"}]},
        {"tolerations": [{"key": "l", "operator": "Exists"}]},
        {"$retainKeys": ["containers"]},
    ],
)
async def test_a_strategic_patch_of_lists(api: Api, spec: dict[str, Any]):
    body = deployment()
    body["spec"]["template"]["spec"] = LISTS
    with api.unrecorded():
        await api.post(DEPLOYMENTS, body)
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"template": {"spec": spec}}}, type="strategic")


async def test_single_values_are_deleted_from_a_list(api: Api):
    finalizers = ["example.com/a", "example.com/b", "example.com/c"]
    with api.unrecorded():
        await api.post(MAPS, {"metadata": {"name": "a", "finalizers": finalizers}})
    patch: Any = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b", "example.com/nope"]}}
    await api.patch(MAPS + "/a", patch, type="strategic")
    patch = {"metadata": {"$setElementOrder/finalizers": ["example.com/c", "example.com/d", "example.com/a"]}}
    patch["metadata"]["finalizers"] = ["example.com/d"]
    await api.patch(MAPS + "/a", patch, type="strategic")


async def test_ports_of_a_service_are_merged_by_port(api: Api):
    services = "/api/v1/namespaces/{ns}/services"
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    with api.unrecorded():
        await api.post(services, {"metadata": {"name": "s"}, "spec": {"ports": ports, "selector": {"x": "y"}}})
    patch = {"spec": {"ports": [{"port": 81, "targetPort": 8081}, {"port": 80, "$patch": "delete"}]}}
    await api.patch(services + "/s", patch, type="strategic")


@pytest.mark.parametrize(
    "type", ["application/json", "text/plain", "application/json-patch", "application/merge-patch"]
)
async def test_a_patch_of_an_unknown_type(api: Api, type: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", {}, type=type)


@pytest.mark.parametrize("type", ["json", "merge", "strategic"])
async def test_a_patch_that_is_malformed(api: Api, type: str):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await api.patch(MAPS + "/a", b"{", type=type)
    await api.patch(MAPS + "/a", b"", type=type)


@pytest.mark.parametrize("type", ["merge", "strategic"])
async def test_a_dry_run_of_a_patch(api: Api, type: str):
    created = await api.post(MAPS, config_map(k="v"))
    answer = await api.patch(MAPS + "/a", {"data": {"k": "w"}}, type=type, query={"dryRun": "All"})
    await api.get(MAPS + "/a")

    assert answer.body["data"] == {"k": "w"}
    assert answer.body["metadata"]["resourceVersion"] == created.body["metadata"]["resourceVersion"]


async def test_a_dry_run_of_an_update_and_of_a_creation_by_it(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.put(MAPS + "/a", config_map(k="w"), query={"dryRun": "All"})
    leases = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
    await api.put(leases + "/l", {"metadata": {"name": "l"}}, query={"dryRun": "All"})
    await api.get(leases + "/l")


async def test_a_dry_run_is_asked_for_in_one_word(api: Api):
    await api.post(MAPS, config_map(), query=[("dryRun", "All"), ("dryRun", "All")])
    await api.post(MAPS, config_map(), query=[("dryRun", "All"), ("dryRun", "None")])
    await api.post(MAPS, config_map(), query={"dryRun": "all"})


@pytest.mark.parametrize("manager", ["", "a" * 128, "a" * 129, "ä" * 64, "ä" * 65, "a b", "tab\t", "\u200b", "a/b"])
async def test_names_of_managers(api: Api, manager: str):
    await api.post(MAPS, config_map(k="v"), query={"fieldManager": manager})

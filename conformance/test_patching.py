"""§1.9 Patches, server-side apply, dry run, field validation."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod


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

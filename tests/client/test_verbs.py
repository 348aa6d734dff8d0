"""The verbs: what they send, what they give back, what they refuse."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from kubewright.api import Metadata, MetadataOnly, Unstructured
from kubewright.client import ALL_NAMESPACES, JsonPatch, MergePatch, StrategicPatch
from kubewright.errors import (
    AlreadyExists,
    ApplyConflict,
    Conflict,
    FieldConflict,
    Forbidden,
    Invalid,
    NotFound,
    NotRead,
    NotServed,
    WasRead,
)
from kubewright.kinds.apps_v1 import Deployment
from kubewright.kinds.core_v1 import ConfigMap, Node, Pod, PodSpec
from tests.client.scripted import Call, Server, failure, page, thing

PLACE = "/api/v1/namespaces/default/configmaps"


async def test_create_posts_the_object_and_gives_it_as_stored():
    server = Server((201, thing("a-x7f2p", 5)))

    async with server.client() as client:
        created = await client.create(ConfigMap(metadata=Metadata(generate_name="a-"), data={"k": "v"}))

    assert (server.calls[0].method, server.calls[0].path) == ("POST", PLACE)
    assert server.calls[0].document == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"generateName": "a-"},
        "data": {"k": "v"},
    }
    assert created.name == "a-x7f2p"


async def test_the_namespace_of_an_object_wins_over_the_clients():
    server = Server((201, thing()))

    async with server.client() as client:
        await client.create(ConfigMap(metadata=Metadata(name="a", namespace="other")))

    assert server.calls[0].path == "/api/v1/namespaces/other/configmaps"


async def test_update_sends_the_difference_and_the_version_that_was_read():
    server = Server((200, thing(version=3, data={"k": "v"}, immutable=False, future=1)), (200, thing(version=4)))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        config.data["k"] = "w"
        config.metadata.labels["l"] = "1"
        stored = await client.update(config)

    call = server.calls[1]
    assert (call.method, call.headers["Content-Type"]) == ("PATCH", "application/merge-patch+json")
    assert call.document == {"data": {"k": "w"}, "metadata": {"labels": {"l": "1"}, "resourceVersion": "3"}}
    assert stored.metadata.resource_version == "4"


async def test_update_of_an_unchanged_object_sends_nothing():
    server = Server((200, thing()))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        assert await client.update(config) is config

    assert len(server.calls) == 1


async def test_update_of_the_status_sends_the_status_alone():
    node = {"metadata": {"name": "n", "resourceVersion": "3"}, "spec": {}, "status": {"phase": "x"}}
    server = Server((200, node))

    async with server.client() as client:
        found = await client.get(Node, "n")
        found.metadata.labels["a"] = "b"
        found.status.phase = "y"
        await client.update(found, subresource="status")

    assert server.calls[1].path == "/api/v1/nodes/n/status"
    assert server.calls[1].document == {"status": {"phase": "y"}, "metadata": {"resourceVersion": "3"}}


async def test_update_of_an_object_that_was_never_read_is_refused():
    server = Server((200, thing()))

    async with server.client() as client:
        with pytest.raises(NotRead):
            await client.update(ConfigMap(metadata=Metadata(name="a")))

    assert server.calls == []


async def test_replace_puts_the_whole_object_with_what_we_do_not_know():
    server = Server((200, thing(version=3, future=1)), (200, thing(version=4)))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        config.data["k"] = "v"
        await client.replace(config)

    assert server.calls[1].method == "PUT"
    assert server.calls[1].document == thing(version=3, future=1, data={"k": "v"})


async def test_modify_reads_again_and_retries_when_somebody_was_quicker():
    conflict = (409, failure(409, "Conflict", "the object has been modified"))
    server = Server(
        (200, thing(version=3)), conflict, (200, thing(version=4, data={"n": "1"})), (200, thing(version=5))
    )

    def count(config: ConfigMap) -> None:
        config.data["n"] = str(int(config.data.get("n", "0")) + 1)

    async with server.client() as client:
        await client.modify(ConfigMap, "a", count)

    assert server.calls[3].document == {"data": {"n": "2"}, "metadata": {"resourceVersion": "4"}}


async def test_modify_gives_up_after_five_conflicts():
    def answer(call: Call) -> tuple[int, object]:
        return (200, thing()) if call.method == "GET" else (409, failure(409, "Conflict"))

    server = Server(answer)

    async with server.client() as client:
        with pytest.raises(Conflict):
            await client.modify(ConfigMap, "a", lambda config: config.data.update(k="v"))

    assert len(server.calls) == 10


async def test_apply_states_the_intent_under_our_name():
    server = Server((200, thing()))

    async with server.client() as client:
        await client.using(field_manager="op/main").apply(ConfigMap(metadata=Metadata(name="a"), data={}), force=True)

    call = server.calls[0]
    assert (call.method, call.headers["Content-Type"]) == ("PATCH", "application/apply-patch+yaml")
    assert call.query == {"fieldManager": "op/main", "fieldValidation": "Strict", "force": "true"}
    assert call.document == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


async def test_apply_of_an_object_that_was_read_is_refused():
    server = Server((200, thing()))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        with pytest.raises(WasRead, match="owner of all its fields"):
            await client.apply(config)


async def test_an_apply_conflict_names_managers_and_fields():
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl" using v1', "field": ".data.q"},
        {"reason": "FieldManagerConflict", "message": 'conflict with "other \\"one\\""', "field": ".data.r"},
    ]
    server = Server((409, failure(409, "Conflict", "Apply failed with 2 conflicts", causes=causes)))

    async with server.client() as client:
        with pytest.raises(ApplyConflict) as caught:
            await client.apply(ConfigMap(metadata=Metadata(name="a")))

    assert caught.value.conflicts[0] == FieldConflict("kubectl", ".data.q")
    assert caught.value.conflicts[1].field == ".data.r"


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [
        (MergePatch({"a": 1}), "application/merge-patch+json"),
        (StrategicPatch({"a": 1}), "application/strategic-merge-patch+json"),
        (JsonPatch([{"op": "remove", "path": "/a"}]), "application/json-patch+json"),
    ],
)
async def test_patches_say_what_they_are(patch: MergePatch, content_type: str):
    server = Server((200, thing()))

    async with server.client() as client:
        await client.patch(ConfigMap, patch, name="a", namespace="x")

    assert server.calls[0].headers["Content-Type"] == content_type
    assert server.calls[0].document == patch.body
    assert server.calls[0].path == "/api/v1/namespaces/x/configmaps/a"


async def test_an_object_can_be_patched_itself():
    server = Server((200, thing()))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        await client.patch(config, MergePatch({"data": {"k": "v"}}))

    assert server.calls[1].path == PLACE + "/a"


async def test_delete_of_an_object_holds_only_for_that_very_one():
    server = Server((200, thing()), (200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        assert await client.delete(config, propagation="Foreground", grace=timedelta(seconds=5)) is None

    assert server.calls[1].document == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 5,
        "preconditions": {"uid": "u-a"},
    }


async def test_delete_of_an_unchanged_object_holds_only_for_the_revision_that_was_read():
    server = Server((200, thing(version=7)), (200, {"kind": "Status", "apiVersion": "v1", "status": "Success"}))

    async with server.client() as client:
        config = await client.get(ConfigMap, "a")
        await client.delete(config, unchanged=True)

    assert server.calls[1].document["preconditions"] == {"uid": "u-a", "resourceVersion": "7"}


async def test_delete_gives_the_object_back_while_its_end_is_pending():
    server = Server((200, thing()))

    async with server.client() as client:
        pending = await client.delete(ConfigMap, "a")

    assert pending is not None
    assert pending.name == "a"


async def test_delete_needs_a_name():
    async with Server((200, thing())).client() as client:
        with pytest.raises(TypeError, match="which ConfigMap"):
            await client.delete(ConfigMap)  # type: ignore[call-overload]


async def test_a_dry_run_deletes_nothing():
    server = Server((200, {"kind": "Status", "apiVersion": "v1"}))

    async with server.client() as client:
        await client.using(dry_run=True).delete(ConfigMap, "a")

    assert server.calls[0].document["dryRun"] == ["All"]


async def test_delete_all_deletes_what_matches_in_one_call():
    server = Server((200, page(thing("a"), thing("b"))))

    async with server.client() as client:
        deleted = await client.delete_all(ConfigMap, namespace="x", labels="app=web")

    assert [config.name for config in deleted] == ["a", "b"]
    assert (server.calls[0].method, server.calls[0].path) == ("DELETE", "/api/v1/namespaces/x/configmaps")
    assert server.calls[0].query == {"labelSelector": "app=web"}


async def test_delete_all_of_metadata_only_asks_for_a_list():
    server = Server((200, page(thing("a"))))

    async with server.client() as client:
        await client.delete_all(MetadataOnly.of(ConfigMap))

    assert "as=PartialObjectMetadataList" in server.calls[0].headers["Accept"]


async def test_writes_to_all_namespaces_at_once_are_refused():
    server = Server((200, page()))

    async with server.client() as client:
        with pytest.raises(ValueError, match="name one namespace"):
            await client.delete_all(ConfigMap, namespace=ALL_NAMESPACES)

    assert server.calls == []


async def test_refusals_come_as_the_exception_of_their_reason():
    causes = [{"reason": "FieldValueRequired", "message": "Required value", "field": "spec.containers"}]
    cases = [
        ((404, failure(404, "NotFound", name="a")), NotFound),
        ((409, failure(409, "AlreadyExists", name="a")), AlreadyExists),
        ((403, failure(403, "Forbidden", name="a")), Forbidden),
        ((422, failure(422, "Invalid", name="a", causes=causes)), Invalid),
    ]
    for answer, error in cases:
        async with Server(answer).client() as client:
            with pytest.raises(error) as caught:
                await client.get(ConfigMap, "a")
            assert caught.value.status.code == answer[0]
            assert not isinstance(caught.value, NotServed)
    assert caught.value.causes[0].field == "spec.containers"


async def test_a_scale_is_read_and_set_for_any_kind():
    scale = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {}, "spec": {"replicas": 3}, "status": {}}
    server = Server((200, scale))

    async with server.client() as client:
        found = await client.get_scale(Deployment, "web")
        await client.set_scale(Deployment, "web", 5)

    assert found.spec.replicas == 3
    assert server.calls[1].path == "/apis/apps/v1/namespaces/default/deployments/web/scale"
    assert server.calls[1].document == {"spec": {"replicas": 5}}


async def test_a_pod_is_evicted_and_bound_through_its_subresources():
    server = Server((201, {"kind": "Status", "apiVersion": "v1", "status": "Success"}))
    pod = Pod(metadata=Metadata(name="p", namespace="ns", uid="u1"), spec=PodSpec(containers=[]))

    async with server.client() as client:
        await client.evict(pod, grace=timedelta(seconds=1))
        await client.bind(pod, "node-1")

    eviction, binding = server.calls
    assert eviction.path == "/api/v1/namespaces/ns/pods/p/eviction"
    assert eviction.document["deleteOptions"]["preconditions"] == {"uid": "u1"}
    assert binding.path == "/api/v1/namespaces/ns/pods/p/binding"
    assert binding.document["target"] == {"apiVersion": "v1", "kind": "Node", "name": "node-1"}


async def test_a_warning_of_the_server_is_logged_once(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    warning = ("Warning", '299 - "v1 X is deprecated; use \\"Y\\""')
    server = Server((200, thing(), [warning]))

    async with server.client() as client:
        await client.get(ConfigMap, "a")
        await client.get(ConfigMap, "a")

    assert [record.getMessage() for record in caplog.records] == [
        f'get {PLACE}/a: the API server warns: v1 X is deprecated; use "Y"'
    ]


async def test_untyped_and_metadata_only_kinds_take_the_same_verbs():
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "resourceVersion": "2"}}
    server = Server((200, {**widget, "spec": {"size": 1}}))
    untyped = Unstructured.of("example.com/v1", "Widget", plural="widgets")

    async with server.client() as client:
        found = await client.get(untyped, "w")
        found["spec"]["size"] = 2
        await client.update(found)
        only = await client.get(MetadataOnly.of(untyped), "w")
        only.metadata.annotations["seen"] = "yes"
        await client.update(only)

    assert server.calls[1].document == {"spec": {"size": 2}, "metadata": {"resourceVersion": "2"}}
    assert "as=PartialObjectMetadata;" in server.calls[2].headers["Accept"]
    assert server.calls[3].document == {"metadata": {"annotations": {"seen": "yes"}, "resourceVersion": "2"}}

"""Read-your-writes: what was written is read at once, and what may have been written is found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Key, Metadata, MetadataOnly, Unstructured
from kubewright.cache import Cache, Informer
from kubewright.client import Client, MergePatch, Request, Response, Send
from kubewright.errors import ConnectError, InternalError, LeadershipLost, ServerTimeout, TransportError
from kubewright.kinds.apps_v1 import Deployment
from kubewright.kinds.core_v1 import ConfigMap, Container, Namespace, Pod, PodSpec, Service, ServicePort, ServiceSpec
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, cluster, held, refusal

A = Key("default", "a")


class Lagging:
    """A cluster whose watches say nothing any more, and a client whose writes the cache sees."""

    def __init__(self, made: Cluster, cache: Cache, kind: Any) -> None:
        self.made = made
        self.cache = cache
        self.client: Client = made.client.intercepted(cache.observe)
        self.informer: Informer[Any] = cache.informer(kind)

    async def catch_up(self) -> None:
        """Let the watch begin to speak again: it is resumed when it has been silent for too long."""
        self.made.wire.is_silent = False
        await elapse(timedelta(minutes=6))


@asynccontextmanager
async def lagging(kind: Any = ConfigMap, *objects: ConfigMap, **options: Any) -> AsyncIterator[Lagging]:
    async with cluster() as made:
        for obj in objects:
            await made.direct.create(obj)
        cache = Cache(made.client, resync=None, dice=VirtualTime.current().dice_of("cache"))
        cache.watch(kind, **options)
        async with cache:
            await cache.wait_synced()
            await wait_idle()
            made.wire.is_silent = True
            yield Lagging(made, cache, kind)


@virtual_time()
async def test_what_was_created_changed_and_deleted_is_read_at_once():
    async with lagging() as lag:
        log = Log(lag.informer)

        def read() -> dict[str, str]:
            found = lag.cache.get(ConfigMap, "a")
            return {} if found is None else found.data

        created = await lag.client.create(config("a", k="1"))
        assert read() == {"k": "1"}
        created.data["k"] = "2"
        await lag.client.update(created)
        assert read() == {"k": "2"}
        await lag.client.using(field_manager="x").apply(config("a", more="3"))
        assert read() == {"k": "2", "more": "3"}
        await lag.client.delete(ConfigMap, "a")
        assert lag.cache.get(ConfigMap, "a") is None
        assert lag.cache.list(ConfigMap) == []

        assert log.take() == []
        await lag.catch_up()
        assert log.take() == [("a", "added", "live"), ("a", "deleted", "live")]
        assert lag.informer.statistics().written == 0
        assert held(lag.informer) == {}


@virtual_time()
async def test_answers_are_found_by_label_index_and_owner():
    async with lagging(ConfigMap, config("owner")) as lag:
        owner = lag.cache.list(ConfigMap)[0]
        lag.informer.add_index("k", lambda found: found.data.values())
        owned = config("a", labels={"app": "web"}, k="x")
        owned.metadata.owner_references = [owner.owner_reference]

        await lag.client.create(owned)

        for choice in ({"labels": "app=web"}, {"where": {"k": "x"}}, {"owned_by": owner}):
            assert lag.cache.keys(ConfigMap, **choice) == [A]


@virtual_time()
async def test_an_answer_passes_through_the_same_transform_and_cut_as_the_watch():
    def shorten(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"data": {"short": ""}}

    async with lagging(ConfigMap, transform=shorten) as lag:
        await lag.client.create(config("a", long="text"))

        found = lag.cache.get(ConfigMap, "a")
        assert found is not None
        assert (found.data, found.metadata.managed_fields) == ({"short": ""}, [])


@virtual_time()
async def test_an_answer_outside_of_the_selector_is_not_shown():
    async with lagging(
        ConfigMap, config("in", labels={"app": "web"}), labels="app=web", fields="metadata.name!=b"
    ) as lag:
        await lag.client.create(config("a", labels={"app": "db"}))
        await lag.client.create(config("b", labels={"app": "web"}))
        await lag.client.create(config("c", labels={"app": "web"}))
        assert [key.name for key in lag.informer] == ["c", "in"]

        await lag.client.patch(ConfigMap, MergePatch({"metadata": {"labels": {"app": "db"}}}), name="in")
        assert [key.name for key in lag.informer] == ["c"]

        await lag.catch_up()
        assert [key.name for key in lag.informer] == ["c"]
        assert lag.informer.statistics().written == 0


@virtual_time()
async def test_an_answer_outside_of_the_namespaces_is_not_shown():
    async with lagging(ConfigMap, namespaces=["other"]) as lag:
        await lag.client.create(config("a"))

        assert lag.informer.keys() == []


@virtual_time()
async def test_an_object_that_only_waits_for_its_end_is_shown_as_such():
    kept = config("a")
    kept.metadata.finalizers = ["example.com/keep"]
    async with lagging(ConfigMap, kept) as lag:
        await lag.client.delete(ConfigMap, "a")

        found = lag.cache.get(ConfigMap, "a")
        assert found is not None
        assert found.metadata.deletion_timestamp is not None

        await lag.client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
        assert lag.cache.get(ConfigMap, "a") is None

        await lag.catch_up()
        assert held(lag.informer) == {}
        assert lag.informer.statistics().written == 0


@virtual_time()
async def test_a_kind_whose_delete_is_answered_with_the_object_is_hidden_too():
    spec = ServiceSpec(ports=[ServicePort(port=80)])
    async with lagging(Service) as lag:
        await lag.client.create(Service(metadata=Metadata(name="a", namespace="default"), spec=spec))
        assert lag.informer.head(A) is not None

        await lag.client.delete(Service, "a")

        assert lag.informer.head(A) is None


@virtual_time()
async def test_a_namespace_being_deleted_is_still_there():
    async with lagging(Namespace) as lag:
        await lag.client.create(Namespace(metadata=Metadata(name="n")))

        await lag.client.delete(Namespace, "n")

        found = lag.cache.get(Namespace, "n")
        assert found is not None
        assert found.metadata.deletion_timestamp is not None


@virtual_time()
async def test_the_status_subresource_counts_and_scale_does_not():
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": "default"}}
    async with lagging(Deployment) as lag:
        await lag.client.create(Unstructured.from_dict(made | {"spec": spec}))
        await lag.client.patch(Deployment, MergePatch({"status": {"replicas": 1}}), name="a", subresource="status")
        found = lag.cache.get(Deployment, "a")
        assert found is not None
        assert found.status is not None
        assert found.status.replicas == 1

        await lag.client.set_scale(Deployment, "a", 3)
        found = lag.cache.get(Deployment, "a")
        assert found is not None
        assert found.spec is not None
        assert found.spec.replicas == 1


@virtual_time()
async def test_bindings_and_evictions_are_no_answers():
    async with lagging(Pod) as lag:
        pod = Pod(
            metadata=Metadata(name="a", namespace="default"), spec=PodSpec(containers=[Container(name="c", image="i")])
        )
        pod = await lag.client.create(pod)
        await lag.client.bind(pod, "node")
        await lag.client.evict(pod)

        found = lag.informer.head(A)
        assert found is not None
        assert found.resource_version == pod.metadata.resource_version


@virtual_time()
async def test_a_dry_run_is_no_write():
    async with lagging(ConfigMap, config("there")) as lag:
        dry = lag.client.using(dry_run=True)

        await dry.create(config("a"))
        await dry.delete(ConfigMap, "there")

        assert [key.name for key in lag.informer] == ["there"]


@virtual_time()
async def test_an_untyped_write_is_read_in_the_typed_kind():
    Untyped = Unstructured.of("v1", "ConfigMap")
    async with lagging() as lag:
        await lag.client.create(Untyped(metadata=Metadata(name="a", namespace="default"), content={"data": {"k": "v"}}))

        found = lag.cache.get(ConfigMap, "a")
        assert found is not None
        assert found.data == {"k": "v"}


@virtual_time()
async def test_a_metadata_only_write_is_read_live_by_the_full_kind():
    async with lagging(ConfigMap, config("a", k="v")) as lag:
        await lag.client.patch(MetadataOnly.of(ConfigMap), MergePatch({"metadata": {"labels": {"l": "1"}}}), name="a")

        await lag.cache.settle()

        found = lag.cache.get(ConfigMap, "a")
        assert found is not None
        assert (found.data, found.metadata.labels) == ({"k": "v"}, {"l": "1"})


@virtual_time()
async def test_a_full_write_is_read_in_the_metadata_only_kind():
    Partial = MetadataOnly.of(ConfigMap)
    async with lagging(Partial) as lag:
        await lag.client.create(config("a", labels={"l": "1"}, k="v"))

        found = lag.cache.get(Partial, "a")
        assert found is not None
        assert found.metadata.labels == {"l": "1"}
        assert b'"data"' not in (lag.informer.raw(A) or b"")


@virtual_time()
async def test_an_answer_that_the_watch_overtook_is_not_laid_over_it():
    async with cluster() as made:
        cache = Cache(made.client)
        informer = cache.watch(ConfigMap)

        async def late(request: Request, send: Send) -> Response:
            response = await send(request)
            await made.direct.delete(ConfigMap, "a")
            await wait_idle()
            return response

        async with cache:
            await cache.wait_synced()
            await made.client.intercepted(cache.observe, late).create(config("a"))

            assert informer.keys() == []
            assert informer.statistics().written == 0


@virtual_time()
async def test_a_write_before_the_first_list_is_not_lost_by_it():
    async with cluster() as made:
        cache = Cache(made.client)
        cache.watch(ConfigMap)
        await made.client.intercepted(cache.observe).create(config("a"))

        assert cache.get(ConfigMap, "a") is not None
        async with cache:
            await cache.wait_synced()
            assert cache.get(ConfigMap, "a") is not None
            assert cache.statistics()[ConfigMap].written == 0


@virtual_time()
async def test_who_waits_for_a_newer_revision_is_woken_by_an_own_write():
    async with lagging(ConfigMap, config("a")) as lag:
        found = lag.cache.get(ConfigMap, "a")
        assert found is not None
        waiting = asyncio.create_task(lag.cache.wait_newer(ConfigMap, A, found.metadata.resource_version))
        await wait_idle()

        await lag.client.patch(found, MergePatch({"data": {"k": "v"}}))

        await waiting


async def lost_answer(request: Request, send: Send) -> Response:
    await send(request)
    raise TransportError("the connection broke before the answer came")


async def lost_request(request: Request, send: Send) -> Response:
    raise TransportError("the connection broke before the answer came")


async def failed_after_all(request: Request, send: Send) -> Response:
    await send(request)
    return refusal(504, "Timeout", "request did not complete within the allotted timeout")


@pytest.mark.parametrize("fault", [lost_answer, failed_after_all], ids=["lost", "504"])
def test_a_write_that_was_done_without_an_answer_is_found_out(fault: Any):
    @virtual_time()
    async def found_out() -> None:
        async with lagging(ConfigMap, config("old", k="1"), config("gone")) as lag:
            writes: list[Any] = [
                lag.client.create(config("a")),
                lag.client.patch(ConfigMap, MergePatch({"data": {"k": "2"}}), name="old"),
                lag.client.delete(ConfigMap, "gone"),
            ]
            for write in writes:
                lag.made.wire.answers.append(fault)
                with pytest.raises((TransportError, ServerTimeout)):
                    await write
            assert [key.name for key in lag.informer] == ["gone", "old"]

            await lag.cache.settle()

            assert held(lag.informer) == await lag.made.truth()
            await lag.catch_up()
            assert held(lag.informer) == await lag.made.truth()
            assert lag.informer.statistics().written == 0

    found_out()


@virtual_time()
async def test_a_write_that_was_not_done_changes_nothing():
    async with lagging(ConfigMap, config("old")) as lag:
        writes: list[Any] = [lag.client.create(config("a")), lag.client.delete(ConfigMap, "old")]
        for write in writes:
            lag.made.wire.answers.append(lost_request)
            with pytest.raises(TransportError):
                await write

        await lag.cache.settle()

        assert held(lag.informer) == await lag.made.truth()
        assert lag.informer.statistics().written == 0


@virtual_time()
async def test_a_creation_without_a_name_is_found_by_a_list_of_its_namespace():
    async with lagging(ConfigMap, config("there")) as lag:
        lag.made.wire.answers.append(lost_answer)
        with pytest.raises(TransportError):
            await lag.client.create(ConfigMap(metadata=Metadata(generate_name="made-")))
        assert len(lag.informer) == 1

        await lag.cache.settle()

        assert len(lag.informer) == 2
        assert held(lag.informer) == await lag.made.truth()


@virtual_time()
async def test_a_collection_that_was_deleted_is_read_live():
    async with lagging(ConfigMap, config("a", labels={"x": "y"}), config("b")) as lag:
        await lag.client.delete_all(ConfigMap, labels="x=y")
        await lag.cache.settle()

        assert [key.name for key in lag.informer] == ["b"]


@virtual_time()
async def test_a_cancelled_write_is_found_out():
    async with lagging() as lag:

        async def hang(request: Request, send: Send) -> Response:
            await send(request)
            await asyncio.Event().wait()
            raise AssertionError

        lag.made.wire.answers.append(hang)
        writing = asyncio.create_task(lag.client.create(config("a")))
        await wait_idle()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

        await lag.cache.settle()

        assert lag.cache.get(ConfigMap, "a") is not None


@pytest.mark.parametrize("error", [ConnectError("refused"), LeadershipLost("lost")], ids=["unconnected", "not begun"])
def test_a_write_that_never_left_is_not_asked_about(error: Exception):
    async def refuse(request: Request, send: Send) -> Response:
        raise error

    @virtual_time()
    async def unasked() -> None:
        async with lagging() as lag:
            lag.made.wire.answers.append(refuse)
            with pytest.raises(type(error)):
                await lag.client.create(config("a"))
            requests = len(lag.made.wire.requests)

            await lag.cache.settle()

            assert len(lag.made.wire.requests) == requests

    unasked()


@virtual_time()
async def test_what_is_in_doubt_stays_so_until_the_server_can_be_asked():
    async with lagging() as lag:
        lag.made.wire.answers.append(lost_answer)
        with pytest.raises(TransportError):
            await lag.client.create(config("a"))
        lag.made.wire.list_answers.append(refusal(500, "InternalError", "etcd is away"))

        with pytest.raises(InternalError):
            await lag.cache.settle()
        assert lag.cache.get(ConfigMap, "a") is None
        await lag.cache.settle()

        assert lag.cache.get(ConfigMap, "a") is not None


@virtual_time()
async def test_what_may_not_be_read_is_dropped():
    async with lagging() as lag:
        lag.made.wire.answers.append(lost_answer)
        with pytest.raises(TransportError):
            await lag.client.create(config("a"))
        lag.made.wire.list_answers.append(refusal(403, "Forbidden", "you may not"))

        await lag.cache.settle()
        requests = len(lag.made.wire.requests)
        await lag.cache.settle()

        assert len(lag.made.wire.requests) == requests


@virtual_time()
async def test_many_who_settle_at_once_ask_the_server_once():
    async with lagging() as lag:
        lag.made.wire.answers.append(lost_answer)
        with pytest.raises(TransportError):
            await lag.client.create(config("a"))
        requests = len(lag.made.wire.requests)

        await asyncio.gather(*(lag.cache.settle() for _ in range(10)))

        assert len(lag.made.wire.requests) == requests + 1
        assert lag.cache.get(ConfigMap, "a") is not None


@virtual_time()
async def test_what_was_made_and_deleted_unseen_leaves_nothing_behind_after_a_new_list():
    async with lagging() as lag:
        lag.made.wire.watch_answers.append(refusal(410, "Expired"))
        await lag.client.create(config("a"))
        await lag.client.delete(ConfigMap, "a")
        assert lag.informer.statistics().written == 1

        await lag.catch_up()

        assert lag.informer.statistics().written == 0

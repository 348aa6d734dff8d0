"""What the client's watches rest on: how an API server streams changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from kubewright import Client, Metadata, MetadataOnly
from kubewright.client import Request, Response, Send, WatchEvent
from kubewright.errors import Gone
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import RealControlPlane


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name, labels={"of": "test"}), data=data)


@asynccontextmanager
async def watching(client: Client, **selection: str) -> AsyncIterator[AsyncIterator[WatchEvent[ConfigMap]]]:
    events = aiter(client.watch(ConfigMap, labels="of=test", **selection))  # type: ignore[arg-type]
    async with aclosing(events), asyncio.timeout(30):
        yield events


async def test_a_watch_gives_what_is_there_and_then_every_change(client: Client):
    await client.create(config_map("a"))

    async with watching(client) as events:
        first, synced = await anext(events), await anext(events)
        await client.create(config_map("b"))
        await client.apply(config_map("b", k="v"))
        await client.delete(ConfigMap, "a")
        later = [await anext(events) for _ in range(3)]

    assert (first.type, first.object.name) == ("ADDED", "a")
    assert synced.synced
    assert [(event.type, event.object.name) for event in later] == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "a")]


async def test_the_initial_objects_are_streamed_by_a_server_that_can(client: Client, plane: RealControlPlane):
    from kubewright import Config

    asked: list[str] = []

    async def remember(request: Request, send: Send) -> Response:
        asked.append(request.verb)
        return await send(request)

    config = Config.from_kubeconfig(plane.kubeconfig)
    async with Client(config, namespace=client.namespace, interceptors=[remember]) as observed:
        async with watching(observed) as events:
            await anext(events)

    assert asked == ["watch"]


async def test_a_watch_from_a_revision_gives_only_what_came_after(client: Client):
    await client.create(config_map("a"))
    listed = await client.list(ConfigMap)
    await client.create(config_map("b"))

    async with watching(client, resource_version=listed.resource_version) as events:
        event = await anext(events)

    assert (event.type, event.object.name) == ("ADDED", "b")


async def test_an_object_that_leaves_the_selection_is_deleted_for_the_watcher(client: Client):
    await client.create(config_map("a"))

    async with watching(client) as events:
        await anext(events)
        await anext(events)
        await client.modify(ConfigMap, "a", lambda config: config.metadata.labels.clear())
        event = await anext(events)

    assert (event.type, event.object.name) == ("DELETED", "a")


async def test_a_revision_that_is_forgotten_is_gone(client: Client, plane: RealControlPlane):
    await plane.restart_api_server()  # Its memory of changes begins anew.

    with pytest.raises(Gone, match="too old resource version"):
        async with watching(client, resource_version="1") as events:
            await anext(events)


async def test_a_watch_survives_a_restart_of_the_server(client: Client, plane: RealControlPlane):
    async with watching(client) as events:
        assert (await anext(events)).synced
        await plane.restart_api_server()
        await client.create(config_map("after"))

        event = await anext(events)
        while event.type == "BOOKMARK":
            event = await anext(events)

    assert (event.type, event.object.name) == ("ADDED", "after")


async def test_metadata_alone_can_be_watched(client: Client):
    await client.create(config_map("a", k="v"))
    events = aiter(client.watch(MetadataOnly.of(ConfigMap), labels="of=test"))

    async with aclosing(events), asyncio.timeout(30):
        event = await anext(events)

    assert event.object.name == "a"
    assert b'"k"' not in event.raw.replace(b"f:k", b"")

"""API servers that go away and come back."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.client import Client, Retry
from kubewright.errors import ConnectError, Gone, NotFound, TransportError
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, virtual_time, wait_idle
from kubewright.testing.faults import Outage
from tests.testing.embedded import card, embedded, first_names, new_client, new_server

SECOND = timedelta(seconds=1)


@virtual_time()
async def test_while_the_server_is_away_no_connection_comes_about_and_reads_are_tried_again() -> None:
    async with embedded() as cluster:
        outage = Outage(cluster.server.handle)
        _, client = new_client(outage.handle)
        outage.stop()
        _, impatient = new_client(outage.handle, retry=Retry(attempts=1))
        with pytest.raises(ConnectError):
            await impatient.list(ConfigMap)
        listing = asyncio.create_task(_listed(client))
        await elapse(SECOND)
        outage.start()

        assert await listing == []


async def _listed(client: Client) -> list[str]:
    return [found.name async for found in client.list(ConfigMap)]


@virtual_time()
async def test_a_watch_breaks_with_the_server_and_resumes_without_loss() -> None:
    async with embedded() as cluster:
        outage = Outage(cluster.server.handle)
        _, client = new_client(outage.handle)
        revision = (await client.list(ConfigMap)).resource_version
        watching = asyncio.create_task(first_names(client.watch(ConfigMap, resource_version=revision), 2))
        await cluster.direct.create(card("a"))
        await wait_idle()
        outage.stop()
        await cluster.direct.create(card("b"))
        await elapse(SECOND)
        outage.start()

        assert await watching == ["ADDED a", "ADDED b"]


@virtual_time()
async def test_a_request_under_way_breaks_and_yet_takes_effect() -> None:
    async with embedded() as cluster:

        async def slowly(*request: object) -> object:
            await elapse(SECOND)
            return await cluster.server.handle(*request)  # type: ignore[arg-type]

        outage = Outage(slowly)  # type: ignore[arg-type]
        _, client = new_client(outage.handle)
        creating = asyncio.create_task(client.create(card()))
        await elapse(SECOND / 2)
        outage.stop()

        with pytest.raises(TransportError, match="the API server stopped before the answer was whole"):
            await creating
        await elapse(SECOND)
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_server_that_has_lost_its_history_makes_watches_begin_anew() -> None:
    async with embedded() as cluster:
        outage = Outage(cluster.server.handle)
        _, client = new_client(outage.handle)
        revision = (await client.list(ConfigMap)).resource_version
        watching = asyncio.create_task(first_names(client.watch(ConfigMap, resource_version=revision), 2))
        await wait_idle()
        outage.stop()
        await cluster.direct.create(card())
        cluster.server.restore(cluster.server.snapshot())
        outage.start()

        with pytest.raises(Gone):
            await watching
        assert (await client.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_another_server_may_take_the_place() -> None:
    async with embedded() as cluster, new_server() as other:
        outage = Outage(cluster.server.handle)
        _, client = new_client(outage.handle)
        await client.create(card())
        outage.stop()
        outage.start(other.handle)

        with pytest.raises(NotFound):
            await client.get(ConfigMap, "a")

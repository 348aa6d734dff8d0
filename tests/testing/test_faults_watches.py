"""Faults of watches, on the embedded server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from datetime import timedelta
from typing import Any

import pytest

from kubewright.errors import Gone
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from kubewright.testing.faults import (
    Fault,
    Gate,
    delay_events,
    drop_watch,
    duplicate_events,
    expire_watch,
    refuse,
    stall_watch,
)
from tests.testing.embedded import Embedded, card, embedded, first_names, new_client


async def watched(cluster: Embedded, count: int = 3) -> list[str]:
    """What a watch from the beginning sees of three cards."""
    revision = (await cluster.direct.list(ConfigMap)).resource_version
    for name in ("a", "b", "c"):
        await cluster.direct.create(card(name))
    return await first_names(cluster.client.watch(ConfigMap, resource_version=revision), count)


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("cleanly", [True, False])
@virtual_time()
async def test_a_watch_that_is_dropped_is_resumed_without_loss(after: int, cleanly: bool) -> None:
    fault = drop_watch(after=after, cleanly=cleanly, times=2)

    async with embedded(fault) as cluster:
        assert await watched(cluster) == ["ADDED a", "ADDED b", "ADDED c"]
        assert fault.struck == 2


@virtual_time()
async def test_a_silent_watch_is_noticed_and_resumed() -> None:
    fault = stall_watch(after=1, times=1)

    async with embedded(fault) as cluster:
        assert await watched(cluster) == ["ADDED a", "ADDED b", "ADDED c"]
        assert VirtualTime.current().elapsed >= timedelta(seconds=150)


@pytest.mark.parametrize("fault", [expire_watch(after=1), refuse(410, verb="watch")], ids=["line", "status"])
@virtual_time()
async def test_a_watch_that_has_expired_raises(fault: Fault) -> None:
    async with embedded(fault) as cluster:
        with pytest.raises(Gone):
            await watched(cluster)


@virtual_time()
async def test_events_come_twice() -> None:
    async with embedded(duplicate_events()) as cluster:
        assert await watched(cluster, 4) == ["ADDED a", "ADDED a", "ADDED b", "ADDED b"]


@virtual_time()
async def test_events_come_late_and_in_order() -> None:
    async with embedded(delay_events(timedelta(seconds=5))) as cluster:
        assert await watched(cluster) == ["ADDED a", "ADDED b", "ADDED c"]
        assert VirtualTime.current().elapsed == timedelta(seconds=5)


@virtual_time()
async def test_a_gate_holds_events_until_it_is_opened() -> None:
    gate = Gate("events")

    async with embedded(gate) as cluster:
        task = asyncio.create_task(watched(cluster))
        await gate.wait_held()
        await wait_idle()
        was_done = task.done()
        gate.open()

        assert not was_done
        assert await task == ["ADDED a", "ADDED b", "ADDED c"]


class Counted:
    """A stream that tells when it is closed."""

    def __init__(self, chunks: AsyncIterable[bytes], closed: list[str]) -> None:
        self._chunks = aiter(chunks)
        self._closed = closed

    def __aiter__(self) -> Counted:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._chunks)

    async def aclose(self) -> None:
        self._closed.append("closed")


@pytest.mark.parametrize(
    "fault", [stall_watch(after=1), duplicate_events(), delay_events(timedelta(hours=1)), Gate("events")]
)
@virtual_time()
async def test_a_faulty_watch_that_is_cancelled_closes_the_servers_stream(fault: Fault) -> None:
    closed: list[str] = []

    async with embedded() as cluster:

        async def handle(*request: Any) -> Any:
            status, headers, chunks = await cluster.server.handle(*request)
            return status, headers, Counted(chunks, closed)

        _, client = new_client(handle, fault)
        watching = asyncio.create_task(watched(cluster._replace(client=client), 100))
        await elapse(timedelta(seconds=1))
        was_open = not closed
        watching.cancel()
        await wait_idle()

        assert was_open
        assert closed == ["closed"]

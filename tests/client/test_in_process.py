"""The transport without sockets: a request goes on at the server, whatever becomes of its sender."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from kubewright.client import Client, InProcessTransport, Request
from kubewright.client.in_process import Answer
from kubewright.errors import BadRequest, RequestTimeout, TransportError
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from kubewright.testing.faults import cancelled_at
from tests.client.scripted import thing
from tests.testing.embedded import card, embedded, first_names


@virtual_time()
async def test_a_create_cancelled_at_any_await_is_stored_and_announced_or_neither() -> None:
    announced: list[str] = []

    async with embedded() as cluster:

        async def follow() -> None:
            async for event in cluster.direct.watch(ConfigMap):
                if event.type != "BOOKMARK":
                    announced.append(event.object.name)

        async with asyncio.TaskGroup() as group:
            following = group.create_task(follow())
            await wait_idle()
            for n in count(1):
                if not await cancelled_at(n, cluster.client.create(card(f"cancelled-{n}"))):
                    break
            await wait_idle()
            following.cancel()
        stored = [found.name async for found in cluster.direct.list(ConfigMap)]

    assert n > 1
    assert sorted(announced) == sorted(stored)
    assert f"cancelled-{n}" in stored


@pytest.mark.parametrize("seconds", [0, 0.5, 1, 2])
@virtual_time()
async def test_a_handler_is_never_cut_by_its_senders_cancellation(seconds: float) -> None:
    steps: list[str] = []

    async def handle(*_: Any) -> Any:
        steps.append("committed")
        await elapse(timedelta(seconds=1))
        steps.append("announced")
        return 200, [], _chunks(json.dumps(thing()).encode())

    async with Client(transport=InProcessTransport(handle)) as client:
        asking = asyncio.create_task(client.get(ConfigMap, "a"))
        await elapse(timedelta(seconds=seconds))
        asking.cancel()
        await elapse(timedelta(seconds=2))

    assert steps == ["committed", "announced"]


async def _chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


@virtual_time()
async def test_a_handler_goes_on_when_its_sender_has_lost_patience() -> None:
    done: list[timedelta] = []

    async def handle(*_: Any) -> Any:
        await elapse(timedelta(minutes=1))
        done.append(VirtualTime.current().elapsed)
        return 200, [], _chunks(b"{}")

    async with Client(transport=InProcessTransport(handle)) as client:
        with pytest.raises(RequestTimeout):
            await client.using(timeout=timedelta(seconds=30)).create(card())
        await elapse(timedelta(minutes=1))

    assert done == [timedelta(minutes=1)]


@virtual_time()
async def test_a_stream_that_nobody_waits_for_any_more_is_closed() -> None:
    closed: list[str] = []

    class Stream:
        def __aiter__(self) -> Stream:
            return self

        async def __anext__(self) -> bytes:
            raise StopAsyncIteration

        async def aclose(self) -> None:
            closed.append("closed")

    async def handle(*_: Any) -> Any:
        await elapse(timedelta(seconds=1))
        return 200, [], Stream()

    async with Client(transport=InProcessTransport(handle)) as client:
        watching = asyncio.create_task(first_names(client.watch(ConfigMap, resource_version="1"), 1))
        await wait_idle()
        watching.cancel()
        await elapse(timedelta(seconds=2))

    assert closed == ["closed"]


@virtual_time()
async def test_a_client_that_is_closed_waits_a_second_for_its_requests_and_ends_the_rest() -> None:
    ended: list[str] = []

    async def handle(method: str, *_: Any) -> Any:
        try:
            await elapse(timedelta(seconds=0.5) if method == "GET" else timedelta(hours=1))
        finally:
            ended.append(method)
        return 200, [], _chunks(json.dumps(thing()).encode())

    client = Client(transport=InProcessTransport(handle))
    quick = asyncio.create_task(client.get(ConfigMap, "a"))
    slow = asyncio.create_task(client.create(card()))
    await wait_idle()
    await client.aclose()

    assert (await quick).name == "a"
    with pytest.raises(TransportError, match="the client was closed before the answer came"):
        await slow
    assert ended == ["GET", "POST"]
    assert VirtualTime.current().elapsed == timedelta(seconds=1)


@virtual_time()
async def test_a_closed_client_sends_nothing() -> None:
    async with embedded() as cluster:
        await cluster.client.aclose()

        with pytest.raises(TransportError, match="the client is closed"):
            await cluster.client.create(card())


def _asked(timeout: timedelta | None = None) -> Request:
    return Request(method="GET", target="/api/v1/pods/p/exec", headers=[], verb="connect", timeout=timeout)


async def test_a_transport_without_a_connector_says_how_to_have_one() -> None:
    transport = InProcessTransport(_never)

    with pytest.raises(TransportError, match=r"InProcessTransport\(server.handle, server.connect\)"):
        await transport.connect(_asked(), ["v5.channel.k8s.io"])


async def test_a_connector_that_refuses_is_the_servers_refusal() -> None:
    async def connect(target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]) -> Answer:
        status = {"kind": "Status", "status": "Failure", "reason": "BadRequest", "message": "no host", "code": 400}
        return 400, [("Content-Type", "application/json")], _whole(json.dumps(status).encode())

    with pytest.raises(BadRequest, match="no host"):
        await InProcessTransport(_never, connect).connect(_asked(), ["v5.channel.k8s.io"])


@virtual_time()
async def test_a_connector_that_takes_too_long_is_not_waited_for() -> None:
    async def connect(target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(RequestTimeout):
        await InProcessTransport(_never, connect).connect(_asked(timedelta(seconds=3)), ["v5.channel.k8s.io"])


async def _never(method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
    raise AssertionError


async def _whole(data: bytes) -> AsyncIterator[bytes]:
    yield data

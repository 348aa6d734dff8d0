"""When a request is sent again, and when it must not be."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Metadata
from kubewright.client import MergePatch, RateLimit, Request, Response, Retry, Send
from kubewright.errors import (
    ApiError,
    ConnectError,
    InternalError,
    RequestTimeout,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from kubewright.kinds.core_v1 import ConfigMap, Pod, PodSpec
from tests.client.scripted import Server, failure, thing

QUICK = Retry(attempts=4, first_wait=timedelta(milliseconds=1), longest_wait=timedelta(seconds=1))
BUSY = (429, failure(429, "TooManyRequests"))
BROKEN = (500, failure(500, "InternalError"))
GOOD = (200, thing())


async def test_a_read_is_repeated_after_a_failure_of_the_server():
    server = Server(BROKEN, (503, failure(503, "ServiceUnavailable")), GOOD)

    async with server.client(retry=QUICK) as client:
        assert (await client.get(ConfigMap, "a")).name == "a"

    assert len(server.calls) == 3


async def test_the_last_refusal_is_raised_when_all_tries_fail():
    server = Server(BROKEN)

    async with server.client(retry=QUICK) as client:
        with pytest.raises(InternalError):
            await client.get(ConfigMap, "a")

    assert len(server.calls) == 4


@pytest.mark.parametrize("verb", ["create", "patch", "delete"])
async def test_a_write_is_not_repeated_after_a_failure_that_may_have_acted(verb: str):
    server = Server(BROKEN, GOOD)

    async with server.client(retry=QUICK) as client:
        with pytest.raises(InternalError):
            await _write(client, verb)

    assert len(server.calls) == 1


@pytest.mark.parametrize("verb", ["create", "patch", "delete", "apply"])
async def test_any_request_is_repeated_when_the_server_was_too_busy_to_look_at_it(verb: str):
    server = Server(BUSY, GOOD)

    async with server.client(retry=QUICK) as client:
        await _write(client, verb)

    assert len(server.calls) == 2


async def test_server_side_apply_is_repeated_because_twice_is_once():
    server = Server(BROKEN, GOOD)

    async with server.client(retry=QUICK) as client:
        await _write(client, "apply")

    assert len(server.calls) == 2


async def _write(client: Any, verb: str) -> None:
    config = ConfigMap(metadata=Metadata(name="a"))
    if verb == "create":
        await client.create(config)
    elif verb == "patch":
        await client.patch(ConfigMap, MergePatch({}), name="a")
    elif verb == "delete":
        await client.delete(ConfigMap, "a")
    else:
        await client.apply(config)


@pytest.mark.parametrize(("error", "calls"), [(ConnectError, 3), (TransportError, 1), (RequestTimeout, 1)])
async def test_a_write_is_repeated_only_if_it_never_left(error: type[Exception], calls: int):
    seen = 0

    async def fault(request: Request, send: Send) -> Response:
        nonlocal seen
        seen += 1
        if seen < 3:
            raise error("no")
        return await send(request)

    server = Server(GOOD)
    async with server.client(retry=QUICK, interceptors=[fault]) as client:
        if calls == 1:
            with pytest.raises(error):
                await _write(client, "create")
        else:
            await _write(client, "create")

    assert seen == calls


async def test_a_longer_wait_than_ours_is_the_callers_to_decide():
    server = Server((429, failure(429, "TooManyRequests"), [("Retry-After", "3600")]))

    async with server.client(retry=QUICK) as client:
        with pytest.raises(TooManyRequests) as caught:
            await client.get(ConfigMap, "a")

    assert caught.value.retry_after == 3600
    assert len(server.calls) == 1


async def test_the_wait_that_the_server_asks_for_is_kept():
    server = Server((503, failure(503, "ServiceUnavailable"), [("Retry-After", "1")]), GOOD)
    loop = asyncio.get_running_loop()
    began = loop.time()

    async with server.client(retry=QUICK) as client:
        await client.get(ConfigMap, "a")

    assert loop.time() - began >= 1


async def test_an_eviction_that_a_budget_forbids_is_answered_at_once():
    budget = failure(429, "TooManyRequests", "Cannot evict pod", causes=[{"reason": "DisruptionBudget"}])
    server = Server((429, budget, [("Retry-After", "1")]))
    pod = Pod(metadata=Metadata(name="a", namespace="default"), spec=PodSpec(containers=[]))

    async with server.client(retry=QUICK) as client:
        with pytest.raises(TooManyRequests, match="Cannot evict"):
            await client.evict(pod)

    assert len(server.calls) == 1


async def test_one_attempt_means_no_retries():
    server = Server((503, failure(503, "ServiceUnavailable")))

    async with server.client(retry=Retry(attempts=1)) as client:
        with pytest.raises(Unavailable):
            await client.get(ConfigMap, "a")

    assert len(server.calls) == 1


async def test_refusals_that_are_answers_are_not_repeated():
    for code in (400, 401, 403, 404, 409, 410, 422):
        server = Server((code, failure(code, "X", name="a")))
        async with server.client(retry=QUICK) as client:
            with pytest.raises(ApiError):
                await client.get(ConfigMap, "a")
        assert len(server.calls) == 1


async def test_a_rate_limit_lets_a_burst_through_and_spaces_the_rest():
    limit = RateLimit(per_second=100, burst=3)
    loop = asyncio.get_running_loop()
    began = loop.time()

    for _ in range(3):
        await limit.wait_turn()
    burst = loop.time() - began
    for _ in range(4):
        await limit.wait_turn()

    assert burst < 0.01
    assert loop.time() - began >= 0.035


def test_a_rate_limit_without_a_rate_is_refused():
    with pytest.raises(ValueError, match="per_second > 0"):
        RateLimit(0)


async def test_interceptors_see_every_attempt_in_order():
    seen: list[str] = []

    def named(name: str) -> Any:
        async def interceptor(request: Request, send: Send) -> Response:
            seen.append(f"{name} {request.verb} {request.resource.kind if request.resource else ''}")
            return await send(request)

        return interceptor

    server = Server(BROKEN, GOOD)
    async with server.client(retry=QUICK, interceptors=[named("outer"), named("inner")]) as client:
        await client.get(ConfigMap, "a")

    assert seen == ["outer get ConfigMap", "inner get ConfigMap"] * 2


async def test_an_interceptor_may_answer_in_place_of_the_server():
    async def stub(request: Request, send: Send) -> Response:
        return Response(200, [("Content-Type", "application/json")], b'{"metadata":{"name":"made up"}}')

    server = Server(BROKEN)
    async with server.client(interceptors=[stub]) as client:
        assert (await client.get(ConfigMap, "a")).name == "made up"

    assert server.calls == []

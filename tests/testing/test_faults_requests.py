"""Faults of single requests, on the embedded server in virtual time."""

from __future__ import annotations

import contextlib
import random
from datetime import timedelta

import pytest

from kubewright.client import Retry
from kubewright.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    InternalError,
    NotFound,
    RequestTimeout,
    TooManyRequests,
    TransportError,
    Unavailable,
)
from kubewright.kinds.core_v1 import ConfigMap, Secret
from kubewright.testing import VirtualTime, elapse, virtual_time
from kubewright.testing.faults import (
    READS,
    WRITES,
    Fault,
    delay_answer,
    delay_request,
    lose_answer,
    lose_request,
    refuse,
)
from tests.testing.embedded import card, embedded

ONCE = Retry(attempts=1)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (429, TooManyRequests),
        (500, InternalError),
        (503, Unavailable),
    ],
)
@virtual_time()
async def test_a_refused_write_raises_the_error_of_its_code_and_changes_nothing(
    code: int, error: type[ApiError]
) -> None:
    async with embedded(refuse(code, verb="create"), retry=ONCE) as cluster:
        with pytest.raises(error):
            await cluster.client.create(card())

        assert len(await cluster.direct.list(ConfigMap)) == 0


@virtual_time()
async def test_a_refusal_can_have_another_reason() -> None:
    async with embedded(refuse(409, reason="AlreadyExists")) as cluster:
        with pytest.raises(AlreadyExists):
            await cluster.client.create(card())


@virtual_time()
async def test_a_refusal_says_when_to_come_again_and_the_client_does() -> None:
    fault = refuse(429, retry_after=timedelta(seconds=7), times=2)

    async with embedded(fault) as cluster:
        await cluster.client.create(card())

        assert fault.struck == 2
        assert timedelta(seconds=14) <= VirtualTime.current().elapsed < timedelta(seconds=15)


@virtual_time()
async def test_a_lost_request_has_no_effect() -> None:
    async with embedded(lose_request(verb="create")) as cluster:
        with pytest.raises(TransportError):
            await cluster.client.create(card())

        assert len(await cluster.direct.list(ConfigMap)) == 0


@virtual_time()
async def test_a_write_whose_answer_is_lost_took_effect_and_its_sender_waited_in_vain() -> None:
    async with embedded(lose_answer(verb="create")) as cluster:
        with pytest.raises(RequestTimeout):
            await cluster.client.using(timeout=timedelta(seconds=20)).create(card())

        assert VirtualTime.current().elapsed == timedelta(seconds=20)
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_connection_that_breaks_loses_the_answer_at_once() -> None:
    async with embedded(lose_answer(breaks=True, verb="create")) as cluster:
        with pytest.raises(TransportError, match="broke the connection"):
            await cluster.client.create(card())

        assert VirtualTime.current().elapsed == timedelta()
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_late_answer_is_waited_for() -> None:
    async with embedded(delay_answer(3 * SECOND)) as cluster:
        await cluster.client.create(card())

        assert VirtualTime.current().elapsed == 3 * SECOND


@virtual_time()
async def test_an_answer_later_than_the_time_limit_never_comes() -> None:
    async with embedded(delay_answer(30 * SECOND)) as cluster:
        with pytest.raises(RequestTimeout):
            await cluster.client.using(timeout=10 * SECOND).create(card())

        assert VirtualTime.current().elapsed == 10 * SECOND
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_late_request_takes_effect_after_its_sender_gave_up() -> None:
    async with embedded(delay_request(30 * SECOND, verb="create")) as cluster:
        with pytest.raises(RequestTimeout):
            await cluster.client.using(timeout=10 * SECOND).create(card())
        before = len(await cluster.direct.list(ConfigMap))
        await elapse(20 * SECOND)

        assert before == 0
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"


@virtual_time()
async def test_a_request_within_its_time_limit_is_only_late() -> None:
    async with embedded(delay_request(SECOND)) as cluster:
        await cluster.client.create(card())

        assert VirtualTime.current().elapsed == SECOND


@virtual_time()
async def test_only_what_matches_is_struck() -> None:
    fault = refuse(403, verb=WRITES, kind=ConfigMap, name="b", namespace="default")

    async with embedded(fault) as cluster:
        await cluster.client.create(card("a"))
        await cluster.client.create(Secret(metadata=card("b").metadata))
        with pytest.raises(Forbidden):
            await cluster.client.create(card("b"))
        await cluster.direct.create(card("b"))
        await cluster.client.get(ConfigMap, "b")
        with pytest.raises(Forbidden):
            await cluster.client.delete(ConfigMap, "b")

        assert fault.struck == 2


@virtual_time()
async def test_a_fault_can_wait_strike_so_often_and_be_stopped() -> None:
    outcomes = []
    fault = refuse(403, verb=READS, skip=1, times=3)

    async with embedded(fault) as cluster:
        for attempt in range(6):
            if attempt == 3:
                fault.stop()
            try:
                await cluster.client.list(ConfigMap)
                outcomes.append("passed")
            except Forbidden:
                outcomes.append("struck")

    assert outcomes == ["passed", "struck", "struck", "passed", "passed", "passed"]


async def struck_of(fault: Fault) -> list[bool]:
    async with embedded(fault, retry=ONCE) as cluster:
        outcomes = []
        for _ in range(20):
            before = fault.struck
            with contextlib.suppress(Unavailable):
                await cluster.client.list(ConfigMap)
            outcomes.append(fault.struck > before)
        return outcomes


@virtual_time()
async def test_chance_follows_the_dice() -> None:
    first = await struck_of(refuse(chance=0.5, dice=random.Random(1)))
    again = await struck_of(refuse(chance=0.5, dice=random.Random(1)))
    by_virtual_time = await struck_of(refuse(chance=0.5))

    assert first == again
    assert {True, False} == set(first) == set(by_virtual_time)


@virtual_time()
async def test_faults_come_and_go() -> None:
    async with embedded() as cluster:
        with cluster.network.having(refuse(403)):
            with pytest.raises(Forbidden):
                await cluster.client.create(card())
        await cluster.client.create(card())


def test_a_misspelt_match_is_refused():
    with pytest.raises(TypeError, match="verbs"):
        refuse(500, verbs="create")  # type: ignore[call-arg]

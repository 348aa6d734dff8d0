from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kubewright.config.renewal import Issued, Renewal
from kubewright.errors import CredentialError

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Issuer:
    """Issues numbered headers, when the gate is open."""

    def __init__(self, lifetime: timedelta | None = None) -> None:
        self.now = NOON
        self.lifetime = lifetime
        self.started = 0
        self.cancelled = 0
        self.fails = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.renewal = Renewal(self.issue, clock=lambda: self.now)

    async def issue(self) -> Issued:
        self.started += 1
        number = self.started
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fails:
            raise CredentialError(f"no. {number}")
        expiry = self.now + self.lifetime if self.lifetime is not None else None
        return Issued.until(expiry, {"Authorization": str(number)}, now=self.now)

    async def number(self) -> int:
        return int((await self.renewal.current()).headers["Authorization"])


async def turn() -> None:
    """Let every task that is ready run."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_credentials_without_an_end_are_obtained_once():
    issuer = Issuer()
    await issuer.number()

    issuer.now += timedelta(days=10_000)

    assert await issuer.number() == 1


async def test_credentials_are_renewed_ten_seconds_before_their_end():
    issuer = Issuer(timedelta(minutes=1))
    await issuer.number()

    issuer.now += timedelta(seconds=49)
    early = await issuer.number()
    issuer.now += timedelta(seconds=1)
    late = await issuer.number()

    assert (early, late) == (1, 2)


async def test_credentials_issued_with_little_life_are_used_to_their_end():
    issuer = Issuer(timedelta(seconds=5))
    await issuer.number()

    issuer.now += timedelta(seconds=4)
    early = await issuer.number()
    issuer.now += timedelta(seconds=1)
    late = await issuer.number()

    assert (early, late) == (1, 2)


async def test_all_who_wait_at_the_same_time_share_one_run():
    issuer = Issuer()
    issuer.gate.clear()
    waiting = [asyncio.create_task(issuer.number()) for _ in range(10)]
    await turn()

    issuer.gate.set()

    assert await asyncio.gather(*waiting) == [1] * 10


async def test_all_who_wait_at_the_same_time_share_a_failure_and_the_next_tries_again():
    issuer = Issuer()
    issuer.fails = True
    waiting = [asyncio.create_task(issuer.number()) for _ in range(3)]

    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    issuer.fails = False

    assert [str(outcome) for outcome in outcomes] == ["no. 1"] * 3
    assert await issuer.number() == 2


async def test_run_goes_on_for_the_others_when_one_is_cancelled():
    issuer = Issuer()
    issuer.gate.clear()
    first, second = asyncio.create_task(issuer.number()), asyncio.create_task(issuer.number())
    await turn()

    first.cancel()
    await asyncio.wait([first])
    issuer.gate.set()

    assert first.cancelled()
    assert await second == 1


async def test_run_is_cancelled_to_its_end_when_the_last_who_waits_is():
    issuer = Issuer()
    issuer.gate.clear()
    waiting = [asyncio.create_task(issuer.number()) for _ in range(2)]
    await turn()

    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)

    assert issuer.cancelled == 1
    assert len(asyncio.all_tasks()) == 1


async def test_new_run_begins_after_one_that_was_cancelled():
    issuer = Issuer()
    issuer.gate.clear()
    first = asyncio.create_task(issuer.number())
    await turn()
    first.cancel()
    await asyncio.wait([first])

    issuer.gate.set()

    assert await issuer.number() == 2


async def test_refused_credentials_are_renewed_once_however_many_requests_were_refused():
    issuer = Issuer()
    refused = dict((await issuer.renewal.current()).headers)

    for _ in range(3):
        issuer.renewal.forget(refused)
        await issuer.renewal.current()

    assert issuer.started == 2


async def test_whatever_is_in_use_is_renewed_when_it_is_not_told_what_was_refused():
    issuer = Issuer()
    await issuer.number()

    issuer.renewal.forget(None)

    assert await issuer.number() == 2


def test_renewal_serves_one_event_loop_after_another():
    issuer = asyncio.run(_make_issuer())
    first = asyncio.run(issuer.number())
    issuer.renewal.forget(None)

    assert (first, asyncio.run(issuer.number())) == (1, 2)


async def _make_issuer() -> Issuer:
    return Issuer()


def test_issued_credentials_are_good_until_ten_seconds_before_their_end():
    issued = Issued.until(NOON, {}, now=NOON - timedelta(hours=1))

    assert issued.is_good(NOON - timedelta(seconds=11))
    assert not issued.is_good(NOON - timedelta(seconds=10))


@pytest.mark.parametrize("now", [NOON, NOON + timedelta(days=1)])
def test_credentials_issued_after_their_end_are_not_good_for_a_second_use(now):
    assert not Issued.until(NOON, {}, now=now).is_good(now)

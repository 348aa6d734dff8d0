"""What wakes objects besides kinds: timers, channels, pollers; and daemons beside them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable, Mapping
from datetime import timedelta

import pytest

from kubewright import Context, Key
from kubewright.controller import Channel, Poller, Timer
from kubewright.testing import elapse, running, virtual_time
from tests.controller.sites import Site, operator_of, site


class Rounds:
    """A reconcile that notes which objects it saw, and why."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[str, ...]]] = []

    async def __call__(self, obj: Site, ctx: Context) -> None:
        self.seen.append((obj.name, ctx.reasons))


async def nothing(obj: Site, ctx: Context) -> None:
    pass


@virtual_time()
async def test_a_timer_wakes_all_objects_each_period() -> None:
    rounds = Rounds()
    timer = Timer(Site, every=timedelta(seconds=60))
    async with running(operator_of(rounds, sources=[timer])) as cluster:
        await cluster.client.create(site("a"))
        await cluster.client.create(site("b"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        await elapse(timedelta(seconds=135))

    assert sorted(rounds.seen) == [("a", ("timer",))] * 2 + [("b", ("timer",))] * 2


@virtual_time()
async def test_a_channel_wakes_what_is_put_into_it_also_before_it_runs() -> None:
    rounds = Rounds()
    channel = Channel()
    channel.put(Key("default", "a"), reason="a call from outside")
    async with running(operator_of(rounds, sources=[channel])) as cluster:
        created = await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))
        rounds.seen.clear()
        channel.put(created, reason="once more")
        await elapse(timedelta(seconds=1))

    assert rounds.seen == [("a", ("once more",))]


async def test_a_channel_can_be_fed_from_another_thread() -> None:
    channel = Channel()
    woken: list[Key] = []
    seen = asyncio.Event()

    def wake(key: Key, *, reason: str) -> None:
        woken.append(key)
        seen.set()

    task = asyncio.create_task(channel.run(wake, None))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    thread = threading.Thread(target=channel.put, args=(Key("", "x"),))
    thread.start()
    await asyncio.wait_for(seen.wait(), 5)
    thread.join()
    task.cancel()

    assert woken == [Key("", "x")]


@virtual_time()
async def test_a_poller_wakes_only_what_looks_different() -> None:
    outside: dict[Key, Hashable] = {Key("default", "a"): 1, Key("default", "b"): 1}
    polls = 0

    async def poll() -> Mapping[Key, Hashable]:
        nonlocal polls
        polls += 1
        if polls == 3:
            raise RuntimeError("the other system is down")
        return outside

    rounds = Rounds()
    async with running(operator_of(rounds, sources=[Poller(poll, every=timedelta(seconds=10))])) as cluster:
        await cluster.client.create(site("a"))
        await cluster.client.create(site("b"))
        await elapse(timedelta(seconds=15))
        rounds.seen.clear()
        outside[Key("default", "a")] = 2
        await elapse(timedelta(seconds=30))
        assert rounds.seen == [("a", ("poll",))]
        del outside[Key("default", "b")]
        await elapse(timedelta(seconds=10))

    assert rounds.seen[1:] == [("b", ("poll",))]


@virtual_time()
async def test_a_source_that_fails_is_begun_again(caplog: pytest.LogCaptureFixture) -> None:
    class Flaky(Channel):
        tries = 0

        async def run(self, wake: object, cache: object) -> None:
            Flaky.tries += 1
            if Flaky.tries < 3:
                raise RuntimeError("boom")
            await super().run(wake, cache)  # type: ignore[arg-type]

    rounds = Rounds()
    flaky = Flaky()
    async with running(operator_of(rounds, sources=[flaky])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=5))
        rounds.seen.clear()
        flaky.put(Key("default", "a"))
        await elapse(timedelta(seconds=5))

    assert rounds.seen == [("a", ("channel",))]
    assert "source Flaky failed; it is begun again" in caplog.text


@pytest.mark.parametrize("make", [lambda: Timer(Site, every=timedelta(0)), lambda: Poller(_none, every=timedelta(-1))])
def test_a_period_must_be_positive(make: object) -> None:
    with pytest.raises(ValueError, match="positive period"):
        make()  # type: ignore[operator]


async def _none() -> Mapping[Key, Hashable]:
    return {}


@virtual_time()
async def test_a_daemon_runs_beside_its_object_and_ends_with_it() -> None:
    log: list[str] = []

    async def heartbeat(obj: Site, ctx: Context) -> None:
        try:
            while True:
                now = ctx.cache.get(Site, obj.name)
                assert now is not None
                log.append(f"{obj.name} {now.spec.text}")
                await elapse(timedelta(seconds=10))
        finally:
            log.append(f"{obj.name} ends")

    async with running(operator_of(nothing, daemons=[heartbeat])) as cluster:
        await cluster.client.create(site("a", text="1"))
        await elapse(timedelta(seconds=5))
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "text", "2"))
        await elapse(timedelta(seconds=10))
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(seconds=30))

    assert log == ["a 1", "a 2", "a ends"]


@virtual_time()
async def test_a_daemon_that_fails_is_begun_again_with_back_off() -> None:
    begun: list[float] = []

    async def failing(obj: Site, ctx: Context) -> None:
        begun.append(asyncio.get_running_loop().time())
        raise RuntimeError("boom")

    async with running(operator_of(nothing, daemons=[failing])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=10))

    assert 8 <= len(begun) <= 15


@virtual_time()
async def test_a_namesake_gets_a_daemon_of_its_own() -> None:
    uids: list[str] = []

    async def daemon(obj: Site, ctx: Context) -> None:
        uids.append(obj.metadata.uid)
        await elapse(timedelta(seconds=3600))

    async with running(operator_of(nothing, daemons=[daemon])) as cluster:
        first = await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))
        await cluster.client.delete(Site, "a")
        second = await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=1))

    assert uids == [first.metadata.uid, second.metadata.uid]

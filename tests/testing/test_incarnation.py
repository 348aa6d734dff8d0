"""Lives of a program that can be paused, cut off and killed."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.api import now
from kubewright.client import Client, InProcessTransport, Retry
from kubewright.errors import ConnectError, TransportError
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import Deadlock, VirtualTime, elapse, run_virtual, virtual_time, wait_idle
from kubewright.testing.faults import Cut, Gate, Incarnation
from tests.testing.embedded import card, embedded, first_names

SECOND = timedelta(seconds=1)
ONCE = Retry(attempts=1)


@virtual_time()
async def test_a_cut_breaks_what_is_under_way_and_refuses_what_comes_until_mended() -> None:
    cut, gate = Cut(), Gate(verb="create")

    async with embedded(cut, gate, retry=ONCE) as cluster:
        revision = (await cluster.direct.list(ConfigMap)).resource_version
        creating = asyncio.create_task(cluster.client.create(card()))
        await gate.wait_held()
        cut.cut()
        with pytest.raises(TransportError, match="the connection was cut"):
            await creating
        with pytest.raises(ConnectError):
            await cluster.client.list(ConfigMap)
        cut.mend()
        gate.open()
        await cluster.client.create(card())

        watch = cluster.client.watch(ConfigMap, resource_version=revision)
        assert await first_names(watch, 1) == ["ADDED a"]


@virtual_time()
async def test_a_watch_breaks_with_the_cut_and_resumes_after_it() -> None:
    cut = Cut()

    async with embedded(cut) as cluster:
        revision = (await cluster.direct.list(ConfigMap)).resource_version
        watch = cluster.client.watch(ConfigMap, resource_version=revision)
        watching = asyncio.create_task(first_names(watch, 1))
        await elapse(SECOND)
        cut.cut()
        await cluster.direct.create(card())
        await elapse(SECOND)
        was_done = watching.done()
        cut.mend()

        assert not was_done
        assert await watching == ["ADDED a"]


@virtual_time()
async def test_a_crash_cuts_first_and_then_cancels_everything_that_was_started() -> None:
    last_words: list[str] = []

    async with embedded() as cluster:
        life = Incarnation(InProcessTransport(cluster.server.handle))
        client = Client(transport=life.transport, retry=ONCE)

        async def child() -> None:
            try:
                await elapse(timedelta(hours=1))
            finally:
                try:
                    await client.create(card("from-the-grave"))
                except ConnectError:
                    last_words.append("nobody heard")

        async def program() -> None:
            await client.create(card("alive"))
            async with asyncio.TaskGroup() as group:
                group.create_task(child())
                group.create_task(child())

        task = life.start(program())
        await elapse(SECOND)
        await life.crash()

        assert task.cancelled()
        assert last_words == ["nobody heard", "nobody heard"]
        assert [found.name async for found in cluster.direct.list(ConfigMap)] == ["alive"]


@virtual_time()
async def test_a_write_under_way_at_a_crash_takes_effect_at_the_server() -> None:
    reached: list[str] = []

    async with embedded() as cluster:

        async def slowly(method: str, *rest: object) -> object:
            if method == "POST":
                reached.append("begun")
                await elapse(SECOND)
            answer = await cluster.server.handle(method, *rest)  # type: ignore[arg-type]
            reached.append("ended")
            return answer

        transport = InProcessTransport(slowly)  # type: ignore[arg-type]
        life = Incarnation(transport)
        life.start(_ignoring_failure(Client(transport=life.transport).create(card())))
        await elapse(SECOND / 2)
        await life.crash()
        await elapse(SECOND)

        assert reached == ["begun", "ended"]
        assert (await cluster.direct.get(ConfigMap, "a")).name == "a"
        await transport.aclose()


async def _ignoring_failure(work: object) -> None:
    try:
        await work  # type: ignore[misc]
    except TransportError:
        return


@virtual_time()
async def test_a_paused_life_does_nothing_while_time_goes_on_for_others() -> None:
    ticks: dict[str, list[float]] = {"paused": [], "other": []}

    async def tick(name: str) -> None:
        for _ in range(5):
            await elapse(SECOND)
            ticks[name].append(asyncio.get_running_loop().time())

    async with embedded() as cluster:
        life = Incarnation(InProcessTransport(cluster.server.handle))
        task, other = life.start(tick("paused")), asyncio.create_task(tick("other"))
        await elapse(1.5 * SECOND)
        life.pause()
        await elapse(timedelta(minutes=1))
        life.resume()
        await asyncio.gather(task, other)

    assert ticks["other"] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert ticks["paused"] == [1.0, 61.5, 62.5, 63.5, 64.5]


@virtual_time()
async def test_a_request_that_was_sent_before_a_pause_takes_effect() -> None:
    gate = Gate("answer", verb="create")

    async with embedded(gate) as cluster:
        life = Incarnation(cluster.network)
        creating = life.start(Client(transport=life.transport).create(card()))
        await gate.wait_held()
        life.pause()
        gate.open()
        await wait_idle()
        was_done = creating.done()
        stored = len(await cluster.direct.list(ConfigMap))
        life.resume()

        assert (was_done, stored) == (False, 1)
        assert (await creating).name == "a"


@virtual_time()
async def test_a_skewed_clock_is_ahead_for_one_life_only() -> None:
    async def ahead() -> timedelta:
        return now() - VirtualTime.current().now()

    async def read() -> timedelta:
        return await asyncio.create_task(ahead())

    async with embedded() as cluster:
        life = Incarnation(InProcessTransport(cluster.server.handle), skew=timedelta(minutes=3))

        assert await life.start(read()) == timedelta(minutes=3)
        assert await read() == timedelta()


def test_waiting_for_a_paused_life_is_a_deadlock_that_says_so():
    async def main() -> None:
        async with embedded() as cluster:
            life = Incarnation(InProcessTransport(cluster.server.handle))
            task = life.start(elapse(SECOND))
            life.pause()
            await task

    with pytest.raises(Deadlock, match="paused incarnations: 1"):
        run_virtual(main())

"""Reconciles cancelled at every await, operators ended or killed at every moment: what is left is whole."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright import Client, Context, Controller, InProcessTransport, Metadata, Operator
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.operator import install_crds
from kubewright.testing import elapse, embedded_server, run_virtual, running, virtual_time
from kubewright.testing.faults import Interrupted
from tests.loop.lives import Life
from tests.loop.reference import Garden, GardenStatus, Outside, Reconcile, Rounds, both_operator, flock, garden
from tests.loop.world import Network, children_made, gardening, wait_converged

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


async def several(obj: Garden, ctx: Context) -> None:
    """A reconcile with many awaits of its own."""
    if not [child for child in ctx.owned(ConfigMap) if "made" in child.metadata.labels]:
        await ctx.create(ConfigMap(metadata=Metadata(generate_name="made-", labels={"made": "yes"})))
    await elapse(SECOND / 100)
    await ctx.apply(ConfigMap(metadata=Metadata(name="card"), data={"text": obj.spec.text}))
    await ctx.apply(ConfigMap(metadata=Metadata(name="card"), data={"more": "yes"}), part="second")
    await elapse(SECOND / 100)
    obj.status = GardenStatus(text=obj.spec.text)


async def clean_up(obj: Garden, ctx: Context) -> None:
    await elapse(SECOND / 100)
    for child in ctx.owned(ConfigMap):
        await ctx.delete(child)
    await elapse(SECOND / 100)


def halting_at(n: int, reconcile: Reconcile, halted: asyncio.Event) -> Reconcile:
    """A reconcile that comes to a halt at its n-th await, once."""

    async def halt() -> None:
        halted.set()
        await asyncio.Event().wait()

    async def halting(obj: Garden, ctx: Context) -> timedelta | None:
        if halted.is_set():
            return await reconcile(obj, ctx)
        return await Interrupted(_begun(reconcile, obj, ctx), n, halt)

    return halting


async def _begun(reconcile: Reconcile, obj: Garden, ctx: Context) -> timedelta | None:
    return await reconcile(obj, ctx)


async def is_whole(client: Client, text: str) -> None:
    """Assert that the garden is as it is wanted, each child once."""
    found = await client.wait_until(
        Garden, "a", lambda obj: obj.status is not None and obj.status.text == text, within=MINUTE
    )
    card = await client.get(ConfigMap, "card")
    assert card.data == {"text": text, "more": "yes"}
    assert card.is_controlled_by(found)
    assert len([child async for child in client.list(ConfigMap, labels={"made": "yes"})]) == 1


async def ended_at(n: int) -> bool:
    """End the operator at the n-th await of a reconcile, without grace, and start another; whether it came so far."""
    halted, network = asyncio.Event(), Network()
    controller = Controller(Garden, halting_at(n, several, halted), cleanup=clean_up, owns=[ConfigMap])
    async with embedded_server() as server:
        operator = Operator("gardens", [controller], grace=timedelta(0))
        async with running(operator, server=server, interceptors=[network]) as cluster:
            await cluster.client.create(garden())
            await elapse(SECOND)
            reached, begun = halted.is_set(), len(network.begun)
        if reached:
            assert network.begun[begun:] == []
        async with gardening(several, cleanup=clean_up, owns=[ConfigMap], server=server) as again:
            await is_whole(again.client, "hi")
    return reached


def test_an_operator_may_be_ended_at_every_await_of_a_reconcile() -> None:
    n = 1
    while run_virtual(ended_at(n)):
        n += 1
    assert n > 5


async def cleanup_ended_at(n: int) -> bool:
    """End the operator at the n-th await of a cleanup, without grace, and start another; whether it came so far."""
    halted, network = asyncio.Event(), Network()
    controller = Controller(Garden, several, cleanup=halting_at(n, clean_up, halted), owns=[ConfigMap])
    async with embedded_server() as server:
        operator = Operator("gardens", [controller], grace=timedelta(0))
        async with running(operator, server=server, interceptors=[network]) as cluster:
            await cluster.client.create(garden())
            await is_whole(cluster.client, "hi")
            await cluster.client.delete(Garden, "a")
            await elapse(SECOND)
            reached, begun = halted.is_set(), len(network.begun)
        if reached:
            assert network.begun[begun:] == []
        async with gardening(several, cleanup=clean_up, owns=[ConfigMap], server=server) as again:
            await again.wait_gone(Garden, "a")
            assert [child async for child in again.client.list(ConfigMap)] == []
    return reached


def test_an_operator_may_be_ended_at_every_await_of_a_cleanup() -> None:
    n = 1
    while run_virtual(cleanup_ended_at(n)):
        n += 1
    assert n > 3


async def timed_out_at(n: int) -> bool:
    """Let the n-th await of a reconcile last until its time limit; whether it came so far."""
    halted = asyncio.Event()
    reconcile = halting_at(n, several, halted)
    async with gardening(reconcile, owns=[ConfigMap], timeout=10 * SECOND) as cluster:
        await cluster.client.create(garden())
        await elapse(30 * SECOND)

        await is_whole(cluster.client, "hi")
        assert children_made(cluster.server) == 1
    return halted.is_set()


def test_a_reconcile_may_be_cut_off_by_its_time_limit_at_every_await() -> None:
    n = 1
    while run_virtual(timed_out_at(n)):
        n += 1
    assert n > 5


async def act(client: Client) -> None:
    await client.create(flock(size=3))
    await client.create(garden("new"))
    await client.delete(Garden, "old")


async def killed_after(rounds: int) -> int:
    """Kill the operator so many rounds of the loop after there is work; how many writes it had begun."""
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        outside = Outside()
        await install_crds(client, both_operator(outside, Rounds(), Rounds()))
        first = Life(server, outside, 1)
        await client.create(garden("old"))
        await wait_converged(client, outside, within=MINUTE)
        before = len(first.network.writes)
        user = asyncio.create_task(act(client))
        for _ in range(rounds):
            await asyncio.sleep(0)
        begun = len(first.network.writes) - before
        await first.crash()
        await user
        second = Life(server, outside, 2)

        await wait_converged(client, outside, within=MINUTE)

        assert children_made(server) == 3
        await second.crash()
    return begun


def test_an_operator_may_be_killed_at_every_await() -> None:
    """A round of the loop lets each task go on to its next await; after thirty all but the slow outside is done."""
    begun = [run_virtual(killed_after(rounds)) for rounds in range(2, 30)]

    assert begun[0] == 0
    assert begun[-1] >= 5


@virtual_time()
async def test_an_operator_that_is_cancelled_again_while_it_drains_ends_at_once() -> None:
    ended: list[float] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        try:
            await elapse(60 * MINUTE)
        finally:
            ended.append(asyncio.get_running_loop().time())

    async def live() -> None:
        operator = Operator("gardens", [Controller(Garden, reconcile, timeout=None)], grace=10 * MINUTE)
        async with running(operator) as cluster:
            await cluster.client.create(garden())
            await asyncio.Event().wait()

    life = asyncio.create_task(live())
    await elapse(SECOND)
    life.cancel()
    await elapse(SECOND)
    life.cancel()
    await elapse(20 * SECOND)

    assert life.cancelled()
    assert ended == [2.0]


@virtual_time()
async def test_a_request_under_way_at_the_end_of_a_reconcile_is_the_transports_own() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        making = asyncio.create_task(ctx.create(ConfigMap(metadata=Metadata(name=f"made-{obj.spec.text}"))))
        await asyncio.sleep(0)
        del making

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)

        assert [child.name async for child in cluster.client.list(ConfigMap)] == ["made-hi"]


@virtual_time()
async def test_what_a_background_task_writes_wakes_its_object() -> None:
    seen: list[str] = []

    async def annotate(obj: Garden, ctx: Context) -> None:
        await elapse(5 * SECOND)
        await ctx.client.modify(Garden, obj.name, lambda found: found.metadata.annotations.update(done="yes"))

    async def reconcile(obj: Garden, ctx: Context) -> None:
        seen.append(obj.metadata.annotations.get("done", "no"))
        if seen[-1] == "no":
            ctx.background(annotate(obj, ctx))

    async with gardening(reconcile) as cluster:
        await cluster.client.create(garden())
        await elapse(MINUTE)

    assert seen == ["no", "yes"]


async def cancelled_twice(rounds: int, *, identity: str | None) -> bool:
    """Cancel a running operator, and so many rounds of the loop later again; whether it was still ending then."""
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        operator = both_operator(Outside(), Rounds(), Rounds())
        await install_crds(client, operator)

        async def live() -> None:
            async with (
                Client(transport=InProcessTransport(server.handle)) as own,
                operator.running(own, identity=identity),
            ):
                await asyncio.Event().wait()

        life = asyncio.create_task(live())
        await client.create(garden())
        await elapse(5 * SECOND)
        life.cancel()
        for _ in range(rounds):
            await asyncio.sleep(0)
        was_ending = not life.done()
        life.cancel()
        await asyncio.wait([life])
        await elapse(SECOND)
    return was_ending


@pytest.mark.parametrize("identity", [None, "a"])
def test_an_operator_may_be_cancelled_again_at_every_await_of_its_end(identity: str | None) -> None:
    rounds = 0
    while run_virtual(cancelled_twice(rounds, identity=identity)):
        rounds += 1
    assert rounds > 5

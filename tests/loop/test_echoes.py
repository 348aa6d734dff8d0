"""Own writes come back on the watch: they wake nobody, and hide nothing that others did."""

from __future__ import annotations

from datetime import timedelta

from kubewright import Context, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import Gate, delay_events, expire_watch, refuse, stall_watch
from tests.loop.reference import Garden, GardenStatus, garden
from tests.loop.world import Network, gardening

SECOND = timedelta(seconds=1)


def card(text: str, name: str = "card", **metadata: object) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name, **metadata), data={"text": text})  # type: ignore[arg-type]


@virtual_time()
async def test_a_change_of_others_is_seen_when_a_relist_shows_it_only_below_an_own_write() -> None:
    network = Network()
    seen: list[str | None] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        found = ctx.cache.get(ConfigMap, "card")
        seen.append(found.data.get("note") if found is not None else None)
        await ctx.apply(card(obj.spec.text))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden(text="one"))
        await elapse(SECOND)
        with network.having(stall_watch(kind=ConfigMap)):
            network.break_all()
            await elapse(SECOND)
            await cluster.client.modify(ConfigMap, "card", lambda found: found.data.update(note="theirs"))
            await cluster.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "two"))
            await elapse(SECOND)
        with network.having(expire_watch(kind=ConfigMap, times=1)):
            network.break_all()
            await elapse(SECOND)

    assert seen[-1] == "theirs"


@virtual_time()
async def test_the_end_of_a_child_that_it_deleted_and_others_held_wakes_it() -> None:
    left: list[int] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        found = ctx.cache.list(ConfigMap, owned_by=obj)
        left.append(len(found))
        if obj.spec.text == "make":
            await ctx.create(card("", finalizers=["tests.example.com/held"]))
        for child in found if obj.spec.text == "drop" else ():
            await ctx.delete(child)

    async with gardening(reconcile, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden(text="make"))
        await elapse(SECOND)
        await cluster.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "drop"))
        await elapse(SECOND)
        held = await cluster.client.get(ConfigMap, "card")
        held.metadata.finalizers = []
        await cluster.client.update(held)
        await elapse(SECOND)

    assert left[-1] == 0


@virtual_time()
async def test_several_own_writes_that_come_back_as_one_change_while_it_works_do_not_wake_it() -> None:
    rounds = 0

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        for number in range(3):
            await ctx.apply(card(f"{obj.spec.text} {number}"))
        await elapse(10 * SECOND)

    async with gardening(reconcile, Network(delay_events(SECOND)), owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden())
        await elapse(timedelta(minutes=2))

    assert rounds == 1


@virtual_time()
async def test_a_change_of_others_between_own_writes_wakes_it_though_all_come_as_one_change() -> None:
    network = Network(Gate("events", is_open=True, kind=ConfigMap))
    seen: list[str | None] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        found = ctx.cache.get(ConfigMap, "card")
        seen.append(found.data.get("note") if found is not None else None)
        await ctx.apply(card(f"{obj.spec.text} one"))
        await elapse(2 * SECOND)
        await ctx.apply(card(f"{obj.spec.text} two"))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        gate = next(fault for fault in network.faults if isinstance(fault, Gate))
        gate.shut()
        await cluster.client.create(garden())
        await elapse(SECOND)
        await cluster.client.modify(ConfigMap, "card", lambda found: found.data.update(note="theirs"))
        await elapse(2 * SECOND)
        assert seen == [None]
        gate.open()
        await elapse(SECOND)

    assert seen[1:] == ["theirs"]


@virtual_time()
async def test_a_status_written_late_does_not_wake_it_whenever_its_echo_comes() -> None:
    rounds = 0

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        obj.status = GardenStatus(text=f"round {rounds}")

    async with gardening(reconcile, Network(delay_events(5 * SECOND))) as cluster:
        await cluster.client.create(garden())
        await elapse(timedelta(minutes=2))

    assert rounds == 1


@virtual_time()
async def test_a_child_that_others_deleted_before_any_watch_told_of_it_is_made_again() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if ctx.cache.get(ConfigMap, "card") is None:
            await ctx.create(card(obj.spec.text))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        with network.having(stall_watch(kind=ConfigMap)):
            network.break_all()
            await elapse(SECOND)
            await cluster.client.create(garden())
            await cluster.wait_until(ConfigMap, "card", lambda _: True)
            await cluster.client.delete(ConfigMap, "card")
        with network.having(refuse(410, verb="watch", kind=ConfigMap, times=1)):
            network.break_all()

            await cluster.wait_until(ConfigMap, "card", lambda _: True, within=10 * SECOND)

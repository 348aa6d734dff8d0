"""An object that is deleted and made again under the same name is another object, however fast that goes."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kubewright import Context, Controller, Metadata, Operator
from kubewright.controller import Expectations
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, running, virtual_time
from kubewright.testing.faults import Gate, lose_answer, stall_watch
from tests.loop.reference import Flock, Garden, GardenStatus, flock, garden
from tests.loop.world import Network, gardening, world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@virtual_time()
async def test_a_namesake_gets_children_of_its_own() -> None:
    async with world() as place:
        await place.client.create(flock(size=2))
        await place.wait_converged()
        with place.network.having(stall_watch(kind=Flock)):
            place.network.break_all()
            await elapse(SECOND)
            await place.client.delete(Flock, "a")
            await place.client.create(flock(size=3))
        place.network.break_all()

        await place.wait_converged(within=MINUTE)

        owners = [child.metadata.owner_references[0].uid async for child in place.client.list(ConfigMap)]
        assert len(owners) == 5
        assert owners.count((await place.client.get(Flock, "a")).metadata.uid) == 3


@virtual_time()
async def test_cleanup_runs_for_the_one_that_goes_and_not_for_its_namesake() -> None:
    async with world() as place:
        old = await place.client.create(garden(text="old"))
        await place.wait_converged()
        gate = Gate("events", kind=Garden, is_open=True)
        with place.network.having(gate):
            place.network.break_all()
            await elapse(SECOND)
            await place.client.delete(Garden, "a")
            await elapse(SECOND)
            gate.shut()
            await place.client.delete(ConfigMap, "a-card")
            new = await place.client.create(garden(text="new"))
            gate.open()

            await place.wait_converged(within=MINUTE)

        assert place.outside.records == {new.metadata.uid: "new"}
        assert old.metadata.uid != new.metadata.uid


@virtual_time()
async def test_a_reconcile_of_the_old_one_writes_no_status_into_its_namesake() -> None:
    network, seen = Network(), []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        seen.append(obj.metadata.uid)
        await elapse(5 * SECOND)
        obj.status = GardenStatus(text=obj.metadata.uid)

    async with gardening(reconcile, network) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)
        await cluster.client.delete(Garden, "a")
        new = await cluster.client.create(garden())
        written: list[str] = []
        for _ in range(60):
            await elapse(SECOND)
            found = await cluster.client.get(Garden, "a")
            written.append(found.status.text if found.status is not None else "")

    assert len(seen) == 2
    assert set(written) == {"", new.metadata.uid}


@virtual_time()
async def test_a_namesake_does_not_inherit_failures() -> None:
    attempts: list[tuple[str, int]] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        attempts.append((obj.spec.text, ctx.attempt))
        raise RuntimeError("boom")

    gate = Gate("events", kind=Garden, is_open=True)
    async with gardening(reconcile, Network(gate)) as cluster:
        await cluster.client.create(garden(text="old"))
        await elapse(2 * MINUTE)
        gate.shut()
        await cluster.client.delete(Garden, "a")
        await cluster.client.create(garden(text="new"))
        gate.open()
        await elapse(SECOND)

    first = next(attempt for text, attempt in attempts if text == "new")
    assert first == 0
    assert len([text for text, _ in attempts if text == "new"]) > 3


@virtual_time()
async def test_a_namesakes_daemon_begins_when_the_old_one_has_ended() -> None:
    lives: list[str] = []

    async def daemon(obj: Garden, ctx: Context) -> None:
        lives.append(f"{obj.spec.text} begins")
        try:
            await asyncio.Event().wait()
        finally:
            await elapse(5 * SECOND)
            lives.append(f"{obj.spec.text} ends")

    async def reconcile(obj: Garden, ctx: Context) -> None:
        return None

    async with gardening(reconcile, daemons=[daemon]) as cluster:
        await cluster.client.create(garden(text="old"))
        await elapse(SECOND)
        await cluster.client.delete(Garden, "a")
        await cluster.client.create(garden(text="new"))
        await elapse(SECOND)
        assert lives == ["old begins"]
        await elapse(MINUTE)
        await cluster.client.delete(Garden, "a")
        await elapse(SECOND)

    assert lives == ["old begins", "old ends", "new begins", "new ends"]


@virtual_time()
async def test_the_daemon_of_an_object_that_its_reconcile_deletes_is_ended() -> None:
    running_now = 0

    async def daemon(obj: Garden, ctx: Context) -> None:
        nonlocal running_now
        running_now += 1
        try:
            await asyncio.Event().wait()
        finally:
            running_now -= 1

    async def reconcile(obj: Garden, ctx: Context) -> None:
        await elapse(SECOND)
        await ctx.delete(obj)

    async with gardening(reconcile, daemons=[daemon]) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND / 2)
        assert running_now == 1
        await elapse(MINUTE)

        assert running_now == 0


@virtual_time()
async def test_a_namesake_does_not_wait_for_what_the_old_one_expected() -> None:
    expectations = Expectations(Flock, ConfigMap)
    met: list[bool] = []

    async def reconcile(obj: Flock, ctx: Context) -> None:
        met.append(expectations.are_met(obj.key))
        if met[-1] and obj.spec.size:
            expectations.expect_creations(obj.key, obj.spec.size)

    operator = Operator("flocks", [Controller(Flock, reconcile, owns=[ConfigMap], sources=[expectations])])
    async with running(operator) as cluster:
        await cluster.client.create(flock(size=3))
        await elapse(SECOND)
        await cluster.client.delete(Flock, "a")
        await elapse(SECOND)
        await cluster.client.create(flock(size=0))
        await elapse(SECOND)

    assert met == [True, True]


@virtual_time()
async def test_a_delete_whose_answer_was_lost_does_not_hit_a_namesake_of_the_child() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if obj.spec.text == "drop" and (found := ctx.cache.get(ConfigMap, "card")) is not None and found.data == {}:
            await ctx.delete(found)

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="card")))
        await cluster.client.create(garden(text="keep"))
        await elapse(SECOND)
        with network.having(lose_answer(verb="delete", times=1, breaks=True), stall_watch(kind=ConfigMap)):
            network.break_all()
            await elapse(SECOND)
            await cluster.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "drop"))
            await cluster.wait_gone(ConfigMap, "card")
            await cluster.client.create(ConfigMap(metadata=Metadata(name="card"), data={"of": "others"}))
            await elapse(MINUTE)

        assert (await cluster.client.get(ConfigMap, "card")).data == {"of": "others"}

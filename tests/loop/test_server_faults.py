"""An API server that goes away and comes back: the same, without its history, or as it was some time ago."""

from __future__ import annotations

from datetime import timedelta

from kubewright import Context, MergePatch, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import stall_watch
from tests.loop.reference import Flock, Garden, flock, garden
from tests.loop.world import Network, gardening, world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@virtual_time()
async def test_the_operator_goes_on_after_the_server_was_away() -> None:
    async with world() as place:
        await place.live_through()
        await place.wait_converged()
        place.network.cut.cut()
        await place.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 4))
        await place.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "meanwhile"))
        made = place.children_made
        tried = await place.requests_during(10 * MINUTE)
        place.network.cut.mend()

        await place.wait_converged(within=MINUTE)

        assert place.children_made == made + 2
        assert tried < 600


@virtual_time()
async def test_a_reconcile_that_the_server_left_alone_is_tried_again() -> None:
    async with world() as place:
        await place.client.create(flock(size=1))
        await place.wait_converged()
        await place.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 8))
        place.network.cut.cut()
        await elapse(2 * MINUTE)
        place.network.cut.mend()

        await place.wait_converged(within=5 * MINUTE)

        assert place.children_made == 8


@virtual_time()
async def test_the_operator_goes_on_after_the_server_lost_its_history() -> None:
    async with world() as place:
        await place.live_through()
        await place.wait_converged()
        place.network.cut.cut()
        await place.client.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 4))
        await place.client.delete(ConfigMap, "a-card")
        place.server.restore(place.server.snapshot())
        place.network.cut.mend()

        await place.wait_converged(within=MINUTE)


@virtual_time()
async def test_the_operator_does_again_what_the_server_has_forgotten() -> None:
    async with world() as place:
        await place.client.create(flock("old", size=1))
        await place.client.create(garden("old", text="hi"))
        await place.wait_converged()
        backup = place.server.snapshot()
        await place.client.modify(Flock, "old", lambda obj: setattr(obj.spec, "size", 5))
        await place.client.modify(Garden, "old", lambda obj: setattr(obj.spec, "text", "bye"))
        await place.client.create(flock("new", size=2))
        await place.wait_converged()
        place.server.restore(backup)

        await place.wait_converged(within=MINUTE)

        assert [obj.spec.size async for obj in place.client.list(Flock)] == [1]


@virtual_time()
async def test_revisions_that_come_again_are_not_taken_for_own_writes() -> None:
    async with world() as place:
        await place.client.create(flock(size=2))
        await place.client.create(garden(text="hi"))
        await place.wait_converged()
        backup = place.server.snapshot()
        for number in range(20):
            await place.client.patch(Garden, MergePatch({"spec": {"text": f"{number}"}}), name="a")
            await elapse(SECOND / 10)
        place.server.restore(backup)
        await elapse(SECOND / 2)
        for number in range(20):
            await place.client.patch(ConfigMap, MergePatch({"data": {"text": f"{number}"}}), name="a-card")
            await elapse(SECOND / 10)

        await place.wait_converged(within=10 * SECOND)


@virtual_time()
async def test_a_child_whose_creation_the_server_has_forgotten_is_made_again_though_no_watch_ever_told_it() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if ctx.cache.get(ConfigMap, "card") is None:
            await ctx.create(ConfigMap(metadata=Metadata(name="card")))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        with network.having(stall_watch(kind=ConfigMap)):
            network.break_all()
            await elapse(SECOND)
            backup = cluster.server.snapshot()
            await cluster.client.create(garden())
            await cluster.wait_until(ConfigMap, "card", lambda _: True)
            cluster.server.restore(backup)
            await cluster.client.create(garden())
            await elapse(10 * SECOND)
        network.break_all()

        await cluster.wait_until(ConfigMap, "card", lambda _: True, within=2 * MINUTE)


@virtual_time()
async def test_a_child_whose_change_the_server_has_forgotten_is_changed_again_though_no_watch_ever_told_it() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=Metadata(name="card"), data={"text": obj.spec.text}))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden(text="one"))
        await elapse(SECOND)
        await cluster.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "two"))
        await elapse(SECOND)
        with network.having(stall_watch(kind=ConfigMap)):
            network.break_all()
            await elapse(SECOND)
            await cluster.client.modify(ConfigMap, "card", lambda card: card.data.update(text="theirs"))
            backup = cluster.server.snapshot()
            await cluster.client.modify(Garden, "a", lambda obj: setattr(obj.spec, "text", "three"))
            await elapse(SECOND)
            cluster.server.restore(backup)
            await elapse(SECOND)
        network.break_all()

        await cluster.wait_until(ConfigMap, "card", lambda card: card.data["text"] == "two", within=MINUTE)


@virtual_time()
async def test_a_child_of_another_history_with_a_known_revision_is_not_taken_for_settled() -> None:
    async with world() as place:
        await place.client.create(garden(text="one"))
        await place.wait_converged()
        backup = place.server.snapshot()
        await place.client.patch(Garden, MergePatch({"spec": {"text": "two"}}), name="a")
        await place.wait_converged()
        known = (await place.client.get(ConfigMap, "a-card")).metadata.resource_version
        place.network.cut.cut()
        place.server.restore(backup)
        await place.client.patch(Garden, MergePatch({"spec": {"text": "two"}}), name="a")
        theirs = await place.client.patch(ConfigMap, MergePatch({"data": {"text": "theirs"}}), name="a-card")
        assert theirs.metadata.resource_version == known
        place.network.cut.mend()

        await place.wait_converged(within=MINUTE)

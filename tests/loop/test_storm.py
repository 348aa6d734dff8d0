"""Ten thousand changes in a second: nothing is missed, little is done twice, and the loop does not starve."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

import msgspec

from kubewright import Context
from kubewright.testing import elapse, virtual_time
from kubewright_apiserver import ApiServer
from tests.loop.reference import Garden, garden
from tests.loop.world import Network, gardening

SECOND = timedelta(seconds=1)
GARDENS: Final = "tests.example.com/gardens"


async def edit(server: ApiServer, name: str, times: int) -> None:
    """So many changes of one object within a second, the last of which counts.

    They are put into the server's store at once: through the API the server would be what this test takes time for.
    """
    store = server.app.engine.store
    for number in range(1, times + 1):
        row = store.table(GARDENS).get(f"default/{name}")
        assert row is not None
        document = msgspec.json.decode(row.value)
        document["spec"]["text"] = f"{name} {number}"
        document["metadata"]["generation"] += 1
        await store.put(GARDENS, row.key, document, expected=row.rev)
        await elapse(SECOND / times)


@virtual_time()
async def test_ten_thousand_changes_in_a_second_end_in_the_last_state_of_each_object() -> None:
    network, rounds, seen = Network(), 0, dict[str, str]()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        await elapse(SECOND / 10)
        seen[obj.name] = obj.spec.text

    async with gardening(reconcile, network, workers=10) as cluster:
        names = [f"g{number:03}" for number in range(100)]
        for name in names:
            await cluster.client.create(garden(name))
        await elapse(5 * SECOND)
        before, begun = rounds, len(network.begun)
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(edit(cluster.server, name, 100))
        await elapse(10 * SECOND)

        assert seen == {name: f"{name} 100" for name in names}
        assert rounds - before <= 2 * len(names) + 100
        assert len(network.begun) - begun <= 2 * (rounds - before)


@virtual_time()
async def test_a_storm_of_one_object_does_not_hold_up_another() -> None:
    done: list[float] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if obj.name == "calm":
            done.append(asyncio.get_running_loop().time())

    async with gardening(reconcile) as cluster:
        await cluster.client.create(garden("wild"))
        await elapse(SECOND)
        async with asyncio.TaskGroup() as group:
            group.create_task(edit(cluster.server, "wild", 1000))
            await elapse(SECOND / 2)
            created = asyncio.get_running_loop().time()
            await cluster.client.create(garden("calm"))

        assert done[0] - created < 0.05


@virtual_time()
async def test_many_changes_that_come_as_one_batch_are_one_reconcile() -> None:
    network, rounds = Network(), 0

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1

    async with gardening(reconcile, network) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)
        network.cut.cut()
        await edit(cluster.server, "a", 1000)
        network.cut.mend()
        await elapse(30 * SECOND)

        assert rounds <= 3
        assert (await cluster.client.get(Garden, "a")).spec.text == "a 1000"

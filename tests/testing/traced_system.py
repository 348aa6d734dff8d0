"""A small system in virtual time, run as a program of its own: prints the trace of what happened."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta

from kubewright.api import Metadata, now
from kubewright.errors import ApiError, TransportError
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import Trace, VirtualTime, elapse, run_virtual
from kubewright.testing.faults import drop_watch, lose_answer, refuse
from tests.testing.embedded import Embedded, embedded


async def system() -> Trace:
    virtual = VirtualTime.current()
    trace = virtual.trace
    faults = (
        trace.observe,
        refuse(503, chance=0.2),
        lose_answer(breaks=True, verb="create", chance=0.1),
        drop_watch(after=3),
    )
    async with embedded(*faults) as cluster:
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(follow(cluster, trace))
            async with asyncio.TaskGroup() as writers:
                for number in range(5):
                    writers.create_task(write(cluster, virtual, number))
            await elapse(timedelta(minutes=1))
            follower.cancel()
        await cancel_many(trace)
    return trace


async def follow(cluster: Embedded, trace: Trace) -> None:
    async for event in cluster.client.watch(ConfigMap):
        trace.note(f"saw {event.type} at {event.resource_version}")


async def write(cluster: Embedded, virtual: VirtualTime, number: int) -> None:
    dice = virtual.dice_of(f"writer {number}")
    for _ in range(10):
        await elapse(timedelta(seconds=dice.expovariate(1)))
        labels = {
            f"label-{letter}": str(now()).replace(" ", "_").replace(":", "-").replace("+", "Z") for letter in "abc"
        }
        card = ConfigMap(metadata=Metadata(generate_name=f"writer-{number}-", labels=labels))
        try:
            await cluster.client.create(card)
        except (ApiError, TransportError) as error:
            virtual.trace.note(f"writer {number}: {type(error).__name__}")


async def cancel_many(trace: Trace) -> None:
    """A task group cancels its tasks in the order of a set."""

    async def wait(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            trace.note(f"cancelled {number}")

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(50):
                group.create_task(wait(number))
            await asyncio.sleep(0)
            raise ValueError("enough")
    except* ValueError:
        trace.note("enough")


if __name__ == "__main__":
    sys.stdout.write(str(run_virtual(system(), seed=int(sys.argv[1]), shuffle=bool(int(sys.argv[2])))))

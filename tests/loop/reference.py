"""Two reference operators: one creates children by generated names, one applies, cleans up and tells its status."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from kubewright import Context, Controller, Metadata, Model, Operator, Resource, Status
from kubewright.api import Key
from kubewright.controller import slow_start
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import elapse

Reconcile = Callable[[Any, Context], Awaitable[timedelta | None]]


class FlockSpec(Model):
    size: int


class FlockStatus(Status):
    members: list[str] = []


class Flock(Resource, group="tests.example.com", version="v1"):
    """So many equal children, whose names the server makes: what a PodSet is."""

    spec: FlockSpec
    status: FlockStatus | None = None


class GardenSpec(Model):
    text: str


class GardenStatus(Status):
    text: str = ""


class Garden(Resource, group="tests.example.com", version="v1"):
    """A card of the same name, and a record outside the cluster that must not outlive it."""

    spec: GardenSpec
    status: GardenStatus | None = None


def flock(name: str = "a", size: int = 3) -> Flock:
    return Flock(metadata=Metadata(name=name), spec=FlockSpec(size=size))


def garden(name: str = "a", text: str = "hi") -> Garden:
    return Garden(metadata=Metadata(name=name), spec=GardenSpec(text=text))


class Rounds:
    """Watches reconciles from inside: how many there were, and whether a key was ever in two workers at once."""

    def __init__(self) -> None:
        self.count: Counter[Key] = Counter()
        self.in_work: dict[Key, str] = {}
        self.overlaps: list[Key] = []

    @property
    def total(self) -> int:
        return sum(self.count.values())

    def around(self, reconcile: Reconcile) -> Reconcile:
        async def watched(obj: Any, ctx: Context) -> timedelta | None:
            if obj.key in self.in_work:
                self.overlaps.append(obj.key)
            self.in_work[obj.key] = obj.metadata.uid
            self.count[obj.key] += 1
            try:
                return await reconcile(obj, ctx)
            finally:
                self.in_work.pop(obj.key, None)

        return watched


async def keep_flock(obj: Flock, ctx: Context) -> None:
    """As the PodSet example does it."""
    members = sorted(ctx.owned(ConfigMap), key=lambda child: (str(child.metadata.creation_timestamp), child.name))
    missing = obj.spec.size - len(members)
    if missing > 0:
        child = ConfigMap(metadata=Metadata(generate_name=f"{obj.name}-"))
        _, failure = await slow_start(missing, lambda _: ctx.create(child))
        if failure is not None:
            raise failure
    for child in members[obj.spec.size :]:
        await ctx.delete(child)
    obj.status = obj.status or FlockStatus()
    obj.status.members = sorted(child.name for child in ctx.owned(ConfigMap))
    obj.status.set("Ready", True, reason="Complete")


class Outside:
    """A system outside the cluster that is told about gardens; in virtual time it may be slow."""

    def __init__(self, *, is_slow: bool = True) -> None:
        self.records: dict[str, str] = {}
        self._wait = elapse if is_slow else _no_time

    async def put(self, uid: str, text: str) -> None:
        await self._wait(timedelta(milliseconds=10))
        self.records[uid] = text

    async def remove(self, uid: str) -> None:
        await self._wait(timedelta(milliseconds=10))
        self.records.pop(uid, None)

    async def keep(self, obj: Garden, ctx: Context) -> None:
        await self.put(obj.metadata.uid, obj.spec.text)
        await ctx.apply(ConfigMap(metadata=Metadata(name=f"{obj.name}-card"), data={"text": obj.spec.text}))
        obj.status = obj.status or GardenStatus()
        obj.status.text = obj.spec.text
        obj.status.set("Ready", True, reason="Planted")

    async def clean_up(self, obj: Garden, ctx: Context) -> None:
        await self.remove(obj.metadata.uid)


async def _no_time(_: timedelta) -> None:
    await asyncio.sleep(0)


def flock_operator(rounds: Rounds | None = None, *, reconcile: Reconcile = keep_flock, **options: Any) -> Operator:
    options.setdefault("resync", None)
    watched = (rounds or Rounds()).around(reconcile)
    return Operator("flocks", [Controller(Flock, watched, owns=[ConfigMap], workers=4)], **options)


def garden_operator(outside: Outside, rounds: Rounds | None = None, **options: Any) -> Operator:
    rounds = rounds or Rounds()
    keep, clean_up = rounds.around(outside.keep), rounds.around(outside.clean_up)
    controller = Controller(Garden, keep, cleanup=clean_up, owns=[ConfigMap], workers=4)
    return Operator("gardens", [controller], **options)


def both_operator(outside: Outside, flocks: Rounds, gardens: Rounds, **options: Any) -> Operator:
    """Both in one operator, sharing the informer of their children; no resync mends what was missed."""
    options.setdefault("resync", None)
    controllers = [*flock_operator(flocks).controllers, *garden_operator(outside, gardens).controllers]
    return Operator("both", controllers, **options)

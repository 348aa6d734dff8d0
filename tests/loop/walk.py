"""A random walk: users act, everything fails now and then; run as a program of its own it prints what happened."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from kubewright import Client, InProcessTransport
from kubewright.errors import AlreadyExists, NotFound
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.operator import install_crds
from kubewright.testing import Trace, VirtualTime, elapse, embedded_server, run_virtual
from kubewright.testing.faults import (
    READS,
    WRITES,
    Fault,
    delay_answer,
    delay_events,
    drop_watch,
    duplicate_events,
    expire_watch,
    lose_answer,
    lose_request,
    refuse,
    stall_watch,
)
from kubewright_apiserver import ApiServer, Snapshot
from tests.loop.lives import Life
from tests.loop.reference import Flock, Garden, Outside, Rounds, both_operator, flock, garden
from tests.loop.world import shortcomings

SECOND: Final = timedelta(seconds=1)
NAMES: Final = ("a", "b", "c")

FAULTS: Final[tuple[Callable[[], Fault], ...]] = (
    lambda: drop_watch(after=1, chance=0.7),
    lambda: drop_watch(after=2, cleanly=True, chance=0.7),
    lambda: expire_watch(after=1, chance=0.5),
    lambda: stall_watch(chance=0.5),
    lambda: duplicate_events(chance=0.7),
    lambda: delay_events(2 * SECOND),
    lambda: delay_events(3 * SECOND, kind=ConfigMap),
    lambda: refuse(409, verb=WRITES, chance=0.5),
    lambda: refuse(429, retry_after=SECOND, chance=0.5),
    lambda: refuse(500, chance=0.5),
    lambda: refuse(503, verb=READS, chance=0.8),
    lambda: lose_answer(verb=WRITES, chance=0.5),
    lambda: lose_answer(verb=WRITES, chance=0.5, breaks=True),
    lambda: lose_request(chance=0.5),
    lambda: delay_answer(2 * SECOND, chance=0.5),
)


class Walk:
    """A system that random things happen to."""

    def __init__(self, server: ApiServer, client: Client) -> None:
        virtual = VirtualTime.current()
        self._server = server
        self._client = client
        self._dice: random.Random = virtual.dice_of("walk")
        self.trace: Trace = virtual.trace
        self._outside = Outside()
        self._number = 0
        self._largest: dict[str, int] = {}
        self._life = self._born()
        self._backup: Snapshot | None = None
        self._has_gone_back = False
        """Then caches of another history may make too many children for a moment, and records outside are orphaned."""

    def _born(self) -> Life:
        self._number += 1
        return Life(self._server, self._outside, self._number, self.trace.observe)

    async def go(self, steps: int) -> None:
        """So many steps, then quiet: in the end all must be as it is wanted."""
        for _ in range(steps):
            action = self._dice.choice((self._create, self._scale, self._edit, self._delete, self._spoil, self._break))
            self.trace.note(action.__name__)
            with suppress(NotFound, AlreadyExists):
                await action(self._dice.choice(NAMES))
            await elapse(SECOND * self._dice.choice((0, 0.01, 0.3, 2, 15)))
            await self._collect_garbage()
            await self._check_no_flock_is_too_large()
        await self._heal()

    async def _create(self, name: str) -> None:
        size = self._dice.randrange(5)
        self._want(name, size)
        await self._client.create(flock(name, size=size))
        await self._client.create(garden(name, text=f"{self._dice.random()}"))

    async def _scale(self, name: str) -> None:
        size = self._dice.randrange(6)
        self._want(name, size)
        await self._client.modify(Flock, name, lambda obj: setattr(obj.spec, "size", size))

    async def _edit(self, name: str) -> None:
        text = f"{self._dice.random()}"
        await self._client.modify(Garden, name, lambda obj: setattr(obj.spec, "text", text))

    async def _delete(self, name: str) -> None:
        await self._client.delete(self._dice.choice((Flock, Garden)), name)

    async def _spoil(self, name: str) -> None:
        """Harm a child: delete it, or write into it."""
        children = [child async for child in self._client.list(ConfigMap) if child.name.startswith(f"{name}-")]
        if children and self._dice.random() < 0.5:
            await self._client.delete(self._dice.choice(children))
        elif children:
            victim = self._dice.choice(children).name
            await self._client.modify(ConfigMap, victim, lambda child: child.data.update(x="y"))

    async def _break(self, name: str) -> None:
        """Let something fail, for a while or once and for all."""
        network = self._life.network
        what = self._dice.randrange(7)
        if what == 0:
            await self._life.crash()
            self._life = self._born()
        elif what == 1:
            self._life.incarnation.pause()
            await elapse(SECOND * self._dice.randrange(60))
            self._life.incarnation.resume()
        elif what == 2:
            network.cut.cut()
            await elapse(SECOND * self._dice.randrange(60))
            network.cut.mend()
        elif what == 3:
            self._server.restore(self._server.snapshot())
        elif what == 4:
            self._go_back()
        else:
            network.faults[1:] = [self._dice.choice(FAULTS)() for _ in range(self._dice.randrange(3))]
            if self._dice.random() < 0.5:
                network.break_all()

    def _go_back(self) -> None:
        """Keep a backup the first time, go back to it the second: what was in the cluster since then is gone."""
        if self._backup is None:
            self._backup = self._server.snapshot()
            return
        self._server.restore(self._backup)
        self._backup = None
        self._has_gone_back = True

    async def _collect_garbage(self) -> None:
        """What the garbage collector does: an owner's children go with it."""
        owners = {obj.metadata.uid async for obj in self._client.list(Flock)}
        owners |= {obj.metadata.uid async for obj in self._client.list(Garden)}
        for child in [child async for child in self._client.list(ConfigMap)]:
            if not any(reference.uid in owners for reference in child.metadata.owner_references):
                with suppress(NotFound):
                    await self._client.delete(child)

    def _want(self, name: str, size: int) -> None:
        self._largest[name] = max(size, self._largest.get(name, 0))

    async def _check_no_flock_is_too_large(self) -> None:
        if self._has_gone_back:
            return
        children = [child async for child in self._client.list(ConfigMap)]
        async for obj in self._client.list(Flock):
            count = len([child for child in children if child.is_controlled_by(obj)])
            assert count <= self._largest[obj.name], f"{obj.key} has {count} children"

    async def _wrong(self) -> list[str]:
        return await shortcomings(self._client, None if self._has_gone_back else self._outside)

    async def _heal(self) -> None:
        self.trace.note("heal")
        network = self._life.network
        del network.faults[1:]
        network.break_all()
        begun = len(network.begun)
        for _ in range(120):
            await self._collect_garbage()
            if not await self._wrong():
                break
            await elapse(5 * SECOND)
        wrong = await self._wrong()
        assert not wrong, "\n".join(wrong)
        assert len(network.begun) - begun < 400
        await self._life.crash()


async def walk(steps: int = 25) -> Trace:
    """What happened, in order."""
    seed = VirtualTime.current().seed
    async with embedded_server(seed=seed) as server:
        async with Client(transport=InProcessTransport(server.handle), dice=random.Random(seed)) as client:
            await install_crds(client, both_operator(Outside(), Rounds(), Rounds()))
            walking = Walk(server, client)
            await walking.go(steps)
    return walking.trace


if __name__ == "__main__":
    found = run_virtual(walk(), seed=int(sys.argv[1]), shuffle=True)
    sys.stdout.write(f"{found}\n{found.digest()}\n")

"""Servers killed at any moment under load: what they acknowledged is there, and watches go on where they were.

``python -m soak.kills --kills 500 --seed 7`` says how far it is and ends with figures, or with what was lost.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from soak.load import Load
from soak.nursery import Nursery

__all__ = ["Kills"]

_UNDER_LOAD, _AT_THE_START, _IN_ORDER = "under load", "at the start", "in order"


class Kills:
    """Lives of servers on the same data, and what became of the load on them."""

    def __init__(self, nursery: Nursery, seed: int) -> None:
        self.ends: Counter[str] = Counter()
        """How many servers ended: killed under load, killed at the start, or told to end in order."""
        self._nursery = nursery
        self._dice = random.Random(seed)
        self._load = Load(self._dice)
        self._slowest = 0.0

    async def run(self, kills: int, tell: Callable[[str], None] = lambda line: None) -> None:
        """Kill so many servers under load, others besides, and compare what is left.

        Raises: `Lost` for the first thing that was.
        """
        while self.ends[_UNDER_LOAD] < kills:
            await self._life()
            tell(self.told)
        self._nursery.start()
        async with self._load.at(await asyncio.to_thread(self._nursery.address), self._nursery.context()):
            await self._load.verify()
            watching = asyncio.create_task(self._load.watch())
            await self._load.all_shown(watching)
            watching.cancel()

    async def _life(self) -> None:
        """One server: what was before is there, more is written, and then it ends."""
        # A short history at times, so that kills hit its compaction and watches have to begin anew.
        self._nursery.start(*(["--etcd-compaction-interval=50ms"] if self._dice.random() < 0.3 else []))
        began = time.monotonic()
        if self._dice.random() < 0.15:
            await self._pause(0.12)
            await self._end(_AT_THE_START)
            return
        async with self._load.at(await asyncio.to_thread(self._nursery.address), self._nursery.context()):
            self._slowest = max(self._slowest, time.monotonic() - began)
            await self._load.verify()
            tasks = [asyncio.create_task(self._load.write())]
            # Not always, so that the next watch has to go further back, perhaps to what is compacted by then.
            if self._dice.random() < 0.7:
                tasks.append(asyncio.create_task(self._load.watch()))
            await self._load.more(self._dice.randint(1, 100), *tasks)
            await self._pause(0.02)
            await self._end(_IN_ORDER if self._dice.random() < 0.1 else _UNDER_LOAD)
            await asyncio.gather(*tasks)

    async def _pause(self, longest: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._dice.uniform(0.0, longest)):
                await asyncio.Event().wait()

    async def _end(self, how: str) -> None:
        number = signal.SIGTERM if how == _IN_ORDER else signal.SIGKILL
        code = await asyncio.to_thread(self._nursery.kill, number)
        if code != (0 if how == _IN_ORDER else -number):
            raise RuntimeError(f"the server ended with {code} after {number.name}")
        self.ends[how] += 1

    @property
    def told(self) -> str:
        """How far it is."""
        return f"{self.ends[_UNDER_LOAD]} killed under load, {self.acknowledged} writes acknowledged, none lost"

    @property
    def acknowledged(self) -> int:
        """How many writes were acknowledged."""
        return self._load.ledger.acknowledged.total()

    @property
    def figures(self) -> str:
        """What was done, one figure a line."""
        ledger, size = self._load.ledger, (self._nursery.data / "cluster.db").stat().st_size
        lines = [f"servers killed {_UNDER_LOAD}: {self.ends[_UNDER_LOAD]}"]
        lines += [f"servers killed {_AT_THE_START}: {self.ends[_AT_THE_START]}"]
        lines += [f"servers ended {_IN_ORDER}: {self.ends[_IN_ORDER]}"]
        lines += [f"acknowledged: {self.acknowledged} ({_listed(ledger.acknowledged)}), lost: 0"]
        lines += [f"asked and never answered: {ledger.unanswered.total()} ({_listed(ledger.unanswered)})"]
        lines += [f"events seen: {ledger.events}; watches resumed: {self._load.resumed}, expired: {self._load.expired}"]
        lines += [f"slowest start: {self._slowest:.2f} s; the file: {size / 2**20:.1f} MiB"]
        return "\n".join(lines)


def _listed(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items()))


def main() -> None:
    """Kill as many servers as the command line says; exits with 1 if something was lost."""
    parser = argparse.ArgumentParser(prog="python -m soak.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=500, help="how many servers are killed under load (default 500)")
    parser.add_argument("--seed", type=int, default=None, help="of the load and the moments; by chance if not given")
    told = parser.parse_args()
    seed = told.seed if told.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"killing {told.kills} servers, --seed {seed}", flush=True)
    began = last = time.monotonic()

    def tell(line: str) -> None:
        nonlocal last
        if time.monotonic() - last >= 5:
            last = time.monotonic()
            print(f"{last - began:4.0f} s: {line}", flush=True)

    with tempfile.TemporaryDirectory(prefix="kubewright-soak-") as folder, Nursery(Path(folder)) as nursery:
        kills = Kills(nursery, seed)
        asyncio.run(kills.run(told.kills, tell))
        print(f"{kills.figures}\n{time.monotonic() - began:.0f} s in all", flush=True)


if __name__ == "__main__":
    main()

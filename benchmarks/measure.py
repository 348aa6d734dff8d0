"""What a piece of code costs its own process: CPU, wall time, memory.

It imports next to nothing (not even typing), for it is there before an import is measured.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any, TypeAlias

    Contender: TypeAlias = Callable[["Meter"], int | Coroutine[Any, Any, int]]

__all__ = ["Meter", "run"]


class Meter:
    """Measures what runs inside ``with meter:``; ``size`` says how much is to be done there."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.figures: dict[str, float] = {}

    def __enter__(self) -> None:
        self._memory = _memory("VmRSS")
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        self.figures = {"cpu": cpu, "wall": wall, "memory": _memory("VmHWM") - self._memory}


def _memory(field: str) -> int:
    """Bytes of memory now (``VmRSS``) or at most so far (``VmHWM``), by Linux's account of this process alone."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field))


def run(contenders: dict[str, Contender], name: str, size: int) -> None:
    """Let one contender do its work and print its figures; it returns how much it did, or a coroutine that does."""
    meter = Meter(size)
    done = contenders[name](meter)
    if not isinstance(done, int):
        import asyncio

        done = asyncio.run(done)
    if done != size:
        sys.exit(f"{name}: did {done} of {size}")
    import json

    print(json.dumps(meter.figures))

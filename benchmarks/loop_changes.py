"""Changes Things at a steady rate: ``python -m benchmarks.loop_changes KUBECONFIG THINGS RATE``.

It goes on until its standard input ends, then prints how many changes a second it made.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import count
from pathlib import Path

from benchmarks.loop_cluster import THINGS, Request, connected

__all__ = ["main"]

_AT_ONCE = 16


async def main(kubeconfig: Path, things: int, rate: float) -> None:
    """Each change is sent when it is due, unless too many are not answered yet."""
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    numbers = count()
    began = time.monotonic()
    async with connected(kubeconfig) as server:

        async def change_each() -> None:
            for number in numbers:
                if ended.done():
                    return
                await asyncio.sleep(began + number / rate - time.monotonic())
                path = f"{THINGS}/noise-{number % things:03}"
                await server.send(Request("PATCH", path, {"spec": {"text": f"noise {number}"}}))

        await asyncio.gather(*(change_each() for _ in range(_AT_ONCE)))
    print(next(numbers) / (time.monotonic() - began), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))

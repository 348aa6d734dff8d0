"""What `make demo` shows: the PodSet operator on an API server in this process, scaled, robbed of a pod, and repaired.

Nothing but Python is needed. A person at a terminal sees a live view; anybody else reads plain lines.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kubewright import Client, InProcessTransport, Metadata
from kubewright.cache import Cache, Change
from kubewright.kinds.core_v1 import Pod
from kubewright.kinds.events_v1 import Event
from kubewright.operator import install_crds
from kubewright_apiserver import ApiServer

sys.path.insert(0, str(Path(__file__).parent))
from podset import PodSet, PodSetSpec, operator

PAUSE = 1.2 if sys.stdout.isatty() else 0.0


class View:
    """What is shown: the set, its pods, and what happened."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._begun = time.monotonic()
        self._lines: list[str] = []
        self._is_live = sys.stdout.isatty()

    def say(self, text: str) -> None:
        """Tell what happens; a live view is drawn anew, a plain one gets a line more."""
        stamp = f"{(time.monotonic() - self._begun) * 1000:7.1f} ms"
        self._lines.append(f"{stamp}  {text}")
        if not self._is_live:
            print(self._lines[-1])
        self.draw()

    def draw(self) -> None:
        """Draw the live view."""
        if not self._is_live:
            return
        sets = self._cache.list(PodSet)
        pods = self._cache.list(Pod)
        rows = ["\x1b[2J\x1b[H\x1b[1mPodSet on an API server in this process\x1b[0m", ""]
        for found in sets:
            names = found.status.nodes if found.status else []
            rows.append(f"  \x1b[36m{found.name}\x1b[0m  wanted {found.spec.size}  found {len(names)}")
            rows += [f"    {'✗' if pod.metadata.deletion_timestamp else '●'} {pod.name}" for pod in pods]
        rows += ["", *self._lines[-12:], ""]
        print("\n".join(rows), flush=True)

    def see(self, change: Change[Pod]) -> None:
        """A pod came or went."""
        if change.type != "updated":
            self.say(f"    pod {change.key.name} {change.type}")


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Client, View]]:
    """The server with the operator on it, a client of ours, and the view."""
    async with ApiServer(listens=False) as server:
        ours = Client(transport=InProcessTransport(server.handle))
        theirs = Client(transport=InProcessTransport(server.handle))
        async with ours, theirs:
            await install_crds(ours, operator)
            cache = Cache(ours)
            cache.watch(PodSet)
            pods = cache.watch(Pod)
            async with cache, operator.running(theirs) as running:
                await running.wait_ready()
                await cache.wait_synced()
                view = View(cache)
                pods.add_handler(view.see)
                yield ours, view


async def settled(client: Client, size: int) -> PodSet:
    """The set once it tells that many pods."""
    found = await client.wait_until(PodSet, "sample", lambda s: s.status is not None and len(s.status.nodes) == size)
    await asyncio.sleep(PAUSE)
    return found


async def scale(client: Client, view: View, size: int) -> PodSet:
    """Want another size, and wait until it is so."""
    view.say(f"kubectl patch podset sample: size {size}")
    await client.modify(PodSet, "sample", lambda podset: setattr(podset.spec, "size", size))
    return await settled(client, size)


async def main() -> None:
    """Scale up, lose a pod, scale down."""
    begun = time.perf_counter()
    async with cluster() as (client, view):
        view.say(f"server, CRD and operator are ready after {(time.perf_counter() - begun) * 1000:.0f} ms")
        view.say("kubectl apply: PodSet sample, size 3")
        await client.create(PodSet(metadata=Metadata(name="sample"), spec=PodSetSpec(size=3)))
        three = await settled(client, 3)
        await scale(client, view, 5)
        victim = three.status.nodes[0] if three.status else ""
        view.say(f"kubectl delete pod {victim}")
        await client.delete(Pod, victim)
        await client.wait_until(
            PodSet,
            "sample",
            lambda s: s.status is not None and len(s.status.nodes) == 5 and victim not in s.status.nodes,
        )
        await asyncio.sleep(PAUSE)
        await scale(client, view, 1)
        events = [event async for event in client.list(Event)]
        view.say(f"the operator told {len(events)} Events: {', '.join(sorted({e.reason or '' for e in events}))}")
        view.say("done: `kubewright run podset:operator --embedded` in examples/podset runs it for kubectl")


if __name__ == "__main__":
    asyncio.run(main())

"""What `make demo` shows: the PodSet operator on a cluster in this process: API server, control loops, two nodes.

A set is created, scaled from 0 to 3 and to 1, robbed of a pod, repaired, and deleted. Nothing but Python is needed. A
person at a terminal sees a live view; anybody else reads plain lines.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from kubewright import Client, InProcessTransport, Metadata
from kubewright.cache import Cache, Change
from kubewright.controlplane import control_plane
from kubewright.kinds.core_v1 import Node, Pod
from kubewright.kinds.events_v1 import Event
from kubewright.operator import install_crds
from kubewright_apiserver import ApiServer

sys.path.insert(0, str(Path(__file__).parent))
from podset import PodSet, PodSetSpec, operator

PAUSE = 1.2 if sys.stdout.isatty() else 0.0
NODES = 2
SIGNS = {"Running": "\x1b[32m●\x1b[0m", "Pending": "\x1b[33m○\x1b[0m"}


class View:
    """What is shown: the set, its pods, and what happened."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._begun = time.monotonic()
        self._lines: list[str] = []
        self._seen: dict[str, str] = {}
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
        rows = ["\x1b[2J\x1b[H\x1b[1mPodSet on a cluster in this process\x1b[0m", ""]
        for found in self._cache.list(PodSet):
            told = found.status.progress if found.status else ""
            rows.append(f"  \x1b[36m{found.name}\x1b[0m  wanted {found.spec.size}  {told}")
        for pod in self._cache.list(Pod):
            ended = pod.metadata.deletion_timestamp is not None
            sign = "\x1b[31m✗\x1b[0m" if ended else SIGNS.get(pod.status.phase or "", "?")
            rows.append(f"    {sign} {pod.name}  {pod.spec.node_name or ''}")
        rows += ["", *self._lines[-14:], ""]
        print("\n".join(rows), flush=True)

    def see(self, change: Change[Pod]) -> None:
        """A pod came, runs, or went."""
        pod = change.object
        state = "gone" if change.type == "deleted" else (pod.status.phase or "")
        if self._seen.get(pod.name) != state:
            self._seen[pod.name] = state
            self.say(f"    pod {pod.name} {state}{f' on {pod.spec.node_name}' if state == 'Running' else ''}")


@asynccontextmanager
async def cluster() -> AsyncIterator[tuple[Client, View]]:
    """The cluster with the operator on it, a client of ours, and the view."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer(listens=False))

        async def client() -> Client:
            return await stack.enter_async_context(Client(transport=InProcessTransport(server.handle)))

        ours = await client()
        await stack.enter_async_context(control_plane(nodes=NODES).running(await client()))
        await install_crds(ours, operator)
        for number in range(NODES):
            await ours.wait_until(Node, f"node-{number + 1}", lambda node: not node.spec.taints)
        running = await stack.enter_async_context(operator.running(await client()))
        cache = Cache(ours)
        cache.watch(PodSet)
        view = View(cache)
        cache.watch(Pod).add_handler(view.see)
        await stack.enter_async_context(cache)
        await running.wait_ready()
        await cache.wait_synced()
        yield ours, view


async def settled(client: Client, size: int, without: str = "") -> list[str]:
    """The names of the pods, once there are so many, all are ready, and one is not among them."""

    def is_settled(podset: PodSet) -> bool:
        status = podset.status
        return (
            status is not None and status.is_true("Ready") and len(status.nodes) == size and without not in status.nodes
        )

    found = await client.wait_until(PodSet, "sample", is_settled)
    await asyncio.sleep(PAUSE)
    return found.status.nodes if found.status else []


async def scale(client: Client, view: View, size: int) -> list[str]:
    """Want another size, and wait until it is so."""
    view.say(f"kubectl scale podset sample --replicas={size}")
    await client.set_scale(PodSet, "sample", size)
    return await settled(client, size)


async def main() -> None:
    """Create, scale up, lose a pod, scale down, delete."""
    begun = time.perf_counter()
    async with cluster() as (client, view):
        view.say(f"API server, control loops, {NODES} nodes and the operator after {time.perf_counter() - begun:.1f} s")
        view.say("kubectl apply: PodSet sample, size 0")
        await client.create(PodSet(metadata=Metadata(name="sample"), spec=PodSetSpec(size=0)))
        await settled(client, 0)
        victim = (await scale(client, view, 3))[0]
        view.say(f"kubectl delete pod {victim}")
        await client.delete(Pod, victim)
        await settled(client, 3, without=victim)
        (last,) = await scale(client, view, 1)
        view.say("kubectl delete podset sample")
        await client.delete(PodSet, "sample")
        await client.wait_gone(Pod, last)
        events = [event async for event in client.list(Event) if event.regarding.kind == "PodSet"]
        view.say(f"the operator told {len(events)} Events: {', '.join(sorted({e.reason or '' for e in events}))}")
        view.say("done; examples/podset/README.md has the same for kubectl")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    asyncio.run(main())

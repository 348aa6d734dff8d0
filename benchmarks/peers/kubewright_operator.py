"""The contestant of the loop's benchmarks that is ours: ``kubewright_operator.py [--uvloop] MODE …``.

The modes are ``informer PODS UPDATES``, ``reconcile THINGS`` and ``latency``. It tells what it does as lines of JSON,
with the monotonic clock and its own CPU time in nanoseconds.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING

from kubewright import Background, Context, Controller, Metadata, Model, Operator, Resource
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Pod
from kubewright.operator.settings import Settings

if TYPE_CHECKING:
    from kubewright.cache import Change
    from kubewright.cluster import Cluster

WORKERS = 8


def tell(what: str, text: str = "") -> None:
    """One line."""
    line = {"what": what, "at": time.monotonic_ns(), "cpu": time.process_time_ns(), "text": text}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class ThingSpec(Model):
    text: str


class ThingStatus(Model):
    text: str = ""


class Thing(Resource, group="loop.example.com", version="v1"):
    spec: ThingSpec
    status: ThingStatus | None = None


class Reconciler:
    """Keeps a ConfigMap for each Thing; tells when it began and when it is through with so many Things."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._done: set[str] = set()
        self._has_begun = False

    async def reconcile(self, thing: Thing, ctx: Context) -> None:
        """State what is wanted."""
        if not self._has_begun:
            self._has_begun = True
            tell("first")
        await ctx.apply(ConfigMap(metadata=Metadata(name=thing.name), data={"text": thing.spec.text}))
        thing.status = ThingStatus(text=thing.spec.text)
        if thing.name not in self._done:
            self._done.add(thing.name)
            if len(self._done) == self._wanted:
                tell("all")


async def mark(thing: Thing, ctx: Context) -> None:
    """Only tell that a Thing was seen, and with which text."""
    tell("entered", thing.spec.text)


class Pods:
    """Has all pods in the operator's cache; tells when it has them and when it saw so many updates."""

    def __init__(self, updates: int) -> None:
        self._updates = updates
        self._seen = 0

    async def watch(self, cluster: Cluster) -> None:
        """As long as the operator runs."""
        # Imports, discovery and the first connection are not what is asked.
        await cluster.client.get(Namespace, "default")
        tell("starting")
        informer = cluster.cache.watch(Pod)
        informer.add_handler(self._changed)
        await informer.wait_synced()
        tell("synced")
        await asyncio.get_running_loop().create_future()

    def _changed(self, change: Change[Pod]) -> None:
        if change.type == "updated" and change.head.key.name:
            self._seen += 1
            if self._seen == self._updates:
                tell("updated")


def main(words: list[str]) -> None:
    """Run until terminated, as any operator: with logs, metrics and all."""
    settings = Settings(uvloop=words[0] == "--uvloop")
    words = words[1:] if settings.uvloop else words
    if words[0] == "informer":
        operator = Operator("loop", [], background=[Background(Pods(int(words[2])).watch)])
    elif words[0] == "reconcile":
        reconciler = Reconciler(int(words[1]))
        operator = Operator("loop", [Controller(Thing, reconciler.reconcile, owns=[ConfigMap], workers=WORKERS)])
    else:
        operator = Operator("loop", [Controller(Thing, mark, owns=[ConfigMap], workers=WORKERS)])
    operator.run(settings)


if __name__ == "__main__":
    main(sys.argv[1:])

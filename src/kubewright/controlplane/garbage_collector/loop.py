"""The garbage collector as a loop."""

from __future__ import annotations

from datetime import timedelta

from kubewright.cluster import Cluster
from kubewright.controlplane.garbage_collector.collector import GarbageCollector
from kubewright.controlplane.loop import Loop
from kubewright.operator import Background

__all__ = ["garbage_collector_loop"]


def garbage_collector_loop(
    *,
    workers: int = 20,
    discover_every: timedelta = timedelta(seconds=30),
    patience: timedelta = timedelta(seconds=30),
) -> Loop:
    """Deletes objects with their owners: in the background, before them (foreground) or not at all (orphan).

    ``discover_every`` is how often, at least, it is asked which kinds there are; changes of CRDs are followed at once.
    ``patience`` is how long, at most, the beginning waits until all objects have been seen.
    """

    collecting = _Collecting(workers, discover_every.total_seconds(), patience.total_seconds())
    return Loop("garbage-collector", background=[Background(collecting.collect_garbage, activity=collecting)])


class _Collecting:
    """One garbage collector after another, if one fails."""

    def __init__(self, workers: int, discover_every: float, patience: float) -> None:
        self._workers = workers
        self._discover_every = discover_every
        self._patience = patience
        self._now: GarbageCollector | None = None

    @property
    def is_busy(self) -> bool:
        """Whether it looks at something, or has not seen all objects yet."""
        return self._now is None or self._now.is_busy

    @property
    def rounds(self) -> int:
        """How many objects it has looked at."""
        return self._now.rounds if self._now is not None else 0

    async def collect_garbage(self, cluster: Cluster) -> None:
        """Collect garbage until cancelled."""
        self._now = GarbageCollector(cluster)
        await self._now.run(workers=self._workers, discover_every=self._discover_every, patience=self._patience)

"""A running controller: informers feed its queue, workers empty it.

On the path of one change it stands between the informers and the queue: predicate, mapping, echo of own writes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any, Generic, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache import Change, Handler
from kubewright.cluster import Cluster
from kubewright.controller.controller import Controller
from kubewright.controller.mapping import Watch, keys_of_change, owners_of, trackers_of
from kubewright.controller.own_writes import OwnWrites, tokens_of
from kubewright.controller.predicate import Predicate
from kubewright.controller.source import Source
from kubewright.controller.strays import noting_strays
from kubewright.controller.surroundings import Surroundings
from kubewright.controller.worker import Worker
from kubewright.queue import LOW, Queue

__all__ = ["RunningController"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.controller")

_ECHO_LIFETIME = 60.0
_STUBBORN_AFTER = 5.0
_LONGEST_CONFLICT = 30.0


class RunningController(Generic[R]):
    """One controller on one cluster.

    ``open`` names its kinds to the cache and collects keys (a standby does no more); ``working`` empties the queue
    as long as its block lasts, and lets reconciles that run end within ``grace`` when it is left.
    """

    def __init__(self, controller: Controller[R], cluster: Cluster) -> None:
        self.controller: Controller[R] = controller
        self._cluster = cluster
        self.queue: Queue[Key] = Queue(
            controller.name, backoff=controller.backoff, metrics=cluster.metrics, dice=cluster.dice
        )
        self._surroundings = Surroundings(controller, cluster, self._wake_when_newer)
        self._handlers: list[Handler[Any]] = []
        self._echoes: dict[Key, tuple[float, OwnWrites]] = {}
        self._behind: dict[Key, tuple[str, asyncio.TimerHandle]] = {}
        self._conflicts: dict[Key, int] = {}
        self._workers: list[asyncio.Task[None]] = []

    def open(self) -> None:
        """Have all kinds cached, and collect the keys that their changes are about."""
        cache, controller = self._cluster.cache, self.controller
        for kind in controller.kinds:
            cache.ensure(kind)
        self._listen(controller.kind, lambda change: [change.key], controller.predicates, self._see_primary)
        for child in controller.owns:
            self._listen(child, lambda change: owners_of(change, controller.kind), (), self._see_child)
        for child in controller.tracks:
            self._listen(child, lambda change: trackers_of(change, controller.kind), (), self._see_child)
        for watch in controller.watches:
            self._listen(watch.kind, self._mapping(watch), (watch.predicate,) if watch.predicate else ())

    @property
    def is_busy(self) -> bool:
        """Whether a key is being processed, or could be."""
        return bool(len(self.queue) or self.queue.statistics().processing)

    @property
    def rounds(self) -> int:
        """How many keys it has taken up so far."""
        return self._surroundings.rounds

    def close(self) -> None:
        """Collect no more keys, and forget those that wait."""
        for handler in self._handlers:
            handler.remove()
        self._handlers.clear()
        for key in list(self._behind):
            self._forget_conflict(key)
        self.queue.close(drain=False)

    def _mapping(self, watch: Watch[Any]) -> Callable[[Change[Any]], Iterable[Key]]:
        return lambda change: keys_of_change(change, watch.mapping, self._cluster.cache)

    def _listen(
        self,
        kind: type[Resource],
        keys: Callable[[Change[Any]], Iterable[Key]],
        predicates: tuple[Predicate, ...],
        see: Callable[[Change[Any]], None] | None = None,
    ) -> None:
        def on_change(change: Change[Any]) -> None:
            if see is not None:
                see(change)
            try:
                is_worth_it = all(predicate(change) for predicate in predicates)
            except Exception:
                # One reconcile too many is better than one too few; the informer logs and counts it.
                self._add(change, keys(change))
                raise
            if is_worth_it:
                self._add(change, keys(change))

        self._handlers.append(self._cluster.cache.informer(kind).add_handler(on_change))

    def _see_primary(self, change: Change[Any]) -> None:
        """A key whose write met a conflict runs as soon as the cache has moved on, whatever the predicates say."""
        behind = self._behind.get(change.key)
        if behind is not None and change.cause != "resync" and change.revisions[-1:] != (behind[0],):
            self._run_again(change.key)
        if change.type == "deleted" and change.old_head is not None:
            self.queue.forget(change.key)
            self._surroundings.gone(change.key, change.old_head.uid)

    def _see_child(self, change: Change[Any]) -> None:
        if change.type == "deleted" or change.cause == "relist":
            self._surroundings.applier.forget(change.kind, change.key)

    def _add(self, change: Change[Any], keys: Iterable[Key]) -> None:
        if change.cause == "live":
            reason, tokens = self._reason(change), tokens_of(change)
            for key in keys:
                if not self._is_echo(key, change):
                    for token in tokens:
                        self.queue.add(key, reason=reason, token=token)
            return
        priority = 0 if change.cause == "relist" else LOW
        for key in keys:
            if change.cause == "relist":
                # What a list shows may hide others' changes below our own, or be another history with the same numbers.
                self._echoes.pop(key, None)
            self.queue.add(key, reason=self._reason(change), priority=priority)

    def _reason(self, change: Change[Any]) -> str:
        if change.cause == "resync":
            return "resync"
        what = "initial list" if change.cause == "initial" else change.type
        return what if change.kind is self.controller.kind else f"{change.kind.__name__} {change.key} {what}"

    def _is_echo(self, key: Key, change: Change[Any]) -> bool:
        remembered = self._echoes.get(key)
        return remembered is not None and remembered[1].covers(change)

    def _remember(self, key: Key, writes: OwnWrites) -> None:
        """Keep what a reconcile wrote until its echo must have come."""
        now = asyncio.get_running_loop().time()
        if key not in self._behind:
            self._conflicts.pop(key, None)
        self._echoes.pop(key, None)
        if writes.tokens:
            self._echoes[key] = (now, writes)
        while self._echoes:
            oldest = next(iter(self._echoes))
            if now - self._echoes[oldest][0] < _ECHO_LIFETIME:
                break
            del self._echoes[oldest]

    def _wake_when_newer(self, key: Key, read: str, latest: timedelta) -> None:
        head = self._cluster.cache.informer(self.controller.kind).head(key)
        if head is None or head.resource_version != read:
            self.queue.add(key, reason="the cache has caught up after a conflict")
            return
        self._forget_conflict(key)
        if self._handlers:
            in_a_row = self._conflicts[key] = self._conflicts.get(key, 0) + 1
            wait = min(latest.total_seconds() * 2.0 ** min(in_a_row - 1, 16), _LONGEST_CONFLICT)
            timer = asyncio.get_running_loop().call_later(wait, self._run_again, key)
            self._behind[key] = (read, timer)

    def _forget_conflict(self, key: Key) -> bool:
        behind = self._behind.pop(key, None)
        if behind is not None:
            behind[1].cancel()
        return behind is not None

    def _run_again(self, key: Key) -> None:
        if self._forget_conflict(key):
            self.queue.add(key, reason="the cache has caught up after a conflict")

    def wake(self, key: Key, *, reason: str) -> None:
        """Ask for a reconcile of a key."""
        self.queue.add(key, reason=reason)

    @asynccontextmanager
    async def working(self, *, grace: timedelta = timedelta(seconds=30)) -> AsyncIterator[None]:
        """Reconcile inside the block; at its end finish what runs, cancel what is not done within ``grace``."""
        await self._cluster.cache.wait_synced(*self.controller.kinds)
        async with AsyncExitStack() as stack:
            stack.enter_context(noting_strays())
            stack.push_async_callback(self._surroundings.aclose)
            self._workers = [
                asyncio.create_task(self._worker().run(), name=f"{self.controller.name} worker {number}")
                for number in range(self.controller.workers)
            ]
            stack.push_async_callback(self._drain, self._workers, grace)
            sources = [
                asyncio.create_task(self._keep(source), name=f"{self.controller.name} source {number}")
                for number, source in enumerate(self.controller.sources)
            ]
            stack.push_async_callback(_cancel, sources)
            stack.callback(self.close)
            yield

    def hurry(self) -> None:
        """Cancel what runs, whatever is left of the grace."""
        for worker in self._workers:
            worker.cancel()

    def _worker(self) -> Worker[R]:
        return Worker(self.controller, self._surroundings, self.queue, self._remember)

    async def _drain(self, workers: list[asyncio.Task[None]], grace: timedelta) -> None:
        try:
            await asyncio.wait(workers, timeout=grace.total_seconds())
        finally:
            late = [worker for worker in workers if not worker.done()]
            for worker in late:
                _log.warning("%s did not end within %s and is cancelled", worker.get_name(), grace)
                worker.cancel()
            if late:
                await asyncio.wait(late, timeout=_STUBBORN_AFTER)
            for worker in late:
                _tell_if_stubborn(worker)
        for worker in workers:
            if worker not in late and not worker.cancelled():
                worker.result()

    async def _keep(self, source: Source) -> None:
        failures = 0
        while True:
            try:
                await source.run(self.wake, self._cluster.cache)
                _log.warning("source %s ended; it is begun again", type(source).__name__)
            except Exception:
                _log.exception("source %s failed; it is begun again", type(source).__name__)
            failures += 1
            wait = self.controller.backoff.delay(failures, self._cluster.dice)
            await asyncio.sleep(wait.total_seconds())


def _tell_if_stubborn(worker: asyncio.Task[None]) -> None:
    if worker.done():
        return
    lines = [f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" for frame in worker.get_stack()]
    place = "; ".join(lines) or "an unknown place"
    _log.error("%s does not end although it was cancelled, and is left behind at %s", worker.get_name(), place)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

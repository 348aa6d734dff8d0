"""The worker: takes a key, reads its object, leads it through the steps, and tells the outcome.

On the path of one change it stands between the queue and the user's reconcile. Steps: fetch; clean up if it is being
deleted; else validate, hold (finalizer) and initialise in one write, reconcile; then the status.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar

from kubewright.api import Key, Resource, base_of, decode
from kubewright.controller.context import Context
from kubewright.controller.controller import Controller
from kubewright.controller.finalizer import has_finalizer, with_finalizer, without_finalizer
from kubewright.controller.log import LoggingFor
from kubewright.controller.measures import Measures
from kubewright.controller.outcome import InvalidObject, TimedOut, decisive, failure_of, is_absence
from kubewright.controller.own_writes import OwnWrites, WritingFor
from kubewright.controller.standing import Failure, Standing, wait_text
from kubewright.controller.strays import CancellingStrays
from kubewright.controller.surroundings import Surroundings
from kubewright.controller.writing import StatusWriter, status_of
from kubewright.deadline import TimeLimit
from kubewright.errors import ApplyConflict, Conflict, KubewrightError, LeadershipLost, NotFound, Undecodable
from kubewright.queue import Queue, QueueClosed, Work

__all__ = ["Worker"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.controller")

_CONFLICT_WAIT = timedelta(seconds=1)


class _Round(Generic[R]):
    """One reconcile of one object: what was handed out, and what it is compared with."""

    __slots__ = ("before", "ctx", "obj", "writes")

    def __init__(self, obj: R, ctx: Context) -> None:
        self.ctx = ctx
        self.writes = OwnWrites()
        self.take(obj)

    def take(self, obj: R) -> None:
        self.obj = obj
        base = base_of(obj)
        assert base is not None
        self.before: R = decode(type(obj), base)


class Worker(Generic[R]):
    """Processes keys of one controller; several share one queue."""

    def __init__(
        self,
        controller: Controller[R],
        surroundings: Surroundings,
        queue: Queue[Key],
        remember: Callable[[Key, OwnWrites], None],
    ) -> None:
        self._controller = controller
        self._around = surroundings
        self._queue = queue
        self._remember = remember
        self._informer = surroundings.cluster.cache.informer(controller.kind)
        self._standing = Standing(controller.kind, controller.ready_condition)
        self._status = StatusWriter(surroundings.client, replaces=controller.replaces_status)
        self._measures = Measures(surroundings.cluster.metrics, controller)

    async def run(self) -> None:
        """Process keys until the queue is closed and empty."""
        limit = TimeLimit(self._controller.timeout)
        try:
            await self._run(limit)
        finally:
            limit.close()

    async def _run(self, limit: TimeLimit) -> None:
        while True:
            try:
                work = await self._queue.get()
            except QueueClosed:
                return
            writes = OwnWrites()
            self._measures.begin()
            try:
                writes = await self._process(work, limit)
            except Exception:
                # Only what the outcome itself breaks, such as a status that is none; the worker must outlive it.
                delay = self._queue.retry(work.key, reason="ReconcileFailed")
                _log.exception("%s: the outcome of its reconcile failed; again in %s", work.key, wait_text(delay))
            finally:
                self._measures.end()
                self._remember(work.key, writes)
                self._queue.done(work.key, settled=writes.tokens)

    async def _process(self, work: Work[Key], limit: TimeLimit) -> OwnWrites:
        fields = self._around.log_fields(work.key)
        with LoggingFor(fields):
            try:
                await self._around.cluster.cache.settle()
                obj = self._informer.get(work.key)
            except Undecodable as error:
                self._tell_undecodable(work.key, error)
                return OwnWrites()
            except KubewrightError as error:
                delay = self._queue.retry(work.key, reason="the cache could not be settled")
                _log.warning("%s: %s; again in %s", work.key, error, wait_text(delay))
                return OwnWrites()
            if obj is None:
                self._gone(work.key)
                return OwnWrites()
            if self._controller.daemons and obj.metadata.deletion_timestamp is None:
                self._around.daemons.begin(obj, lambda: self._around.context(obj), fields)
            return await self._reconcile(_Round(obj, self._around.context(obj, work)), work, limit)

    async def _reconcile(self, round: _Round[R], work: Work[Key], limit: TimeLimit) -> OwnWrites:
        _log.debug("reconciling because: %s", "; ".join(work.reasons))
        with WritingFor(round.writes), self._measures.timed() as measured:
            try:
                async with CancellingStrays():
                    after = await self._limited(round, limit)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is not None and task.cancelling():
                    raise
                failure = Failure("ReconcileFailed", "CancelledError: what the reconcile awaited was cancelled")
                measured.result = await self._failed(round, work, failure)
            except Exception as error:
                measured.result = await self._raised(round, work, decisive(error))
            else:
                measured.result = await self._succeeded(round, work, after)
        return round.writes

    async def _limited(self, round: _Round[R], limit: TimeLimit) -> timedelta | None:
        try:
            with limit:
                after = await self._steps(round)
        except TimeoutError:
            if not limit.has_expired:
                raise
            raise TimedOut(f"not done within {self._controller.timeout}") from None
        if after is not None and (not isinstance(after, timedelta) or after <= timedelta(0)):
            raise TypeError(f"reconcile returned {after!r}; return None (settled) or a positive timedelta (look again)")
        return after

    async def _steps(self, round: _Round[R]) -> timedelta | None:
        controller, obj = self._controller, round.obj
        if obj.metadata.deletion_timestamp is not None:
            return await self._clean_up(round)
        if controller.validate is not None and (problem := controller.validate(obj)):
            raise InvalidObject(problem)
        await self._prepare(round)
        return await controller.reconcile(round.obj, round.ctx)

    async def _prepare(self, round: _Round[R]) -> None:
        """Hold and initialise the object, in one write; let go what an older version of the controller held."""
        controller, obj, finalizer = self._controller, round.obj, self._around.finalizer
        if controller.cleanup is not None:
            with_finalizer(obj, finalizer)
        elif has_finalizer(obj, finalizer):
            without_finalizer(obj, finalizer)
        elif controller.initialize is None:
            return
        if controller.initialize is not None:
            controller.initialize(obj)
        if obj != round.before:
            round.take(await self._around.client.update(obj))

    async def _clean_up(self, round: _Round[R]) -> timedelta | None:
        obj, finalizer = round.obj, self._around.finalizer
        self._around.daemons.end(obj.key, obj.metadata.uid)
        if not has_finalizer(obj, finalizer):
            return None if self._controller.deleting is None else await self._controller.deleting(obj, round.ctx)
        if self._controller.cleanup is not None:
            after = await self._controller.cleanup(obj, round.ctx)
            if after is not None:
                return after
        round.take(decode(type(obj), base_of(obj) or b""))
        without_finalizer(round.obj, finalizer)
        try:
            round.take(await self._around.client.update(round.obj))
        except NotFound:
            round.take(decode(type(obj), base_of(obj) or b""))
        return None

    async def _succeeded(self, round: _Round[R], work: Work[Key], after: timedelta | None) -> str:
        obj = round.obj
        if obj.metadata.deletion_timestamp is None:
            was = status_of(round.before)
            if self._standing.succeeded(obj, obj.metadata.generation or None, was=was):
                _log.info("reconciles again after it had failed")
                round.ctx.event("Normal", "Reconciled", "reconciles again")
        try:
            await self._status.write(obj, round.before, round.writes)
        except Exception as error:
            return await self._raised(round, work, error, write=False)
        self._queue.forget(work.key)
        if after is None:
            self._queue.cancel_timer(work.key)
            return "success"
        self._queue.add_after(work.key, after, reason="look again")
        return "requeue_after"

    def _conflicted(self, round: _Round[R], work: Work[Key], error: Conflict) -> str:
        _log.debug("%s: %s; again when the cache has caught up", work.key, error)
        self._around.wake_when_newer(work.key, round.before.metadata.resource_version, _CONFLICT_WAIT)
        return "requeue"

    def _vanished(self, work: Work[Key], error: Exception) -> str:
        """Nobody needs to be told of a failure; the cache learns of the deletion in a moment, and ends it."""
        _log.debug("%s: %s; deleted while it was being reconciled", work.key, error)
        self._queue.retry(work.key, reason="deleted while it was being reconciled")
        return "requeue"

    def _deposed(self, work: Work[Key], error: LeadershipLost) -> str:
        """Nothing is written any more; should the Lease be renewed after all, the key must not be forgotten."""
        _log.info("%s: %s", work.key, error)
        self._queue.retry(work.key, reason="leadership was in doubt")
        return "leadership_lost"

    async def _raised(self, round: _Round[R], work: Work[Key], error: Exception, *, write: bool = True) -> str:
        if isinstance(error, LeadershipLost):
            return self._deposed(work, error)
        if isinstance(error, Conflict) and not isinstance(error, ApplyConflict):
            return self._conflicted(round, work, error)
        if is_absence(error, round.obj):
            return self._vanished(work, error)
        return await self._failed(round, work, failure_of(error), error=error, write=write)

    async def _failed(
        self, round: _Round[R], work: Work[Key], failure: Failure, *, error: Exception | None = None, write: bool = True
    ) -> str:
        retry = None
        if failure.terminal:
            self._queue.forget(work.key)
            self._queue.cancel_timer(work.key)
        else:
            retry = self._queue.retry(work.key, reason=failure.reason)
        _log.error("reconcile failed: %s", failure.text(retry), exc_info=None if failure.terminal else error)
        obj = round.obj
        was = status_of(round.before)
        news = self._standing.failed(obj, failure, obj.metadata.generation or None, retry, was=was)
        is_told = self._controller.ready_condition is not None
        if news or (is_told and not self._standing.is_kept and work.attempt == 0):
            round.ctx.event("Warning", failure.reason, failure.message)
        if write:
            await self._write_quietly(round)
        return _RESULTS.get(failure.reason, "error")

    async def _write_quietly(self, round: _Round[R]) -> None:
        """Write the status of a failed reconcile; its own failure must not hide the first."""
        try:
            await self._status.write(round.obj, round.before, round.writes)
        except Conflict:
            _log.debug('%s "%s" changed meanwhile; its status is written next time', round.obj.kind, round.obj.key)
        except Exception as error:
            _log.warning('the status of %s "%s" was not written: %s', round.obj.kind, round.obj.key, error)

    def _gone(self, key: Key) -> None:
        self._queue.forget(key)
        self._queue.cancel_timer(key)

    def _tell_undecodable(self, key: Key, error: Undecodable) -> None:
        """The informer has told it in the log; metric and Event are the controller's."""
        self._queue.forget(key)
        _log.debug("not reconciled until it changes: %s", error)
        if self._around.tell_undecodable(key, error):
            self._measures.undecodable()


_RESULTS: dict[str, str] = {"ReconcileTimedOut": "timeout", "ReconcileRefused": "terminal", "Invalid": "terminal"}

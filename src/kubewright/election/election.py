"""``Election``: holds a Lease, so that of several replicas one works.

**A Lease does not fence**: nothing stops a replica that was paused from finishing what it began. So the guarantee is
about beginnings: no write *starts* later than ``renew_deadline`` after the last renewal began, by this replica's own
monotonic clock, and no write may take longer than ``duration - renew_deadline``. Others take over only when *they* have
seen the Lease unchanged for its whole duration. A write that is in flight then is harmless by its resourceVersion, or
because doing it twice does no more than once.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kubewright.api import Metadata, MicroTime
from kubewright.client import Client, Request, Response, Send
from kubewright.errors import AlreadyExists, Conflict, KubewrightError, LeadershipLost, NotFound
from kubewright.metrics import Registry

if TYPE_CHECKING:
    from kubewright.kinds.coordination_v1 import Lease

__all__ = ["Election", "LeaseTimes"]

_log = logging.getLogger("kubewright.election")

_READS: Final = frozenset({"get", "list", "watch"})


class LeaseTimes(msgspec.Struct, frozen=True, kw_only=True):
    """How long a Lease holds, and how it is renewed."""

    duration: timedelta = timedelta(seconds=15)
    """After how long without renewal others may take over."""
    renew_deadline: timedelta = timedelta(seconds=10)
    """After how long without renewal the holder itself stops writing."""
    retry_period: timedelta = timedelta(seconds=2)
    """How often the holder renews, and the others look."""

    def __post_init__(self) -> None:
        if not timedelta(0) < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "lease times must be 0 < retry_period < renew_deadline < duration, not "
                f"{self.retry_period}, {self.renew_deadline}, {self.duration}"
            )
        if self.duration < timedelta(seconds=1):
            raise ValueError(f"a Lease's duration is at least one second, not {self.duration}")


class Election:
    """One replica's part in an election.

    >>> await election.lead(work)       # waits until this replica leads; cancels work() when it no longer may

    ``guard`` is an interceptor for the client that works under it: it refuses writes once leadership is in doubt.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        namespace: str,
        identity: str,
        times: LeaseTimes | None = None,
        metrics: Registry | None = None,
        dice: random.Random | None = None,
    ) -> None:
        times = times or LeaseTimes()
        self._client = client.using(timeout=times.renew_deadline / 2)
        self.name: str = name
        self.namespace: str = namespace
        self.identity: str = identity
        self.times: LeaseTimes = times
        self._dice = dice or random.Random()
        self._lease: Lease | None = None
        self._seen_version = ""
        self._seen_at = 0.0
        self._renewed_at: float | None = None
        registry = metrics or Registry()
        status = "leader_election_master_status"
        self._gauge = registry.gauge(status, "Whether this replica leads.", ("name",)).labels(name)
        slow = "leader_election_slowpath_total"
        self._slow = registry.counter(slow, "Tries that needed a read of the Lease.", ("name",)).labels(name)

    @property
    def is_leader(self) -> bool:
        """Whether this replica may begin a write now."""
        if self._renewed_at is None:
            return False
        return asyncio.get_running_loop().time() - self._renewed_at < self.times.renew_deadline.total_seconds()

    @property
    def leader(self) -> str:
        """Who held the Lease when this replica last saw it; empty if nobody."""
        return (self._lease.spec.holder_identity or "") if self._lease is not None else ""

    async def guard(self, request: Request, send: Send) -> Response:
        """An interceptor: a write begins only while this replica leads, and must end before another can."""
        if request.verb in _READS:
            return await send(request)
        if not self.is_leader:
            raise LeadershipLost(
                f"{request.verb} {request.target.split('?')[0]} was not begun: {self.identity} has not renewed Lease "
                f'"{self.namespace}/{self.name}" in time'
            )
        limit = (self.times.duration - self.times.renew_deadline) * 0.9
        if request.timeout is None or request.timeout > limit:
            request.timeout = limit
        return await send(request)

    async def lead(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for leadership, then let ``work`` run for as long as it lasts; give it up when ``work`` has ended.

        If this is cancelled, so is ``work``; the Lease is held until it has ended.

        *Raises* ``LeadershipLost`` after ``work`` was cancelled because the Lease could not be renewed in time.
        """
        await self._acquire()
        worker = asyncio.create_task(work(), name=f"leads by {self.name}")
        holder = asyncio.create_task(self._hold(), name=f"holds lease {self.name}")
        try:
            await asyncio.wait({worker, holder}, return_when=asyncio.FIRST_COMPLETED)
            lost = not worker.done()
            if lost:
                self._step_down()
        finally:
            worker.cancel()
            try:
                await asyncio.gather(worker, return_exceptions=True)
            except asyncio.CancelledError:
                # Told twice, it waits no longer; what work() still tries must not be begun.
                self._step_down()
                raise
            finally:
                holder.cancel()
            await asyncio.gather(holder, return_exceptions=True)
            if self._renewed_at is not None:
                self._step_down()
                await self._release()
        if lost:
            whom = self.leader or "nobody yet"
            raise LeadershipLost(f'{self.identity} lost Lease "{self.namespace}/{self.name}" to {whom}')
        worker.result()

    def _step_down(self) -> None:
        self._renewed_at = None
        self._gauge.set(0)

    async def _acquire(self) -> None:
        told = ""
        while True:
            begun = asyncio.get_running_loop().time()
            if await self._try_once():
                self._renewed_at = begun
                self._gauge.set(1)
                _log.info('%s leads by Lease "%s/%s"', self.identity, self.namespace, self.name)
                return
            if self.leader and self.leader != told:
                told = self.leader
                _log.info('%s stands by: %s leads by Lease "%s/%s"', self.identity, told, self.namespace, self.name)
            await asyncio.sleep(self._period() * self._dice.uniform(1.0, 1.2))

    async def _hold(self) -> None:
        """Renew until that has not succeeded for the deadline, or another holds the Lease."""
        loop = asyncio.get_running_loop()
        deadline = self.times.renew_deadline.total_seconds()
        while True:
            assert self._renewed_at is not None
            remaining = self._renewed_at + deadline - loop.time()
            if remaining <= 0:
                _log.error('%s could not renew Lease "%s/%s" in time', self.identity, self.namespace, self.name)
                return
            await asyncio.sleep(min(self._period(), remaining))
            begun = loop.time()
            remaining = self._renewed_at + deadline - begun
            if remaining <= 0:
                continue
            try:
                async with asyncio.timeout(remaining):
                    renewed = await self._try_once()
            except TimeoutError:
                continue
            if renewed:
                self._renewed_at = begun
            elif self.leader not in ("", self.identity):
                _log.error('Lease "%s/%s" is held by %s now', self.namespace, self.name, self.leader)
                return

    def _period(self) -> float:
        return self.times.retry_period.total_seconds()

    async def _try_once(self) -> bool:
        """Whether the Lease is ours, renewed just now."""
        try:
            if self._lease is None or self.leader != self.identity:
                await self._look()
            if not self._may_take():
                return False
            await self._write()
        except Conflict:
            # Somebody was quicker, or an earlier try of ours took effect without an answer: look before the next.
            self._lease = None
            return False
        except AlreadyExists:
            return False
        except KubewrightError as error:
            _log.warning('Lease "%s/%s": %s', self.namespace, self.name, error)
            self._lease = None
            return False
        return True

    async def _look(self) -> None:
        from kubewright.kinds.coordination_v1 import Lease

        self._slow.inc()
        try:
            self._lease = await self._client.get(Lease, self.name, namespace=self.namespace)
        except NotFound:
            self._lease = None
            return
        self._see(self._lease)

    def _see(self, lease: Lease) -> None:
        """A Lease counts as alive from when this replica saw it change: other clocks are not to be trusted."""
        if lease.metadata.resource_version != self._seen_version:
            self._seen_version = lease.metadata.resource_version
            self._seen_at = asyncio.get_running_loop().time()

    def _may_take(self) -> bool:
        if self._lease is None or self.leader in ("", self.identity):
            return True
        held = self._lease.spec.lease_duration_seconds or self.times.duration.total_seconds()
        return asyncio.get_running_loop().time() - self._seen_at >= held

    async def _write(self) -> None:
        from kubewright.kinds.coordination_v1 import Lease, LeaseSpec

        moment = MicroTime.now()
        seconds = max(1, int(self.times.duration.total_seconds()))
        if self._lease is None:
            spec = LeaseSpec(
                holder_identity=self.identity,
                lease_duration_seconds=seconds,
                acquire_time=moment,
                renew_time=moment,
                lease_transitions=0,
            )
            created = Lease(metadata=Metadata(name=self.name, namespace=self.namespace), spec=spec)
            self._lease = await self._client.create(created)
        else:
            spec = self._lease.spec
            if spec.holder_identity != self.identity:
                spec.holder_identity = self.identity
                spec.acquire_time = moment
                spec.lease_transitions = (spec.lease_transitions or 0) + 1
            spec.renew_time = moment
            spec.lease_duration_seconds = seconds
            self._lease = await self._client.update(self._lease)
        self._see(self._lease)

    async def _release(self) -> None:
        """Let others take over at once."""
        if self._lease is None or self.leader != self.identity:
            return
        self._lease.spec.holder_identity = ""
        self._lease.spec.lease_duration_seconds = 1
        self._lease.spec.renew_time = MicroTime.now()
        try:
            async with asyncio.timeout(self._period()):
                await self._client.update(self._lease)
        except (KubewrightError, TimeoutError) as error:
            _log.warning('Lease "%s/%s" was not released: %s', self.namespace, self.name, error)
        self._lease = None

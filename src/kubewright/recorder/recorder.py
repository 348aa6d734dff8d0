"""``Recorder``: writes Event objects beside the loop, never in its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from kubewright.api import MicroTime, Resource, now
from kubewright.client import Client, MergePatch
from kubewright.errors import AlreadyExists, KubewrightError, NotFound
from kubewright.metrics import Registry
from kubewright.queue import TokenBucket
from kubewright.recorder.series import Series, SeriesBook, Subject

if TYPE_CHECKING:
    from kubewright.kinds.core_v1 import ObjectReference
    from kubewright.kinds.events_v1 import Event

__all__ = ["Recorder"]

_log = logging.getLogger("kubewright.recorder")

_LONGEST_NOTE: Final = 1024
_MOST_WAITING: Final = 1000
_SPAM: Final = TokenBucket(per_second=1 / 300, burst=25)


class Recorder:
    """Tells people what happened to objects, in Events of ``events.k8s.io/v1``, as ``kubectl describe`` shows them.

    >>> async with Recorder(client, component="site-operator") as recorder:
    ...     recorder.event(site, "Normal", "Serving", "serves nginx:1.27")

    *Guarantees*: ``event`` never waits and never raises. The same Event again makes a series with a count; more than
    nine different notes for one reason are combined; 25 Events may be told of one object at once, then one in five
    minutes. What cannot be written is dropped, logged and counted. The API server deletes Events after an hour.
    """

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        instance: str = "",
        metrics: Registry | None = None,
        limit: TokenBucket = _SPAM,
        grace: timedelta = timedelta(seconds=1),
    ) -> None:
        self._client = client
        self._component = component
        self._instance = (instance or component)[:128]
        self._grace = grace.total_seconds()
        self._book = SeriesBook(limit=limit)
        self._waiting: dict[int, Series] = {}
        self._filled = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self._last_stamp = 0
        outcomes = (metrics or Registry()).counter(
            "kubewright_recorder_events_total", "Events by what became of them.", ("outcome",)
        )
        self._written = outcomes.labels("written")
        self._dropped = outcomes.labels("dropped")
        self._held_back = outcomes.labels("held_back")

    async def __aenter__(self) -> Recorder:
        self._task = asyncio.create_task(self._write_all(), name="recorder")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what waits, for a short while."""
        assert self._task is not None
        try:
            async with asyncio.timeout(self._grace):
                await self._idle.wait()
        except TimeoutError:
            _log.warning("%d Events were not written before the end", len(self._waiting))
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def event(
        self,
        obj: Resource,
        type: Literal["Normal", "Warning"],
        reason: str,
        message: str,
        *,
        action: str = "Reconcile",
        related: Resource | None = None,
        component: str | None = None,
        field_path: str = "",
    ) -> None:
        """Tell what happened to ``obj``: a CamelCase reason for machines, a message for people.

        ``component`` is who tells it, if not the recorder's own; ``field_path`` the part of the object it is about.
        """
        try:
            about = _reference(related) if related is not None else None
            teller = component or self._component
            reason, action = reason[:128] or "Unknown", action[:128] or "Unknown"
            subject = Subject(_reference(obj), about, type, reason, action, teller, field_path)
            self._note(obj, subject, message)
        except Exception:
            self._dropped.inc()
            _log.exception("an Event was dropped")

    def _note(self, obj: Resource, subject: Subject, message: str) -> None:
        name = f"{obj.name[:230]}.{self._stamp():x}"
        series = self._book.note(subject, _shortened(message), now(), name, obj.namespace or "default")
        if id(series) in self._waiting:
            return
        if len(self._waiting) >= _MOST_WAITING:
            self._dropped.inc()
            return
        if not self._book.may_write(series, asyncio.get_running_loop().time()):
            self._held_back.inc()
            return
        self._waiting[id(series)] = series
        self._idle.clear()
        self._filled.set()

    def _stamp(self) -> int:
        """A number that no Event of this recorder had, as Events are named."""
        self._last_stamp = max(self._last_stamp + 1, int(now().timestamp() * 1_000_000_000))
        return self._last_stamp

    async def _write_all(self) -> None:
        while True:
            await self._filled.wait()
            while self._waiting:
                series = next(iter(self._waiting.values()))
                try:
                    await self._write(series)
                    self._written.inc()
                except KubewrightError as error:
                    self._dropped.inc()
                    _log.warning("an Event about %s was not written: %s", series.subject.regarding[2:4], error)
                except Exception:
                    self._dropped.inc()
                    _log.exception("an Event was not written")
                finally:
                    self._waiting.pop(id(series), None)
            self._filled.clear()
            self._idle.set()

    async def _write(self, series: Series) -> None:
        from kubewright.kinds.events_v1 import Event

        count, last = series.count, str(MicroTime.of(series.last_seen))
        if series.written:
            patch = {"series": {"count": count, "lastObservedTime": last}}
            place: Mapping[str, str] = {"name": series.name, "namespace": series.namespace}
            try:
                await self._client.patch(Event, MergePatch(patch), **place)
                series.written = count
                return
            except NotFound:
                series.name = f"{series.name.rpartition('.')[0]}.{self._stamp():x}"
        await self._create(series, count)
        series.written = count

    async def _create(self, series: Series, count: int) -> None:
        try:
            await self._client.create(self._event_of(series, count))
        except AlreadyExists:
            series.name = f"{series.name.rpartition('.')[0]}.{self._stamp():x}"
            await self._client.create(self._event_of(series, count))

    def _event_of(self, series: Series, count: int) -> Event:
        from kubewright.api import Metadata
        from kubewright.kinds.events_v1 import Event, EventSeries

        subject = series.subject
        repeated = EventSeries(count=count, last_observed_time=MicroTime.of(series.last_seen)) if count > 1 else None
        return Event(
            metadata=Metadata(name=series.name, namespace=series.namespace),
            event_time=MicroTime.of(series.first_seen),
            reporting_controller=subject.component,
            reporting_instance=self._instance if subject.component == self._component else subject.component[:128],
            action=subject.action,
            reason=subject.reason,
            regarding=_object_reference(subject.regarding, subject.field_path),
            related=_object_reference(subject.related) if subject.related is not None else None,
            note=series.note,
            type=subject.type,
            series=repeated,
        )


def _reference(obj: Resource) -> tuple[str, str, str, str, str]:
    return (obj.api_version, obj.kind, obj.namespace, obj.name, obj.metadata.uid)


def _object_reference(fields: tuple[str, str, str, str, str], field_path: str = "") -> ObjectReference:
    from kubewright.kinds.core_v1 import ObjectReference

    api_version, kind, namespace, name, uid = fields
    return ObjectReference(
        api_version=api_version,
        kind=kind,
        namespace=namespace or None,
        name=name,
        uid=uid or None,
        field_path=field_path or None,
    )


def _shortened(note: str) -> str:
    encoded = note.encode()
    if len(encoded) <= _LONGEST_NOTE:
        return note
    return encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "…"

"""When that changed which endpoints follow from: an annotation says it, by which proxies measure how late they are."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kubewright.api import Key, Metadata, Resource
from kubewright.cache import Cache, Change
from kubewright.controller import Wake
from kubewright.kinds.core_v1 import Pod, Service

__all__ = ["TriggerTimes", "annotate"]

_ANNOTATION: Final = "endpoints.kubernetes.io/last-change-trigger-time"


class _Seen(msgspec.Struct):
    uid: str
    pods: dict[str, datetime]


class TriggerTimes:
    """Remembers per Service when its pods last turned ready or unready; a source, so that it forgets with the Service.

    It is kept in memory only, as Kubernetes does: after a restart a Service counts as new.
    """

    def __init__(self) -> None:
        self._seen: dict[Key, _Seen] = {}

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """The kind whose objects it remembers."""
        return (Service,)

    async def run(self, wake: Wake, cache: Cache) -> None:
        """Forget Services that are gone; part of being a source."""
        handler = cache.informer(Service).add_handler(self._see)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            handler.remove()

    def _see(self, change: Change[Any]) -> None:
        if change.type == "deleted":
            self._seen.pop(change.key, None)

    def of(self, service: Service, pods: Sequence[Pod]) -> datetime | None:
        """The earliest change since the last call for this Service; None if there was none."""
        before = self._seen.get(service.key)
        turned = {pod.name: at for pod in pods if (at := _turned(pod)) is not None}
        self._seen[service.key] = _Seen(service.metadata.uid, turned)
        if before is None or before.uid != service.metadata.uid:
            return service.metadata.creation_timestamp
        news = [at for name, at in turned.items() if name not in before.pods or at > before.pods[name]]
        return min(news, default=None)


def _turned(pod: Pod) -> datetime | None:
    ready = next((condition for condition in pod.status.conditions if condition.type == "Ready"), None)
    return ready.last_transition_time if ready is not None else None


def annotate(metadata: Metadata, at: datetime | None) -> None:
    """Tell in an object's annotations when its cause was; None: it has no cause that is worth telling."""
    if at is None:
        metadata.annotations.pop(_ANNOTATION, None)
    else:
        metadata.annotations[_ANNOTATION] = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

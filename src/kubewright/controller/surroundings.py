"""What the workers of one running controller share: client, applier, daemons, background tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from kubewright.api import Key, Metadata, MetadataOnly, Resource
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller.applying import Applier
from kubewright.controller.context import Context
from kubewright.controller.controller import Controller
from kubewright.controller.daemon import Daemons
from kubewright.controller.finalizer import finalizer_name
from kubewright.controller.own_writes import note_own_write, write_for_nobody
from kubewright.controller.strays import outside_round, send_outside_round
from kubewright.errors import Undecodable
from kubewright.queue import Work

__all__ = ["Surroundings"]

_log = logging.getLogger("kubewright.controller")

_NO_WORK: tuple[str, ...] = ()
_MOST_VIEWS = 1000


class Surroundings:
    """Everything around the workers of one controller on one cluster."""

    def __init__(
        self,
        controller: Controller[Any],
        cluster: Cluster,
        wake_when_newer: Callable[[Key, str, timedelta], None],
    ) -> None:
        manager = controller.field_manager or f"{cluster.operator}/{controller.name}"
        self.cluster: Cluster = cluster
        client = cluster.client.intercepted(note_own_write, send_outside_round).using(field_manager=manager)
        self.client: Client = client.using(impersonate=controller.acts_as) if controller.acts_as else client
        self.applier: Applier = Applier(cluster, self.client, owns=controller.owns, tracks=controller.tracks)
        self.daemons: Daemons = Daemons(controller.daemons, controller.backoff, cluster.dice)
        self.finalizer: str = controller.finalizer or finalizer_name(controller.kind, cluster.operator, controller.name)
        self.wake_when_newer: Callable[[Key, str, timedelta], None] = wake_when_newer
        self._controller = controller
        self._background: set[asyncio.Task[None]] = set()
        self._undecodable: dict[Key, str] = {}
        self._views: dict[str, Client] = {"": self.client}
        self.rounds: int = 0

    def context(self, obj: Resource, work: Work[Key] | None = None) -> Context:
        """What a reconcile or a daemon of the object has at hand."""
        return Context(
            obj,
            cluster=self.cluster,
            client=self._view(obj.namespace),
            applier=self.applier,
            background=self._start,
            component=self._controller.component,
            reasons=work.reasons if work is not None else _NO_WORK,
            attempt=work.attempt if work is not None else 0,
        )

    def _view(self, namespace: str) -> Client:
        """The client, looking into a namespace."""
        found = self._views.get(namespace)
        if found is None:
            if len(self._views) >= _MOST_VIEWS:
                self._views = {"": self.client}
            found = self._views[namespace] = self.client.using(namespace=namespace)
        return found

    def log_fields(self, key: Key) -> dict[str, str]:
        """What each log record of a reconcile says besides its message."""
        self.rounds += 1
        return {
            "controller": self._controller.name,
            "kind": self._controller.kind.kind,
            "namespace": key.namespace,
            "name": key.name,
            "reconcile_id": f"{self._controller.name}-{self.rounds}",
        }

    def tell_undecodable(self, key: Key, error: Undecodable) -> bool:
        """Tell people in an Event that an object does not fit its type; False if that was told already."""
        head = self.cluster.cache.informer(self._controller.kind).head(key)
        revision = head.resource_version if head is not None else ""
        if self._undecodable.get(key) == revision:
            return False
        self._undecodable[key] = revision
        metadata = Metadata(name=key.name, namespace=key.namespace, uid=head.uid if head is not None else "")
        stand_in = MetadataOnly.of(self._controller.kind)(metadata=metadata)
        component = self._controller.component
        self.cluster.recorder.event(stand_in, "Warning", "Undecodable", str(error), component=component)
        return True

    def gone(self, key: Key, uid: str) -> None:
        """Let go what was kept for an object that is no more; a namesake begins anew."""
        self._undecodable.pop(key, None)
        self.daemons.end(key, uid)

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        context = outside_round()
        context.run(write_for_nobody)
        task = asyncio.get_running_loop().create_task(work, name=name, context=context)
        self._background.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background task %s failed: %s", task.get_name(), error, exc_info=error)

    async def aclose(self) -> None:
        """Cancel daemons and background tasks, and wait until they have ended."""
        await self.daemons.aclose()
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

"""The life of an operator: what starts in which order, who may work, and how it ends.

Start: cache and recorder, informers of all kinds (a standby keeps them full), lifespan hooks, leadership, controllers.
The end is the same backwards: controllers drain, the Lease is released, hooks close, watches end.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from kubewright.cache import Cache
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller import RunningController
from kubewright.election import Election
from kubewright.errors import LeadershipLost
from kubewright.metrics import Registry
from kubewright.operator.background import Activity
from kubewright.operator.cached import Cached
from kubewright.operator.requests import measured_requests
from kubewright.operator.settling import PATIENCE, QUIET, settled

if TYPE_CHECKING:
    from kubewright.operator.blueprint import Blueprint

__all__ = ["RunningOperator", "Terms"]

_log = logging.getLogger("kubewright.operator")

_HASTE = 10.0


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """On what terms an operator runs: alone, or as one of several replicas."""

    identity: str | None
    lease_namespace: str


class RunningOperator:
    """An operator that runs: what can be asked of it from outside."""

    def __init__(
        self, operator: Blueprint, client: Client, terms: Terms, metrics: Registry, dice: random.Random
    ) -> None:
        self.operator: Blueprint = operator
        self.metrics: Registry = metrics
        self._dice = dice
        self._unguarded = client.intercepted(measured_requests(metrics))
        self.election: Election | None = self._election(terms)
        self._terms = terms
        self._stack = AsyncExitStack()
        self._controllers: list[RunningController[Any]] = []
        self._life: asyncio.Task[None] | None = None
        self.cluster: Cluster

    def _election(self, terms: Terms) -> Election | None:
        if terms.identity is None:
            return None
        return Election(
            self._unguarded,
            self.operator.name,
            namespace=terms.lease_namespace,
            identity=terms.identity,
            times=self.operator.lease,
            metrics=self.metrics,
            dice=self._dice,
        )

    async def __aenter__(self) -> RunningOperator:
        try:
            await self._start()
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _start(self) -> None:
        operator = self.operator
        client = self._unguarded
        if self.election is not None:
            client = client.intercepted(self.election.guard)
        cache = Cache(
            self._unguarded,
            resync=operator.resync,
            metrics=self.metrics,
            dice=self._dice,
            keep_managers=f"{operator.name}/",
        )
        made = Cluster.of(
            client,
            operator=operator.name,
            instance=self._terms.identity or "",
            metrics=self.metrics,
            dice=self._dice,
            cache=cache,
        )
        self.cluster = await self._stack.enter_async_context(made)
        self._declare(cache)
        self._open_controllers()
        for hook in operator.lifespan:
            await self._stack.enter_async_context(hook(self.cluster))
        self._life = asyncio.create_task(self._live(), name=f"operator {operator.name}")
        self._stack.push_async_callback(self._end)

    def _declare(self, cache: Cache) -> None:
        told = {cached.kind: cached for cached in self.operator.cached}
        for kind in dict.fromkeys([*told, *self.operator.kinds]):
            told.get(kind, Cached(kind)).declare(cache, self.operator.namespaces)

    def _open_controllers(self) -> None:
        self._controllers = [RunningController(controller, self.cluster) for controller in self.operator.controllers]
        for controller in self._controllers:
            controller.open()

    async def _end(self) -> None:
        assert self._life is not None
        self._life.cancel()
        try:
            await asyncio.wait((self._life,))
        except asyncio.CancelledError:
            # Told twice: what runs has no grace any more, but must not be left behind.
            for controller in self._controllers:
                controller.hurry()
            await asyncio.wait((self._life,), timeout=_HASTE)
            raise
        finally:
            for controller in self._controllers:
                controller.close()
        if not self._life.cancelled():
            self._life.result()

    async def wait_ready(self) -> None:
        """Return when every kind's objects have been seen once."""
        await self.cluster.cache.wait_synced()

    async def settle(self, *, quiet: timedelta = QUIET, within: timedelta = PATIENCE) -> None:
        """Return when nobody has had anything to do for as long as ``quiet``; timers may still wait.

        Tests wait so for everything that follows from a change; in virtual time it costs none.

        *Raises* ``WaitTimeout`` naming the controllers and background coroutines that are still busy.
        """
        await self.wait_ready()
        await settled(lambda: self.active, who=f"operator {self.operator.name}", quiet=quiet, within=within)

    @property
    def active(self) -> Mapping[str, Activity]:
        """Who works here, by name: controllers, and background coroutines that tell what they do."""
        found: dict[str, Activity] = {one.controller.name: one for one in self._controllers}
        for background in self.operator.background:
            if background.activity is not None:
                found[background.name] = background.activity
        return found

    async def wait(self) -> None:
        """Return when the operator has ended by itself; raises what ended it."""
        assert self._life is not None
        await asyncio.shield(self._life)

    async def _live(self) -> None:
        async with asyncio.TaskGroup() as group:
            for background in self.operator.background:
                if not background.leader_only:
                    group.create_task(background.run(self.cluster), name=f"background {background.name}")
            for needed in self.operator.requires:
                group.create_task(needed.watch(self.cluster.cache), name=needed.name)
            group.create_task(self._terms_of_office(), name=f"operator {self.operator.name} at work")

    async def _terms_of_office(self) -> None:
        if self.election is None:
            await self._work()
            return
        while True:
            try:
                await self.election.lead(self._work)
                return
            except LeadershipLost as error:
                _log.error("%s; standing by", error)
                for controller in self._controllers:
                    controller.close()
                self._open_controllers()

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            for background in self.operator.background:
                if background.leader_only:
                    group.create_task(background.run(self.cluster), name=f"background {background.name}")
            for controller in self._controllers:
                group.create_task(self._reconcile(controller), name=f"controller {controller.controller.name}")

    async def _reconcile(self, controller: RunningController[Any]) -> None:
        async with controller.working(grace=self.operator.grace):
            _log.info("controller %s works", controller.controller.name)
            await asyncio.get_running_loop().create_future()

    @property
    def is_leader(self) -> bool:
        """Whether it works: it leads, or runs alone."""
        return self.election is None or self.election.is_leader

    def ready_checks(self) -> Mapping[str, str]:
        """What it needs to be ready, by name: empty if all is well, else what is wrong."""
        cache = self.cluster.cache
        informers = {
            f"informer-{health.resource}": "" if health.synced and health.watching else health.error or "not synced yet"
            for health in cache.health.values()
        }
        return informers | {needed.name: needed.problem(cache) for needed in self.operator.requires}

    def live_checks(self) -> Mapping[str, str]:
        """What must hold, or a restart is the remedy."""
        ended = self._life is None or self._life.done()
        return {"operator": "it has ended" if ended else "", "event-loop": ""}

"""``Controller``: a kind, a function, and what else matters to it; a value that an operator runs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kubewright.api import Resource
from kubewright.config import Impersonation
from kubewright.controller.context import Context
from kubewright.controller.daemon import Daemon
from kubewright.controller.mapping import Watch
from kubewright.controller.predicate import Predicate
from kubewright.controller.source import Source
from kubewright.queue import Backoff

__all__ = ["Controller"]

R = TypeVar("R", bound=Resource)

Reconcile: TypeAlias = Callable[[R, Context], Awaitable[timedelta | None]]

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Controller(Generic[R]):
    """Keeps objects of one kind as their spec wants them.

    ``reconcile(obj, ctx)`` gets a private copy of an object that is not being deleted. It returns ``None`` (settled)
    or a ``timedelta`` (look again), raises to be tried again with back-off, or raises ``Terminal`` to wait for the
    next change. What it leaves in ``obj.status`` is written.

    Before it run, where they are given: ``validate`` (None, or what is wrong with the object that its schema cannot
    say), then ``initialize`` (fills in what is missing, in place; it is stored before reconcile sees the object).
    ``cleanup`` *is* the finalizer: it gets objects that are being deleted; ``None`` lets them go.
    ``deleting`` holds nothing: it gets objects that are being deleted and that others, or a grace period, still hold.

    ``owns``: kinds of children, with owner references, watched. ``watches``: other kinds whose changes matter.
    ``tracks``: children in other namespaces or of cluster-scoped kinds, found by label, deleted by your ``cleanup``.
    ``reads``: kinds that only ``ctx.cache`` reads. ``sources``: what else wakes objects. ``daemons``: coroutines that
    run beside each object. ``predicates``: changes of the primary that are worth a reconcile (all must agree).
    ``acts_as``: whose rights its requests have, if not the operator's; ``component``: who tells its Events;
    ``ready_condition``: where outcomes stand in the status (None: nowhere, and failures make no Events either);
    ``replaces_status``: whether a status is sent whole, because those rights allow no patch of it.

    *Guarantees*: one object is never reconciled by two workers at once; a change is never missed, though several may
    be answered by one reconcile; own writes alone do not wake it again.
    """

    def __init__(
        self,
        kind: type[R],
        reconcile: Reconcile[R],
        *,
        name: str | None = None,
        validate: Callable[[R], str | None] | None = None,
        initialize: Callable[[R], None] | None = None,
        cleanup: Reconcile[R] | None = None,
        deleting: Reconcile[R] | None = None,
        owns: Sequence[type[Resource]] = (),
        tracks: Sequence[type[Resource]] = (),
        watches: Sequence[Watch[Any]] = (),
        reads: Sequence[type[Resource]] = (),
        sources: Sequence[Source] = (),
        daemons: Sequence[Daemon] = (),
        predicates: Sequence[Predicate] = (),
        workers: int = 1,
        timeout: timedelta | None = timedelta(minutes=5),
        backoff: Backoff | None = None,
        finalizer: str | None = None,
        field_manager: str | None = None,
        acts_as: Impersonation | None = None,
        component: str | None = None,
        ready_condition: str | None = "Ready",
        replaces_status: bool = False,
    ) -> None:
        self.kind: type[R] = kind
        self.name: str = name or kind.api_resource.kind.lower()
        self.reconcile: Reconcile[R] = reconcile
        self.validate: Callable[[R], str | None] | None = validate
        self.initialize: Callable[[R], None] | None = initialize
        self.cleanup: Reconcile[R] | None = cleanup
        self.deleting: Reconcile[R] | None = deleting
        self.owns: tuple[type[Resource], ...] = tuple(owns)
        self.tracks: tuple[type[Resource], ...] = tuple(tracks)
        self.watches: tuple[Watch[Any], ...] = tuple(watches)
        self.reads: tuple[type[Resource], ...] = tuple(reads)
        self.sources: tuple[Source, ...] = tuple(sources)
        self.daemons: tuple[Daemon, ...] = tuple(daemons)
        self.predicates: tuple[Predicate, ...] = tuple(predicates)
        self.workers: int = workers
        self.timeout: timedelta | None = timeout
        self.backoff: Backoff = backoff or Backoff()
        self.finalizer: str | None = finalizer
        self.field_manager: str | None = field_manager
        self.acts_as: Impersonation | None = acts_as
        self.component: str | None = component
        self.ready_condition: str | None = ready_condition
        self.replaces_status: bool = replaces_status
        self._check()

    def _check(self) -> None:
        if not hasattr(self.kind, "api_resource"):
            raise TypeError(f"{self.kind.__name__} says no group= and version=, so no API server can serve it")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"a controller's name is lower-case letters, digits and '-', not {self.name!r}")
        if self.workers < 1:
            raise ValueError(f"controller {self.name}: workers must be 1 or more, not {self.workers}")
        if self.timeout is not None and self.timeout <= timedelta(0):
            raise ValueError(f"controller {self.name}: timeout must be positive or None, not {self.timeout}")
        both = [kind.__name__ for kind in self.owns if kind in self.tracks]
        if both:
            raise ValueError(f"controller {self.name}: {', '.join(both)} is in owns= and in tracks=; choose one")
        for child in self.owns:
            if self.kind.api_resource.namespaced and not child.api_resource.namespaced:
                raise ValueError(
                    f"controller {self.name}: {self.kind.__name__} lives in a namespace, so it cannot own "
                    f"{child.__name__}, which does not; put it into tracks= and delete it in cleanup="
                )
        if self.tracks and self.cleanup is None:
            raise ValueError(
                f"controller {self.name}: what it tracks is not garbage-collected; give a cleanup= that deletes it"
            )

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """Every kind that it must have in the cache, each once, the primary first."""
        watched = (watch.kind for watch in self.watches)
        sourced = (kind for source in self.sources for kind in source.kinds)
        return tuple(dict.fromkeys([self.kind, *self.owns, *self.tracks, *watched, *self.reads, *sourced]))

    def __repr__(self) -> str:
        return f"<Controller {self.name} of {self.kind.__name__}>"

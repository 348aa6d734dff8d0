"""Metrics of the loop, named as controller-runtime's, so that existing dashboards work."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from kubewright.controller.controller import Controller
from kubewright.metrics import Registry

__all__ = ["Measured", "Measures"]

_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
)  # fmt: skip


class Measured:
    """One reconcile: timed while its block lasts, its result set when it is known.

    A class, as the other blocks around each reconcile are: those made by ``contextmanager`` cost more CPU.
    """

    __slots__ = ("_begun", "_loop", "_measures", "result")

    def __init__(self, measures: Measures) -> None:
        self._measures = measures
        self._loop = asyncio.get_running_loop()
        self.result: str = "error"

    def __enter__(self) -> Self:
        self._begun = self._loop.time()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError):
            self.result = "cancelled"
        self._measures.reconciled(self.result, self._loop.time() - self._begun)


class Measures:
    """Counts and times one controller's reconciles."""

    def __init__(self, registry: Registry, controller: Controller[Any]) -> None:
        name = controller.name
        self._name = name
        total = "controller_runtime_reconcile"
        self._results = registry.counter(f"{total}_total", "Reconciles by result.", ("controller", "result"))
        self._errors = registry.counter(f"{total}_errors_total", "Failed reconciles.", ("controller",)).labels(name)
        self._terminal = registry.counter(
            "controller_runtime_terminal_reconcile_errors_total", "Reconciles that raised Terminal.", ("controller",)
        ).labels(name)
        self._timeouts = registry.counter(
            f"{total}_timeouts_total", "Reconciles cut off by their time limit.", ("controller",)
        ).labels(name)
        self._undecodable = registry.counter(
            "kubewright_undecodable_objects_total", "Objects that did not fit their Python type.", ("controller",)
        ).labels(name)
        self._time = registry.histogram(
            f"{total}_time_seconds", "Time a reconcile took.", ("controller",), buckets=_BUCKETS
        ).labels(name)
        self._active = registry.gauge(
            "controller_runtime_active_workers", "Workers that reconcile now.", ("controller",)
        ).labels(name)
        registry.gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers of the controller.", ("controller",)
        ).labels(name).set(controller.workers)
        for result in ("success", "requeue_after", "requeue", "error"):
            self._results.labels(name, result)

    def begin(self) -> None:
        """Count a worker as busy."""
        self._active.inc()

    def end(self) -> None:
        """Count a worker as idle again."""
        self._active.dec()

    def timed(self) -> Measured:
        """A block whose time is taken, and whose result is counted."""
        return Measured(self)

    def reconciled(self, result: str, seconds: float) -> None:
        """Count a reconcile that took so long."""
        self._time.observe(seconds)
        self._count(result)

    def undecodable(self) -> None:
        """Count an object that could not be decoded."""
        self._undecodable.inc()

    def _count(self, result: str) -> None:
        if result in ("timeout", "terminal"):
            (self._timeouts if result == "timeout" else self._terminal).inc()
            result = "error"
        if result == "error":
            self._errors.inc()
        self._results.labels(self._name, result).inc()

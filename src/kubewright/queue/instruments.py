"""The queue's metrics, by the names, labels and buckets that Kubernetes' own work queues have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kubewright.metrics import CounterChild, HistogramChild, Registry, exponential_buckets

__all__ = ["Instruments"]

_LABELS: Final = ("name", "controller")
_BUCKETS: Final = exponential_buckets(1e-8, 10, 12)
_MOST_PRIORITIES: Final = 25


class Instruments:
    """What one queue counts and shows; controller-runtime's ``workqueue_*``."""

    def __init__(self, registry: Registry, name: str) -> None:
        self.adds: CounterChild = registry.counter("workqueue_adds_total", "Keys that became ready.", _LABELS).labels(
            name, name
        )
        self.retries: CounterChild = registry.counter(
            "workqueue_retries_total", "Keys queued with a delay: retries and look-again timers.", _LABELS
        ).labels(name, name)
        self.queue_duration: HistogramChild = registry.histogram(
            "workqueue_queue_duration_seconds", "How long ready keys waited for a worker.", _LABELS, _BUCKETS
        ).labels(name, name)
        self.work_duration: HistogramChild = registry.histogram(
            "workqueue_work_duration_seconds", "How long keys were worked on.", _LABELS, _BUCKETS
        ).labels(name, name)
        self._unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds", "Age of all work under way, summed up.", _LABELS
        ).labels(name, name)
        self._longest = registry.gauge(
            "workqueue_longest_running_processor_seconds", "Age of the oldest work under way.", _LABELS
        ).labels(name, name)
        self._depth = registry.gauge("workqueue_depth", "Ready keys by priority.", (*_LABELS, "priority"))
        self._name = name
        self._priorities: dict[int, str] = {0: "0"}

    def show(self, depths: Mapping[int, int], ages: Sequence[float]) -> None:
        """Set the gauges from the line's depths and the ages of the work under way."""
        self._unfinished.set(sum(ages))
        self._longest.set(max(ages, default=0))
        shown = dict.fromkeys(self._priorities.values(), 0)
        for priority, depth in depths.items():
            label = self._label(priority)
            shown[label] = shown.get(label, 0) + depth
        for label, depth in shown.items():
            self._depth.labels(self._name, self._name, label).set(depth)

    def _label(self, priority: int) -> str:
        if priority not in self._priorities:
            # Label values are kept for ever, so a queue with computed priorities must not make one for each.
            if len(self._priorities) >= _MOST_PRIORITIES:
                return "exceeded_cardinality_limit"
            self._priorities[priority] = str(priority)
        return self._priorities[priority]

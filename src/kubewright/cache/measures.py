"""Metrics of the cache, one set a kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from kubewright.api import ApiResource
from kubewright.cache.store import Store
from kubewright.metrics import CounterChild, GaugeChild, Registry

__all__ = ["Measures", "resource_name"]


def resource_name(resource: ApiResource) -> str:
    """Plural and group of a kind; its name where the plural is not known."""
    return resource.group_resource if resource.plural else f"{resource.kind}.{resource.group}".rstrip(".")


class Measures:
    """Counts for one kind what its reflectors and its informer do."""

    def __init__(self, registry: Registry, resource: ApiResource) -> None:
        name = resource_name(resource)
        label = ("resource",)
        self._gauges = [
            registry.gauge("kubewright_cache_objects", "Objects in the cache.", label),
            registry.gauge("kubewright_cache_bytes", "Bytes of JSON in the cache.", label),
            registry.gauge("kubewright_cache_synced", "Whether everything was seen once.", label),
            registry.gauge(
                "kubewright_cache_last_event_timestamp_seconds", "When the server last sent anything.", label
            ),
        ]
        self._name = name
        self._registry = registry
        self._show: Callable[[], None] | None = None
        self._objects = self._gauges[0].labels(name)
        self._bytes = self._gauges[1].labels(name)
        self.synced: GaugeChild = self._gauges[2].labels(name)
        self._last_event = self._gauges[3].labels(name)
        self.lists: CounterChild = registry.counter(
            "reflector_lists_total", "Times that all objects were read.", label
        ).labels(name)
        self.watches: CounterChild = registry.counter(
            "reflector_watches_total", "Watches that were asked for.", label
        ).labels(name)
        self._failures = registry.counter(
            "kubewright_cache_watch_failures_total", "Watches that broke or were refused.", ("resource", "reason")
        )
        self.events: CounterChild = registry.counter(
            "kubewright_cache_events_total", "Watch events received.", label
        ).labels(name)
        self.drift: CounterChild = registry.counter(
            "kubewright_cache_drift_total", "Objects that a relist found other than the watch had told.", label
        ).labels(name)
        self.undecodable: CounterChild = registry.counter(
            "kubewright_cache_undecodable_total", "Objects that did not fit their Python type.", label
        ).labels(name)
        self.handler_errors: CounterChild = registry.counter(
            "kubewright_cache_handler_errors_total", "Handlers and index functions that raised.", label
        ).labels(name)

    def show_size_of(self, store: Store) -> None:
        """Tell how much is in a store, whenever somebody looks."""

        def show() -> None:
            self._objects.set(len(store))
            self._bytes.set(store.size)

        self._show = show
        self._registry.collect(show)

    def heard(self, moment: datetime) -> None:
        """The server has sent something."""
        self._last_event.set(moment.timestamp())

    def failed(self, reason: str) -> None:
        """A watch broke, or was refused."""
        self._failures.labels(self._name, reason).inc()

    def forget(self) -> None:
        """Show no more what is not there any more."""
        if self._show is not None:
            self._registry.stop_collecting(self._show)
        for gauge in self._gauges:
            gauge.remove(self._name)

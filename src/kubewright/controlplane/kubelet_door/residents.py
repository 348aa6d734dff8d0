"""``Residents``: the pods that a door knows, and who waits for something about them to be otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubewright.api import Key
from kubewright.cache import Cache, Change
from kubewright.controlplane.kubelet import LOST
from kubewright.kinds.core_v1 import Node, Pod

__all__ = ["Residents"]


class Residents:
    """Pods as a cache tells them; none before ``open`` and after ``close``, which wakes all who wait."""

    def __init__(self) -> None:
        self._cache: Cache | None = None
        self._waiting: dict[Key, dict[asyncio.Event, None]] = {}

    @contextmanager
    def open(self, cache: Cache) -> Iterator[None]:
        """Tell the pods of a cache inside the block."""
        handler = cache.informer(Pod).add_handler(self._see)
        self._cache = cache
        try:
            yield
        finally:
            self._cache = None
            handler.remove()
            for key in list(self._waiting):
                self._wake(key)

    def get(self, key: Key) -> Pod | None:
        """A private copy of a pod, or None."""
        return self._cache.get(Pod, key.name, namespace=key.namespace) if self._cache is not None else None

    def is_lost(self, pod: Pod) -> bool:
        """Whether the node that a pod is on is silent."""
        if self._cache is None or not pod.spec.node_name or Node not in self._cache.kinds:
            return False
        node = self._cache.get(Node, pod.spec.node_name)
        return node is not None and LOST in node.metadata.annotations

    @contextmanager
    def changes(self, key: Key) -> Iterator[asyncio.Event]:
        """An event that is set whenever a pod is otherwise, inside the block."""
        changed = asyncio.Event()
        self._waiting.setdefault(key, {})[changed] = None
        try:
            yield changed
        finally:
            waiting = self._waiting[key]
            del waiting[changed]
            if not waiting:
                del self._waiting[key]

    def _see(self, change: Change[Any]) -> None:
        self._wake(change.key)

    def _wake(self, key: Key) -> None:
        for changed in self._waiting.get(key, ()):
            changed.set()

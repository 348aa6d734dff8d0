"""``Cached``: what of a kind an operator keeps in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Generic, TypeVar

from kubewright.api import FieldSelector, LabelSelector, Resource
from kubewright.cache import Cache

__all__ = ["Cached"]

R = TypeVar("R", bound=Resource)


class Cached(Generic[R]):
    """How one kind is cached, for all controllers of an operator.

    >>> Operator("sites", controllers, cached=[Cached(Pod, labels={"app": "site"}, indexes={"node": node_of})])

    ``namespaces``, ``labels``, ``fields``: which objects. ``transform``: changes each object's JSON before it is kept.
    ``indexes``: by name, what an object is found by (``ctx.cache.list(Pod, where={"node": "a"})``). ``relist``: how
    often the whole list is compared with what is held. ``shard_selector``: given to servers that shard lists.
    """

    def __init__(
        self,
        kind: type[R],
        *,
        namespaces: Sequence[str] | None = None,
        labels: str | Mapping[str, str] | LabelSelector | None = None,
        fields: str | Mapping[str, str] | FieldSelector | None = None,
        transform: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        indexes: Mapping[str, Callable[[R], Sequence[str]]] | None = None,
        resync: timedelta | None = None,
        relist: timedelta | None = None,
        shard_selector: str | None = None,
    ) -> None:
        self.kind: type[R] = kind
        self.indexes: Mapping[str, Callable[[R], Sequence[str]]] = indexes or {}
        self._namespaces = namespaces
        options: dict[str, Any] = {
            "labels": labels,
            "fields": fields,
            "transform": transform,
            "resync": resync,
            "relist": relist,
            "shard_selector": shard_selector,
        }
        self._options: dict[str, Any] = {name: value for name, value in options.items() if value is not None}

    def declare(self, cache: Cache, namespaces: Sequence[str] | None) -> None:
        """Have the kind cached so; ``namespaces`` are the operator's own."""
        where = self._namespaces if self._namespaces is not None else namespaces
        if not self.kind.api_resource.namespaced:
            where = None
        informer = cache.watch(self.kind, namespaces=where, **self._options)
        for name, function in self.indexes.items():
            informer.add_index(name, function)

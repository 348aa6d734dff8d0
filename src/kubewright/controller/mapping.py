"""Mapping: whose key a change of another object is about.

On the path of one change it stands between the predicates and the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TypeAlias, TypeVar

from kubewright.api import Key, Resource
from kubewright.cache import Cache, Change
from kubewright.controller.predicate import Predicate
from kubewright.errors import Undecodable

__all__ = ["OWNER_ANNOTATION", "OWNER_LABEL", "KeysOf", "Watch", "keys_of_change", "owners_of", "trackers_of"]

S = TypeVar("S", bound=Resource)

OWNER_ANNOTATION: Final = "kubewright.dev/owner"
"""On an object that a controller tracks: kind and key of whom it belongs to."""

OWNER_LABEL: Final = "kubewright.dev/owner-uid"
"""On an object that a controller tracks: the uid of whom it belongs to, to select by."""

KeysOf: TypeAlias = Callable[[S, Cache], Iterable[Key | Resource]]
"""Given an object and the cache, the primary objects (or their keys) that depend on it."""


class Watch(Generic[S]):
    """Another kind whose changes matter to a controller.

    ``mapping`` says whose reconcile a change of an object calls for. It is asked about the object as it was and as it
    is, so that whoever was referred to until now is woken too. It must not await, and must not change the object.

    >>> def sites_reading(config: ConfigMap, cache: Cache) -> list[Site]:
    ...     return cache.list(Site, namespace=config.namespace, where={"config": config.name})
    """

    __slots__ = ("kind", "mapping", "predicate")

    def __init__(self, kind: type[S], mapping: KeysOf[S], predicate: Predicate | None = None) -> None:
        self.kind: type[S] = kind
        self.mapping: KeysOf[S] = mapping
        self.predicate: Predicate | None = predicate


def keys_of_change(change: Change[Any], mapping: KeysOf[Any], cache: Cache) -> Iterator[Key]:
    """The keys that old and new object map to, each once, in order; raises last what the mapping raised on either.

    An object that cannot be decoded maps to nothing: the informer has told that.
    """
    found: dict[Key, None] = {}
    failures: list[Exception] = []
    sides = (_old, _new) if change.cause != "resync" else (_new,)
    for side in sides:
        try:
            obj = side(change)
            targets = [] if obj is None else [_key(target) for target in mapping(obj, cache)]
        except Undecodable:
            continue
        except Exception as error:
            failures.append(error)
            continue
        yield from (key for key in targets if key not in found)
        found.update(dict.fromkeys(targets))
    if failures:
        raise failures[0]


def _old(change: Change[Any]) -> Any:
    return change.old


def _new(change: Change[Any]) -> Any:
    return change.new


def _key(target: Key | Resource) -> Key:
    return target.key if isinstance(target, Resource) else target


def owners_of(change: Change[Any], owner: type[Resource]) -> list[Key]:
    """The keys of the ``owner`` kind's objects that control the changed object, by its metadata alone."""
    resource = owner.api_resource
    found: dict[Key, None] = {}
    for head in (change.old_head, change.new_head):
        if head is None:
            continue
        for reference in head.owner_references:
            group = reference.api_version.rpartition("/")[0]
            if reference.controller and reference.kind == resource.kind and group == resource.group:
                found[Key(head.namespace if resource.namespaced else "", reference.name)] = None
    return list(found)


def trackers_of(change: Change[Any], owner: type[Resource]) -> list[Key]:
    """The keys of the ``owner`` kind's objects that track the changed object, by its annotation."""
    prefix = f"{owner.api_resource.kind}.{owner.api_resource.group}:"
    found: dict[Key, None] = {}
    for head in (change.old_head, change.new_head):
        text = head.annotations.get(OWNER_ANNOTATION, "") if head is not None else ""
        if text.startswith(prefix):
            namespace, _, name = text.removeprefix(prefix).rpartition("/")
            found[Key(namespace, name)] = None
    return list(found)

"""Merging a manifest into an object that others change too, as ``kubectl apply`` does on the client's side.

The original is what was applied last, desired is what is applied now, current is what the server has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from kubewright.api.overlay import Shape
from kubewright.api.patch import merge_patch, same

__all__ = ["Merge", "MergeConflict", "three_way_merge", "two_way_merge"]

_ANY: Final = Shape()


class MergeConflict(msgspec.Struct, frozen=True):
    """A value that we changed and somebody else changed otherwise; ``UNSET`` stands for an absent one.

    Printed it tells the path alone, because the values may be secret.
    """

    path: str
    """As Kubernetes writes it: ``.spec.template.spec.containers[name="web"].image``."""
    original: Any
    current: Any
    desired: Any

    def __repr__(self) -> str:
        return f"MergeConflict({self.path!r})"


class Merge(msgspec.Struct, frozen=True):
    """What a merge came to. Printed it tells paths alone, because the values may be secret."""

    result: dict[str, Any]
    """The merged document."""
    patch: dict[str, Any]
    """The merge patch (RFC 7386) that turns the current document into the result; empty when nothing changes."""
    conflicts: tuple[MergeConflict, ...] = ()
    """What somebody else changed and the result overwrites."""

    def __repr__(self) -> str:
        return f"Merge(changes={sorted(self.patch)}, conflicts={[conflict.path for conflict in self.conflicts]})"


def two_way_merge(current: Mapping[str, Any], desired: Mapping[str, Any], *, shape: Shape | None = None) -> Merge:
    """``current`` with ``desired`` laid over it, for when it is not known what was applied before.

    *Guarantees*: what ``desired`` does not mention stays; a null in it removes; nothing conflicts.

    >>> two_way_merge({"a": 1, "b": {"c": 2}}, {"b": {"c": 3}}).patch
    {'b': {'c': 3}}
    """
    return three_way_merge(None, desired, current, shape=shape)


def three_way_merge(
    original: Mapping[str, Any] | None,
    desired: Mapping[str, Any],
    current: Mapping[str, Any],
    *,
    shape: Shape | None = None,
) -> Merge:
    """``current`` with our change from ``original`` to ``desired`` made to it.

    ``shape`` (see ``shape_of``) tells which lists are merged item by item by their keys; all others are replaced
    whole. ``original`` is None when nothing was applied before; then only a null removes, and nothing conflicts.

    *Guarantees*: what ``desired`` says holds in the result; what ``original`` had and ``desired`` dropped is gone;
    what only ``current`` has stays. Where we changed a value that somebody else changed otherwise, ours wins and the
    conflict is told. What others added inside a thing that we drop, as the server does with defaults, goes with it
    untold.

    >>> merge = three_way_merge({"a": 1, "b": 1}, {"a": 2}, {"a": 3, "b": 1, "c": 1})
    >>> merge.result, merge.patch, merge.conflicts
    ({'a': 2, 'c': 1}, {'b': None, 'a': 2}, (MergeConflict('.a'),))
    """
    walk = _Walk(knows_original=original is not None)
    result = walk.merged_map(original or {}, desired, current, shape or _ANY, "")
    return Merge(result=result, patch=merge_patch(current, result), conflicts=tuple(walk.conflicts))


class _Walk:
    """One merge on its way through three documents, where ``UNSET`` is what a document does not have."""

    def __init__(self, *, knows_original: bool) -> None:
        self.knows_original: Final = knows_original
        self.conflicts: Final[list[MergeConflict]] = []

    def merged(self, original: Any, desired: Any, current: Any, shape: Shape, path: str) -> Any:
        if original is None:
            original = UNSET
        if desired is UNSET or desired is None:
            return self._dropped(original, desired, current, path)
        if isinstance(desired, dict) and isinstance(current, dict):
            return self.merged_map(original if isinstance(original, dict) else {}, desired, current, shape, path)
        if isinstance(desired, list) and isinstance(current, list):
            earlier = original if isinstance(original, list) else []
            if all(_are_told_apart(side, shape.keys) for side in (earlier, desired, current)):
                return self._merged_list(earlier, desired, current, shape, path)
        if not same(current, desired) and not same(original, desired) and _is_changed(original, current):
            self._tell(path, original, current, desired)
        return _without_nulls(desired)

    def merged_map(
        self,
        original: Mapping[str, Any],
        desired: Mapping[str, Any],
        current: Mapping[str, Any],
        shape: Shape,
        path: str,
    ) -> dict[str, Any]:
        """Current's keys in their order, then new ones."""
        result = {}
        for key in (*current, *(key for key in desired if key not in current)):
            was, wanted, now = (side.get(key, UNSET) for side in (original, desired, current))
            value = self.merged(was, wanted, now, shape.field(key), f"{path}.{key}")
            if value is not UNSET:
                result[key] = value
        return result

    def _merged_list(
        self, original: list[Any], desired: list[Any], current: list[Any], shape: Shape, path: str
    ) -> list[Any]:
        """Current's items in their order, then new ones."""
        keys = shape.keys
        wanted, earlier = _twins(current, desired, keys), _twins(current, original, keys)
        before = _twins(desired, original, keys)
        rows: list[tuple[Any, Any, Any]] = []
        for index, item in enumerate(current):
            twin = wanted.get(index)
            old = earlier.get(index) if twin is None else before.get(twin)
            rows.append((_at(original, old), _at(desired, twin), item))
        paired, live = set(wanted.values()), set(earlier.values())
        gone = {index: place for index, place in before.items() if place not in live}
        rows += [
            (_at(original, gone.get(index)), item, UNSET) for index, item in enumerate(desired) if index not in paired
        ]
        items = [self.merged(*row, shape.item(), f"{path}{_key_text(row, keys)}") for row in rows]
        return [item for item in items if item is not UNSET]

    def _dropped(self, original: Any, desired: Any, current: Any, path: str) -> Any:
        if original is UNSET:
            return current if desired is UNSET else UNSET
        if current is not UNSET and _is_changed(original, current):
            self._tell(path, original, current, UNSET)
        return UNSET

    def _tell(self, path: str, original: Any, current: Any, desired: Any) -> None:
        if self.knows_original:
            self.conflicts.append(MergeConflict(path, original, current, desired))


def _is_changed(original: Any, current: Any) -> bool:
    """Whether somebody changed what we had applied; fields added to it are no change of it."""
    if isinstance(original, dict) and isinstance(current, dict):
        return any(value is not None and _is_changed(value, current.get(key, UNSET)) for key, value in original.items())
    if isinstance(original, list) and isinstance(current, list):
        return len(original) != len(current) or any(map(_is_changed, original, current))
    return not same(original, current)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _are_told_apart(items: list[Any], keys: tuple[str, ...]) -> bool:
    """Whether the keys give each item a name of its own."""
    if not keys or not all(isinstance(item, dict) and any(key in item for key in keys) for item in items):
        return False
    return len({_name(item, keys) for item in items}) == len(items)


def _name(item: dict[str, Any], keys: tuple[str, ...]) -> bytes:
    return msgspec.json.encode([item.get(key) for key in keys])


def _twins(left: list[Any], right: list[Any], keys: tuple[str, ...]) -> dict[int, int]:
    """For an index into ``left`` the index of the same item in ``right``."""
    places = {_name(item, keys): index for index, item in enumerate(right)}
    names = [_name(item, keys) for item in left]
    pairs = {index: places[name] for index, name in enumerate(names) if name in places}
    free = [index for index in range(len(right)) if index not in pairs.values()]
    for index, item in enumerate(left):
        if index not in pairs:
            alike = [place for place in free if _may_be_one(item, right[place], keys)]
            if len(alike) == 1:
                pairs[index] = alike[0]
                free.remove(alike[0])
    return pairs


def _may_be_one(a: dict[str, Any], b: dict[str, Any], keys: tuple[str, ...]) -> bool:
    """Whether no key tells two items apart: the server fills in keys that have a default, as a port's protocol."""
    return all(same(a[key], b[key]) for key in keys if key in a and key in b)


def _at(items: list[Any], index: int | None) -> Any:
    return UNSET if index is None else items[index]


def _key_text(row: tuple[Any, ...], keys: tuple[str, ...]) -> str:
    item = next(item for item in reversed(row) if item is not UNSET)
    pairs = (f"{key}={msgspec.json.encode(item[key]).decode()}" for key in keys if key in item)
    return f"[{','.join(pairs)}]"

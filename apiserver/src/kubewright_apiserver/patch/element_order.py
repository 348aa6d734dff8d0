"""The order of a list that a strategic merge patch merged."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple, Self

from kubewright_apiserver.golang import go_text
from kubewright_apiserver.status import Refusal, internal_error

__all__ = ["Element", "key_of", "merged_order", "missing_key"]


class Element(NamedTuple):
    """A value as Go compares it: of the same type and equal. A list or object is like no other."""

    type: type
    value: Hashable

    @classmethod
    def of(cls, value: Any) -> Self:
        """The element of a value."""
        return cls(type(value), id(value) if isinstance(value, list | dict) else value)


def key_of(item: Any, merge_key: str) -> Element:
    """What tells an item of a list from the others: the item itself, or its key if the list has one."""
    if not merge_key:
        return Element.of(item)
    if not isinstance(item, dict) or merge_key not in item:
        raise missing_key(item, merge_key)
    return Element.of(item[merge_key])


def missing_key(item: Any, merge_key: str) -> Refusal:
    """500: an item of a list has not the key by which it should be merged."""
    return internal_error(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")


def merged_order(items: list[Any], patch_order: list[Any], server_order: list[Any], merge_key: str) -> list[Any]:
    """The items: those that the patch names in its order, and between them, where the server had them, the others."""
    named = _positions(patch_order, merge_key)
    served = _positions(server_order, merge_key)
    keyed = [(key_of(item, merge_key), item) for item in items]
    from_patch = _sorted([pair for pair in keyed if pair[0] in named], named)
    from_server = _sorted([pair for pair in keyed if pair[0] not in named], served)
    ordered: list[Any] = []
    while from_patch and from_server:
        left, right = served.get(from_server[0][0]), served.get(from_patch[0][0])
        is_before = left is not None and right is not None and left < right
        ordered.append((from_server if is_before else from_patch).pop(0)[1])
    return ordered + [item for _, item in from_patch or from_server]


def _positions(order: list[Any], merge_key: str) -> dict[Element, int]:
    positions: dict[Element, int] = {}
    for position, item in enumerate(order):
        positions.setdefault(key_of(item, merge_key), position)
    return positions


def _sorted(pairs: list[tuple[Element, Any]], order: dict[Element, int]) -> list[tuple[Element, Any]]:
    """The pairs in an order; Go's comparison calls what is not in it less than all else, which turns that round."""
    if all(key in order for key, _ in pairs):
        return sorted(pairs, key=lambda pair: order[pair[0]])
    ordered = list(pairs)
    for end in range(1, len(ordered)):
        at = end
        while at > 0 and _is_less(ordered[at][0], ordered[at - 1][0], order):
            ordered[at - 1], ordered[at] = ordered[at], ordered[at - 1]
            at -= 1
    return ordered


def _is_less(left: Element, right: Element, order: dict[Element, int]) -> bool:
    return order[left] < order[right] if left in order and right in order else True

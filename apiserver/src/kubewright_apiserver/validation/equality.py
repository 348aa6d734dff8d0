"""When Kubernetes calls two values equal: a missing list is an empty one, ``1`` CPU is ``1000m``, zero is not missing.

Generation moves, and immutable fields are refused, by this and not by whether the texts of two objects differ.
"""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.data import go_fields
from kubewright_apiserver.schema.amount import same_quantity

__all__ = ["same", "same_field"]

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_ZERO: Final[dict[str, Any]] = {"string": "", "int": 0, "bool": False, "bytes": "", "float": 0}


def same(definition: str, left: Any, right: Any) -> bool:
    """Whether two values of a type, by the name of its schema, are equal to Kubernetes."""
    if left == right:
        return True
    if definition == _QUANTITY:
        return same_quantity(left, right)
    fields = go_fields().get(definition)
    if fields is None or not isinstance(left, dict) or not isinstance(right, dict):
        return False
    return all(_same_field(how, left.get(name), right.get(name)) for name, how in fields.items())


def same_field(definition: str, name: str, left: Any, right: Any) -> bool:
    """Whether two objects of a type are equal in one field; what the type does not name is compared as it is."""
    left, right = left.get(name), right.get(name)
    how = go_fields().get(definition, {}).get(name)
    return bool(left == right) if how is None else _same_field(how, left, right)


def _same_field(how: dict[str, Any], left: Any, right: Any) -> bool:
    if left == right:
        return True
    kind = how["kind"]
    if kind == "slice":
        return _same_lists(how["of"], left or [], right or [])
    if kind == "map":
        return _same_maps(how["of"], left or {}, right or {})
    if how.get("pointer") and (left is None or right is None):
        return False
    if kind == "struct":
        return same(how["of"], {} if left is None else left, {} if right is None else right)
    zero = _ZERO.get(kind)
    return bool((zero if left is None else left) == (zero if right is None else right))


def _same_lists(of: str, left: list[Any], right: list[Any]) -> bool:
    return len(left) == len(right) and all(same(of, *pair) for pair in zip(left, right, strict=True))


def _same_maps(of: str, left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(same(of, left[key], right[key]) for key in left)

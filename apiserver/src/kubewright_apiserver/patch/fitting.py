"""Field sets seen through shapes: which ancestors they imply, and what has become of them when a type changed."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.patch.element import MEMBER
from kubewright_apiserver.patch.fieldset import FieldSet, Tree, marked
from kubewright_apiserver.patch.shape import Fields, Items, Shape

__all__ = ["reconciled", "with_ancestors"]

_NOTHING: Final = Shape()


def with_ancestors(shape: Shape, fields: FieldSet) -> FieldSet:
    """The set and the declared fields that its members are parts of; entries of maps and items of lists excepted."""
    return FieldSet(_with_ancestors(shape, fields.tree))


def _with_ancestors(shape: Shape, tree: Tree) -> Tree:
    result = {}
    for element, below in tree.items():
        if not below:
            result[element] = below
            continue
        inner, is_declared = _below(shape, element)
        found = _with_ancestors(inner, below)
        result[element] = marked(found) if is_declared else found
    return result


def _below(shape: Shape, element: str) -> tuple[Shape, bool]:
    """The shape at an element, and whether it is a declared field."""
    if element.startswith("f:") and shape.fields:
        name = element[2:]
        return shape.fields.field(name)[1], name in shape.fields.named
    if element.startswith("k:") and shape.items:
        return shape.items.item, False
    return _NOTHING, False


def reconciled(shape: Shape, fields: FieldSet) -> FieldSet:
    """The set as it is under this shape: parts of what is owned as a whole by now became that whole.

    The very set that was given if nothing changed.
    """
    if fields.fits is shape:
        return fields
    tree = _reconciled(shape, fields.tree)
    result = fields if tree is fields.tree else FieldSet(tree)
    result.fits = shape
    return result


def _reconciled(shape: Shape, tree: Tree) -> Tree:
    part = shape.first
    if not isinstance(part, Fields | Items) or (isinstance(part, Fields) and part.is_deduced):
        return tree
    if part.is_atomic:
        return {}
    changed = {}
    for element, below in tree.items():
        if below and element != MEMBER:
            inner = part.item if isinstance(part, Items) else _shape_of_field(part, element)
            found = _reconciled(inner, below) if inner else below
            if found is not below:
                changed[element] = found
    return {**tree, **changed} if changed else tree


def _shape_of_field(part: Fields, element: str) -> Shape | None:
    known = part.named.get(element[2:]) if element.startswith("f:") else None
    return known[1] if known else part.rest

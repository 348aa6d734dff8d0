"""Objects seen through their shapes: whether they fit, and which fields they mention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_syntax, go_text, go_type
from kubewright_apiserver.patch.element import printed_element
from kubewright_apiserver.patch.fieldset import FieldSet, Tree, marked
from kubewright_apiserver.patch.shape import Fields, Items, Scalar, Shape

__all__ = ["TypedError", "check", "described", "equal", "mentioned"]


class TypedError(Exception):
    """An object does not fit its type, or cannot be brought into a version; the text is what the server answers."""


_FITTING: Final[dict[str, tuple[type, ...]]] = {
    "numeric": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "untyped": (str, int, float, bool),
}


def described(obj: dict[str, Any]) -> str:
    """Namespace, name and kind of an object, as messages of apply name it: ``ns/name; apps/v1, Kind=Deployment``."""
    metadata = obj.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    namespace, name = (value if isinstance(value, str) else "" for value in map(named.get, ("namespace", "name")))
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{namespace}/{name}; {group}/{version}, Kind={obj.get('kind', '')}"


def check(shape: Shape, obj: Any, *, allow_duplicates: bool = False) -> None:
    """Returns if the object fits its shape.

    Raises ``TypedError`` with all that does not fit.
    """
    errors = list(_errors(shape, obj, allow_duplicates))
    if not errors:
        return
    texts = [f"{path}: {message}" if path else message for path, message in errors]
    raise TypedError(texts[0] if len(texts) == 1 else "\n  ".join(["errors:", *texts]))


def _errors(shape: Shape, value: Any, lax: bool) -> Iterator[tuple[str, str]]:
    part = shape.only or shape.part(value)
    if value is None:
        return
    if isinstance(part, Scalar):
        if type(value) not in _FITTING[part.name]:
            yield "", _misfit(part, value)
    elif isinstance(part, Fields):
        if type(value) is dict:
            yield from _errors_in_fields(part, value, lax)
        else:
            yield "", f"expected map, got &{{{go_text(value)}}}"
    elif type(value) is list:
        yield from _errors_in_items(part, value, lax)
    else:
        yield "", f"expected list, got &{{{go_text(value)}}}"


def _misfit(part: Scalar, value: Any) -> str:
    if part.name == "numeric":
        return f"expected numeric (int or float), got {go_type(value)}"
    if part.name == "string":
        return f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
    wanted = "boolean" if part.name == "boolean" else "any scalar"
    return f"expected {wanted}, got &{{{go_text(value)}}}"


def _errors_in_fields(part: Fields, value: dict[str, Any], lax: bool) -> Iterator[tuple[str, str]]:
    named, rest = part.named, part.rest
    for name, inner in value.items():
        known = named.get(name)
        shape = known[1] if known else rest
        if shape is None:
            yield f".{name}", "field not declared in schema"
            return
        if type(inner) is str and shape.takes_text:
            continue
        for path, message in _errors(shape, inner, lax):
            yield f".{name}{path}", message


def _errors_in_items(part: Items, value: list[Any], lax: bool) -> Iterator[tuple[str, str]]:
    seen = set()
    for place, inner in enumerate(value):
        element = f"i:{place}"
        if not part.is_atomic:
            try:
                element = part.element(inner)
            except ValueError as error:
                yield "", f"element {place}: {error}"
                return
            if element in seen and not lax:
                yield "", f"duplicate entries for key {printed_element(element, is_read=False)}"
            seen.add(element)
        for path, message in _errors(part.item, inner, lax):
            yield f"{printed_element(element, is_read=False)}{path}", message


def mentioned(shape: Shape, obj: dict[str, Any]) -> FieldSet:
    """The fields that an object mentions: leaves, items of lists and entries of maps, what is null or empty."""
    return FieldSet(_mentioned(shape, obj) or {})


def _mentioned(shape: Shape, value: Any) -> Tree | None:
    """The tree below a value; empty if the value itself is the leaf, None if nothing is mentioned."""
    part = shape.only or shape.part(value)
    if isinstance(part, Scalar) or part.is_atomic:
        return {}
    if isinstance(part, Fields):
        return _mentioned_fields(part, value) if type(value) is dict else None
    return _mentioned_items(part, value) if type(value) is list else None


def _mentioned_fields(part: Fields, value: dict[str, Any]) -> Tree | None:
    tree: Tree = {}
    named = part.named
    for name, inner in value.items():
        known = named.get(name)
        element, shape = known or part.field(name)
        below = _mentioned(shape, inner)
        if known is None or inner is None or inner == {}:
            tree[element] = marked(below) if below else {}
        elif below is not None:
            tree[element] = below
    return tree or None


def _mentioned_items(part: Items, value: list[Any]) -> Tree | None:
    tree: Tree = {}
    twice = set()
    for inner in value:
        try:
            element = part.element(inner)
        except ValueError:
            continue
        if element in tree:
            twice.add(element)
        else:
            tree[element] = marked(_mentioned(part.item, inner) or {})
    # What occurs twice has no parts of its own: nobody could say which of the two they belong to.
    return {element: {} if element in twice else below for element, below in tree.items()} or None


def equal(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal as Go sees it: numbers by value, and a boolean is no number."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        numbers = (int, float)
        return kind in numbers and type(other) in numbers and float(one) == float(other)
    if kind is dict:
        return len(one) == len(other) and all(name in other and equal(one[name], other[name]) for name in one)
    if kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)

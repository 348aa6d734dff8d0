"""Strategic merge patch: a merge that knows which lists of a type have keys.

Merged lists get kube-apiserver's own order: what the patch names comes in the patch's order, what only the server has
keeps its place as well as can be.
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from kubewright_apiserver.golang import go_text
from kubewright_apiserver.json_tree import HugeNumber, MalformedJson, read_json, read_tree, read_untyped
from kubewright_apiserver.patch.element_order import Element, key_of, merged_order, missing_key
from kubewright_apiserver.schema.go_values import plain_value
from kubewright_apiserver.schema.node import ANY, Node
from kubewright_apiserver.schema.strictness import duplicate_fields
from kubewright_apiserver.status import Refusal, bad_request, internal_error

__all__ = ["apply_strategic_patch", "read_strategic_patch"]

_DIRECTIVE: Final = "$patch"
_ORDER: Final = "$setElementOrder"
_DELETE_FROM: Final = "$deleteFromPrimitiveList"
_RETAIN: Final = "$retainKeys"
_TYPES: Final[dict[type, str]] = {
    str: "string", bool: "bool", int: "int64", float: "float64",
    dict: "map[string]interface {}", list: "[]interface {}", type(None): "%!s(<nil>)",
}  # fmt: skip


def read_strategic_patch(data: bytes, *, is_checked: bool = True) -> tuple[dict[str, Any], list[str]]:
    """A patch, and texts for fields that come twice in it; ``is_checked`` is false for ``fieldValidation=Ignore``.

    Raises ``Refusal`` (400) for what is no object.
    """
    try:
        read_untyped(data)
        patch = read_json(data)
        repeated = duplicate_fields(data, patch) if is_checked and isinstance(patch, dict) else []
    except (MalformedJson, HugeNumber) as error:
        raise bad_request(str(error)) from None
    if patch is None:
        return {}, []
    if not isinstance(patch, dict):
        what = {list: "array", str: "string", bool: "bool"}.get(type(patch), "number")
        raise bad_request(f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}")
    # Numbers keep whether they were written as integers, which decides how they are compared and converted.
    return plain_value(read_tree(data)), repeated


def apply_strategic_patch(document: dict[str, Any], patch: dict[str, Any], node: Node) -> dict[str, Any]:
    """The document with the patch merged in; ``patch`` is used up: its directives are gone from it afterwards.

    Raises ``Refusal``: 400 for directives of the wrong form, 500 for lists that cannot be merged, as kube-apiserver.
    """
    return _merge_map(document, patch, node)


def _merge_map(original: dict[str, Any], patch: dict[str, Any], node: Node) -> dict[str, Any]:
    if _DIRECTIVE in patch:
        return _directed(patch)
    merged = dict(original)
    _retain_keys(merged, patch)
    for name in [name for name in patch if name.startswith(_ORDER)]:
        _set_order(merged, patch, name, node)
    for name, value in patch.items():
        _merge_field(merged, name, value, node)
    return merged


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[_DIRECTIVE]
    if directive == "replace":
        del patch[_DIRECTIVE]
        return patch
    if directive == "delete":
        return {}
    raise internal_error(f"unknown patch type: {_formatted(directive)} in map: {go_text(patch)}")


def _formatted(value: Any) -> str:
    """A value as Go's ``%s`` prints it, which complains of what is no text."""
    return "%!s(<nil>)" if value is None else _formatted_inside(value)


def _formatted_inside(value: Any) -> str:
    if isinstance(value, list):
        return f"[{' '.join(map(_formatted_inside, value))}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{_formatted_inside(value[name])}' for name in sorted(value))}]"
    if value is None:
        return "<nil>"
    return value if isinstance(value, str) else f"%!s({_TYPES[type(value)]}={go_text(value)})"


def _retain_keys(merged: dict[str, Any], patch: dict[str, Any]) -> None:
    if _RETAIN not in patch:
        return
    kept = patch.pop(_RETAIN)
    if not isinstance(kept, list):
        raise bad_request("invalid patch format of retainKeys")
    for name, value in patch.items():
        is_directive = name.startswith((_DELETE_FROM, _ORDER))
        if value is not None and not is_directive and name not in kept:
            raise bad_request("invalid patch format of retainKeys")
    for name in [name for name in merged if name not in kept]:
        del merged[name]


def _set_order(merged: dict[str, Any], patch: dict[str, Any], name: str, node: Node) -> None:
    """Merge a list for which the patch tells the order of its items, and take both out of the patch."""
    order = patch.pop(name)
    if not isinstance(order, list):
        raise _wrong_type([], order)
    prefix, slash, field = name.partition("/")
    if not slash or prefix != _ORDER:
        raise bad_request("invalid patch format of setElementOrder list")
    for holder in (merged, patch):
        if field in holder and not isinstance(holder[field], list):
            raise _wrong_type([], holder[field])
    inner = _list_node(node, field)
    original, changes = merged.get(field), patch.get(field)
    _check_order(changes or [], order, inner.merge_key)
    if original is None and changes is None:
        return
    if original is None:
        items = _without_directives(changes)
    else:
        items = original if changes is None else _merge_list(original, changes, inner)
    _element_type(original or [], changes or [])
    wrong = next((at for at, item in enumerate(order) if inner.merge_key and not isinstance(item, dict)), None)
    if wrong is not None:
        raise internal_error(f"value for key {wrong} is not a map")
    merged[field] = merged_order(items, order, _server_order(original or [], changes or [], inner), inner.merge_key)
    patch.pop(field, None)


def _server_order(original: list[Any], changes: list[Any], node: Node) -> list[Any]:
    """The order that the server's list had, as it is after Go has changed it in place: new items in freed slots."""
    merge_key = node.merge_key
    if not (merge_key and original and changes and "merge" in node.strategies):
        return original
    kept, plain = _apply_item_directives(original, changes, merge_key)
    if not plain:
        return [item for item in original if item in kept] or original
    known = {key_of(item, merge_key) for item in kept}
    added = {key_of(item, merge_key): item for item in plain if key_of(item, merge_key) not in known}
    return kept + list(added.values())[: len(original) - len(kept)]


def _check_order(changes: list[Any], order: list[Any], merge_key: str) -> None:
    """The patch's items must come in the order that it sets, and all be named there."""
    if not order or not changes:
        return
    wrong = next((change for change in changes if merge_key and not isinstance(change, dict)), None)
    if wrong is not None:
        raise _wrong_type({}, wrong)
    rest = [change for change in changes if not (_is_directive(change) and change[_DIRECTIVE] == "delete")]
    for item in order:
        while rest and _is_directive(rest[0]):
            rest.pop(0)
        if rest and key_of(rest[0], merge_key) == key_of(item, merge_key):
            rest.pop(0)
    if rest:
        shown = f"{go_text(changes)}\n doesn't match {_ORDER} list:\n{go_text(order)}\n"
        raise internal_error(f"The order in patch list:\n{shown}")


def _merge_field(merged: dict[str, Any], name: str, value: Any, node: Node) -> None:
    deletes = name.startswith(_DELETE_FROM)
    if deletes:
        prefix, slash, name = name.partition("/")
        if not slash or prefix != _DELETE_FROM:
            raise bad_request("invalid patch format of primitive list")
    if value is None:
        merged.pop(name, None)
    elif name in merged and type(merged[name]) is type(value) and isinstance(value, dict):
        merged[name] = _merge_inner_map(merged[name], value, _struct_node(node, name))
    elif name in merged and type(merged[name]) is type(value) and isinstance(value, list):
        merged[name] = _merge_inner_list(merged[name], value, _list_node(node, name), deletes)
    elif not deletes:
        _take(merged, name, value)


def _take(merged: dict[str, Any], name: str, value: Any) -> None:
    _discard_nulls(value)
    if isinstance(value, dict) and _DIRECTIVE in value:
        merged.pop(name, None)
    else:
        merged[name] = _without_directives(value)


def _merge_inner_map(original: dict[str, Any], value: dict[str, Any], node: Node) -> dict[str, Any]:
    return value if "replace" in node.strategies else _merge_map(original, value, node)


def _merge_inner_list(original: list[Any], value: list[Any], node: Node, deletes: bool) -> list[Any]:
    if not deletes:
        return _merge_list(original, value, node)
    if not original and not value:
        return original
    if _element_type(original, value) is dict:
        return _merge_keyed(original, value, node)
    gone = {Element.of(item) for item in value}
    return [item for item in original if Element.of(item) not in gone]


def _merge_list(original: list[Any], changes: list[Any], node: Node) -> list[Any]:
    if "merge" not in node.strategies:
        return changes
    if not original and not changes:
        return original
    if _element_type(original, changes) is dict:
        return _merge_keyed(original, changes, node)
    items = list({Element.of(item): item for item in original + changes}.values())
    return merged_order(items, changes, original, "")


def _merge_keyed(original: list[Any], changes: list[Any], node: Node) -> list[Any]:
    merge_key = node.merge_key
    if not merge_key:
        raise internal_error(f"cannot merge lists without merge key for {_go_kind(node.item)}")
    original, changes = _apply_item_directives(original, changes, merge_key)
    items = list(original)
    # An item without a key is an error only for who looks for one that does not come before it.
    keyed = list(itertools.takewhile(lambda item: isinstance(item, dict) and merge_key in item, items))
    positions = {key_of(item, merge_key): at for at, item in reversed([*enumerate(keyed)])}
    for change in changes:
        key = key_of(change, merge_key)
        at = positions.get(key)
        if at is not None:
            items[at] = _merge_map(items[at], change, node.item)
        elif len(keyed) < len(original):
            raise missing_key(original[len(keyed)], merge_key)
        else:
            positions[key] = len(items)
            items.append(change)
    return merged_order(items, changes, original, merge_key)


def _apply_item_directives(
    original: list[Any], changes: list[Any], merge_key: str
) -> tuple[list[Any], list[dict[str, Any]]]:
    plain: list[dict[str, Any]] = []
    replaces = False
    for change in changes:
        directive = change.get(_DIRECTIVE)
        if _DIRECTIVE not in change:
            plain.append(change)
        elif directive == "delete":
            if merge_key not in change:
                raise missing_key(change, merge_key)
            original = [item for item in original if key_of(item, merge_key) != key_of(change, merge_key)]
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise internal_error("merging lists cannot yet be specified in the patch")
        else:
            raise internal_error(f"unknown patch type: {_formatted(directive)} in map: {go_text(change)}")
    return (plain, []) if replaces else (original, plain)


def _element_type(*lists: list[Any]) -> type:
    """The one type that all items have; lists of lists cannot be merged."""
    found: type | None = None
    for item in (item for items in lists for item in items):
        if found is None and isinstance(item, list):
            raise Refusal(422, "Invalid", _REJECTED, details={})
        if found is not None and type(item) is not found:
            shown = "[" + " ".join(map(go_text, lists)) + "]"
            raise internal_error(f"list element types are not identical: {shown}")
        found = type(item)
    if found is None:
        raise internal_error("no elements in any of the given slices")
    return found


_REJECTED: Final = "the server rejected our request due to an error in our request"


def _wrong_type(expected: Any, actual: Any) -> Refusal:
    return internal_error(f"expected a {_TYPES[type(expected)]}, but received a {_TYPES[type(actual)]}")


def _without_directives(value: Any) -> Any:
    """The value without objects that are directives; others lose no fields but such objects."""
    if isinstance(value, dict):
        return {name: _without_directives(inner) for name, inner in value.items() if not _is_directive(inner)}
    if isinstance(value, list):
        return [_without_directives(inner) for inner in value if not _is_directive(inner)]
    return value


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _discard_nulls(value: Any) -> None:
    if isinstance(value, dict):
        for name in [name for name, inner in value.items() if inner is None]:
            del value[name]
        for inner in value.values():
            _discard_nulls(inner)
    elif isinstance(value, list):
        for inner in value:
            _discard_nulls(inner)


def _struct_node(node: Node, name: str) -> Node:
    return _field_node(node, name)


def _list_node(node: Node, name: str) -> Node:
    found = _field_node(node, name)
    if found.type != "array":
        raise internal_error(f"expected slice or array type, but got: {_go_kind(node)}")
    return found


def _field_node(node: Node, name: str) -> Node:
    """The type of a field; Go looks for one only in structs, and what reads its own JSON has none."""
    if node.type not in ("object", "any") or node is ANY:
        of = _go_kind(node)
        raise internal_error(f"merging an object in json but data type is not struct, instead is: {of}")
    if name not in node.fields:
        struct = node.definition.rpartition(".")[2]
        raise internal_error(f'unable to find api field in struct {struct} for the json field "{name}"')
    return node.fields[name]


def _go_kind(node: Node) -> str:
    return {"object": "struct", "map": "map", "array": "slice"}.get(node.type, node.type)

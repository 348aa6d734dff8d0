"""Differences between two JSON documents as merge patch (RFC 7386) and JSON patch (RFC 6902), and their application.

Pure functions: ``wire`` writes objects with them, ``merge`` compares manifests with them. No argument is ever
changed, but results may share parts with the arguments: copy before you change either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

import msgspec

__all__ = ["PatchError", "apply_json_patch", "apply_merge_patch", "json_patch", "merge_patch", "same"]

_canonical: Final = msgspec.json.Encoder(order="sorted").encode
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_NEEDS: Final = {
    "add": "value",
    "copy": "from",
    "move": "from",
    "remove": "path",
    "replace": "value",
    "test": "value",
}
# Beyond this many comparisons finding what was inserted costs more than sending the list.
_COMPARABLE: Final = 1_000_000


class PatchError(ValueError):
    """A JSON patch cannot be applied; the message names the operation by index, its path, and what is wrong."""


class _Refused(Exception):
    """Why one operation fails, until its index and path are known."""


def same(a: Any, b: Any) -> bool:
    """Whether two JSON values are the same: ``True`` is not 1, 1 is not 1.0, the order of keys does not matter."""
    if a is b:
        return True
    if type(a) is not type(b) or a != b:
        return False
    return not isinstance(a, dict | list) or _canonical(a) == _canonical(b)


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The RFC 7386 patch that turns ``before`` into ``after``; empty when they are the same.

    A merge patch cannot set a field to null, because null says remove: a null in ``after`` counts as an absent field.
    Lists are replaced whole.

    >>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2, "d": 4}})
    {'a': None, 'b': {'d': 4}}
    """
    patch: dict[str, Any] = {
        key: None for key, old in before.items() if key not in after or (after[key] is None and old is not None)
    }
    for key, value in after.items():
        old = before.get(key)
        if value is None or same(old, value):
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            if inner := merge_patch(old, value):
                patch[key] = inner
        else:
            patch[key] = value
    return patch


def apply_merge_patch(document: Any, patch: Any) -> Any:
    """``document`` as RFC 7386 has it after ``patch``."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = apply_merge_patch(result.get(key), value)
    return result


def json_patch(before: Any, after: Any, *, guard: bool = False) -> list[dict[str, Any]]:
    """The RFC 6902 operations that turn ``before`` into ``after``; none when they are the same.

    Lists are compared item by item, and replaced whole when that is shorter. With ``guard`` a ``test`` goes before
    each change, so that the server refuses the patch if somebody else changed the same value; a list in which
    anything changes is tested whole, since indexes mean nothing in another list. A key that somebody else added in
    the meantime cannot be tested for.

    >>> json_patch({"a": [1, 2, 3]}, {"a": [1, 3]})
    [{'op': 'remove', 'path': '/a/1'}]
    >>> json_patch({"a": 1}, {"a": 2}, guard=True)
    [{'op': 'test', 'path': '/a', 'value': 1}, {'op': 'replace', 'path': '/a', 'value': 2}]
    """
    return list(_diff(before, after, "", guard))


def _diff(before: Any, after: Any, path: str, guard: bool) -> Iterator[dict[str, Any]]:
    if same(before, after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _diff_map(before, after, path, guard)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _diff_list(before, after, path, guard)
    else:
        yield from _test(path, before, guard)
        yield {"op": "replace", "path": path, "value": after}


def _test(path: str, value: Any, guard: bool) -> Iterator[dict[str, Any]]:
    if guard:
        yield {"op": "test", "path": path, "value": value}


def _diff_map(before: dict[str, Any], after: dict[str, Any], path: str, guard: bool) -> Iterator[dict[str, Any]]:
    for key, value in before.items():
        if key not in after:
            yield from _test(_below(path, key), value, guard)
            yield {"op": "remove", "path": _below(path, key)}
    for key, value in after.items():
        if key in before:
            yield from _diff(before[key], value, _below(path, key), guard)
        else:
            yield {"op": "add", "path": _below(path, key), "value": value}


def _below(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _diff_list(before: list[Any], after: list[Any], path: str, guard: bool) -> Iterator[dict[str, Any]]:
    yield from _test(path, before, guard)
    whole = [{"op": "replace", "path": path, "value": after}]
    if len(before) * len(after) > _COMPARABLE:
        yield from whole
        return
    edits = list(_edits(before, after, path))
    yield from edits if len(_canonical(edits)) < len(_canonical(whole)) else whole


def _edits(before: list[Any], after: list[Any], path: str) -> Iterator[dict[str, Any]]:
    old, new = [_canonical(item) for item in before], [_canonical(item) for item in after]
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    # From the end to the start, so that no operation moves what a later one points at.
    for tag, start, end, new_start, new_end in reversed(blocks):
        if tag != "equal":
            yield from _block_edits(before[start:end], after[new_start:new_end], path, start)


def _block_edits(old: list[Any], new: list[Any], path: str, start: int) -> Iterator[dict[str, Any]]:
    common = min(len(old), len(new))
    for index in reversed(range(common, len(old))):
        yield {"op": "remove", "path": f"{path}/{start + index}"}
    for index in range(common):
        yield from _diff(old[index], new[index], f"{path}/{start + index}", guard=False)
    for index in range(common, len(new)):
        yield {"op": "add", "path": f"{path}/{start + index}", "value": new[index]}


def apply_json_patch(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """``document`` after all operations of an RFC 6902 patch.

    *Raises* ``PatchError`` naming the operation and its path; then nothing was applied.
    """
    # The document as the only value of a map: thus the root, too, has a place in something.
    holder = {"": _copy(document)}
    for index, operation in enumerate(operations):
        try:
            _apply(holder, operation)
        except _Refused as refused:
            raise PatchError(f"JSON patch operation {index}{_told(operation)}: {refused}") from None
    return holder[""]


def _told(operation: Any) -> str:
    if not isinstance(operation, Mapping):
        return ""
    return f" ({operation.get('op', 'without op')} {operation.get('path', 'without path')!r:.320})"


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value


def _apply(holder: dict[str, Any], operation: Mapping[str, Any]) -> None:
    kind = _checked(operation)
    path = _tokens(operation["path"], "path")
    if kind in ("move", "copy"):
        source = _tokens(operation["from"], "from")
        if kind == "move" and len(path) > len(source) and path[: len(source)] == source:
            raise _Refused(f"a value cannot be moved from {operation['from']!r} into itself")
        value = _get(holder, source)
        if kind == "move":
            _remove(holder, source)
        _add(holder, path, _copy(value))
    elif kind == "add":
        _add(holder, path, _copy(operation["value"]))
    elif kind == "test":
        if not _equal(_get(holder, path), operation["value"]):
            raise _Refused("the value there is another one")
    elif kind == "replace":
        _replace(holder, path, _copy(operation["value"]))
    else:
        _remove(holder, path)


def _checked(operation: Mapping[str, Any]) -> str:
    if not isinstance(operation, Mapping):
        raise _Refused(f"must be an object, not {type(operation).__name__}")
    kind = operation.get("op")
    if not isinstance(kind, str) or kind not in _NEEDS:
        raise _Refused(f"op must be one of {', '.join(_NEEDS)}")
    for member in ("path", _NEEDS[kind]):
        if member not in operation:
            raise _Refused(f"{member!r} is missing")
    return kind


def _tokens(pointer: Any, member: str) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise _Refused(f"{member} {pointer!r} must be empty or begin with '/'")
    if _BAD_ESCAPE.search(pointer):
        raise _Refused(f"{member} {pointer!r} has a '~' that is neither '~0' nor '~1'")
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")]


def _get(holder: dict[str, Any], tokens: list[str]) -> Any:
    value: Any = holder
    for token in tokens:
        value = value[_place(value, token)]
    return value


def _place(container: Any, token: str) -> Any:
    """The key or index of something that is there."""
    if isinstance(container, dict):
        if token not in container:
            raise _Refused(f"there is no {token!r}")
        return token
    if isinstance(container, list):
        return _index(token, len(container) - 1)
    raise _Refused(f"there is no {token!r} in a scalar")


def _index(token: str, last: int) -> int:
    if not _INDEX.fullmatch(token):
        raise _Refused(f"{token!r} is not an index of a list")
    # An index with more digits than the length has is out of range, and may be too long for int().
    if len(token) > len(str(last + 1)) or int(token) > last:
        raise _Refused(f"index {token:.80} is out of range")
    return int(token)


def _add(holder: dict[str, Any], tokens: list[str], value: Any) -> None:
    container = _get(holder, tokens[:-1])
    token = tokens[-1]
    if isinstance(container, list):
        length = len(container)
        container.insert(length if token == "-" else _index(token, length), value)
    elif isinstance(container, dict):
        container[token] = value
    else:
        raise _Refused(f"there is no {token!r} in a scalar")


def _replace(holder: dict[str, Any], tokens: list[str], value: Any) -> None:
    container = _get(holder, tokens[:-1])
    container[_place(container, tokens[-1])] = value


def _remove(holder: dict[str, Any], tokens: list[str]) -> None:
    if len(tokens) == 1:
        raise _Refused("the whole document cannot be removed")
    container = _get(holder, tokens[:-1])
    del container[_place(container, tokens[-1])]


def _equal(a: Any, b: Any) -> bool:
    """Equality as RFC 6902 has it for ``test``: numbers by value."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)

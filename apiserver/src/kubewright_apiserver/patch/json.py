"""JSON Patch (RFC 6902) with kube-apiserver's habits.

It replaces what is not there, counts negative indices from the end, and tests values by how they are written. Why a
patch does not apply is told to nobody.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import orjson

from kubewright_apiserver.json_tree import MalformedJson, read_json, read_tree, read_untyped
from kubewright_apiserver.patch.refusals import quoted_json
from kubewright_apiserver.schema.go_types import GoField, GoType
from kubewright_apiserver.schema.mismatch import Undecodable, read_strictly
from kubewright_apiserver.status import Refusal, bad_request

__all__ = ["Operation", "apply_json_patch", "read_json_patch"]

_MOST_OPERATIONS: Final = 10_000
_MOST_COPIED: Final = 3 * 1024 * 1024
_INDEX: Final = re.compile(r"[+-]?[0-9]{1,18}", re.ASCII)
_NAME: Final = itemgetter(0)


class Operation(NamedTuple):
    """One step of a patch."""

    op: str
    path: str | None
    source: str | None
    """``from``: where moves and copies start."""
    value: Any
    written: bytes
    """The value as it was written; ``null`` if there is none."""


def _operation_type() -> GoType:
    go_type = GoType("slice", "[]handlers.jsonPatchOp", "", GoType("struct", "handlers.jsonPatchOp", "jsonPatchOp"))
    text, anything = GoType("string", "string"), GoType("interface", "interface {}")
    types = {"op": text, "path": text, "from": text, "value": anything}
    assert go_type.item is not None
    go_type.item.declare({name: GoField(inner, False, "", ()) for name, inner in types.items()})
    return go_type


_OPERATIONS: Final = _operation_type()
_LOOSE: Final = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None] | None)


def read_json_patch(
    data: bytes, *, is_checked: bool = True, is_custom: bool = False
) -> tuple[list[Operation], list[str]]:
    """The operations of a patch, and texts for fields that none has or that come twice in one.

    ``is_checked`` is false for ``fieldValidation=Ignore``, which looks less closely and has no texts; ``is_custom``
    reads numbers as they are in custom resources.

    Raises ``Refusal``: 400 for what is no patch, 413 for too many operations.
    """
    strict: list[str] = []
    try:
        read_json(data)
        if is_checked:
            strict = [f"json patch {error}" for error in read_strictly(read_tree(data), _OPERATIONS)[1]]
    except (MalformedJson, Undecodable) as error:
        raise bad_request(f"error decoding patch: {error}" if is_checked else str(error)) from None
    operations = _loosely(data)
    if len(operations) > _MOST_OPERATIONS:
        message = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(operations)}"
        raise Refusal(413, "RequestEntityTooLarge", f"Request entity too large: {message}")
    read = read_untyped if is_custom else read_json
    return [_operation(operation or {}, read) for operation in operations], strict


def _loosely(data: bytes) -> list[Any]:
    try:
        return _LOOSE.decode(data) or []
    except msgspec.ValidationError:
        raise _no_patch(read_json(data)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        # What is no Unicode, which Go takes for a letter that it does not know.
        return _loosely(orjson.dumps(read_json(data)))


def _no_patch(value: Any) -> Refusal:
    is_list = isinstance(value, list)
    wrong = next(item for item in value if not (item is None or isinstance(item, dict))) if is_list else value
    what = {list: "array", dict: "object", str: "string", bool: "bool"}.get(type(wrong), "number")
    type_name = "jsonpatch.Operation" if is_list else "jsonpatch.Patch"
    return bad_request(f"json: cannot unmarshal {what} into Go value of type {type_name}")


def _operation(fields: dict[str, Any], read: Any) -> Operation:
    texts = [_text(fields.get(name)) for name in ("op", "path", "from")]
    written = bytes(fields.get("value") or b"null")
    return Operation(texts[0] or "unknown", texts[1], texts[2], read(written), written)


def _text(written: Any) -> str | None:
    value = read_json(bytes(written)) if written is not None else None
    return value if isinstance(value, str) else None


def apply_json_patch(document: Any, operations: list[Operation]) -> Any:
    """The document after all operations; the given one stays as it is. Objects on the way to a change are sorted.

    Raises ``Refusal`` (422) if one of them does not apply.
    """
    patched = _Document(document)
    for operation in operations:
        patched.apply(operation)
    return patched.finished()


def _inapplicable() -> NoReturn:
    message = "the server rejected our request due to an error in our request"
    raise Refusal(422, "Invalid", message, details={})


class _Document:
    """A document under change: containers on the way to a change are copied, all else is shared."""

    def __init__(self, root: Any) -> None:
        self._copied = 0
        self._opened: dict[int, Any] = {}
        self._root = self._own(root)

    def _own(self, container: Any) -> Any:
        own = container.copy()
        self._opened[id(own)] = own
        return own

    def finished(self) -> Any:
        """The outcome, in Go's order."""
        for container in self._opened.values():
            if isinstance(container, dict):
                fields = sorted(container.items(), key=_NAME)
                container.clear()
                container.update(fields)
        return self._root

    def apply(self, operation: Operation) -> None:
        method = _METHODS.get(operation.op)
        if method is None or operation.path is None:
            _inapplicable()
        method(self, operation, operation.path)

    def _find(self, path: str) -> tuple[Any, str]:
        """The container of a path, fit to be changed, and the key in it; the first segment's name does not matter."""
        _, *steps = path.split("/")
        if not steps:
            _inapplicable()
        container = self._root
        for step in steps[:-1]:
            key = _key(container, _unescaped(step))
            inner = _get(container, key)
            if not isinstance(inner, dict | list):
                _inapplicable()
            if id(inner) not in self._opened:
                inner = container[key] = self._own(inner)
            container = inner
        return container, _unescaped(steps[-1])

    def add(self, operation: Operation, path: str) -> None:
        self._add(path, operation.value)

    def _add(self, path: str, value: Any) -> None:
        container, key = self._find(path)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def remove(self, operation: Operation, path: str) -> None:
        container, key = self._find(path)
        self._remove(container, key)

    def _remove(self, container: Any, key: str) -> None:
        if isinstance(container, dict) and key not in container:
            _inapplicable()
        del container[_key(container, key)]

    def replace(self, operation: Operation, path: str) -> None:
        if not path:
            if not isinstance(operation.value, dict | list):
                _inapplicable()
            self._root = self._own(operation.value)
            return
        container, key = self._find(path)
        container[_key(container, key)] = operation.value

    def test(self, operation: Operation, path: str) -> None:
        container, key = (None, "") if not path else self._find(path)
        value = self._root if container is None else _get(container, _key(container, key))
        if not _is_written(value, operation.written):
            _inapplicable()

    def move(self, operation: Operation, path: str) -> None:
        value = self._source(operation)
        container, key = self._find(operation.source or "")
        self._remove(container, key)
        self._add(path, value)

    def copy(self, operation: Operation, path: str) -> None:
        copied = orjson.dumps(self._source(operation))
        self._copied += len(copied)
        self._find(path)
        if self._copied > _MOST_COPIED:
            _inapplicable()
        self._add(path, orjson.loads(copied))

    def _source(self, operation: Operation) -> Any:
        if operation.source is None:
            _inapplicable()
        container, key = self._find(operation.source)
        return _get(container, _key(container, key))


_METHODS: Final = {
    "add": _Document.add,
    "remove": _Document.remove,
    "replace": _Document.replace,
    "move": _Document.move,
    "test": _Document.test,
    "copy": _Document.copy,
}


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~") if "~" in step else step


def _get(container: Any, key: Any) -> Any:
    return container.get(key) if isinstance(container, dict) else container[key]


def _key(container: Any, key: str) -> Any:
    """What a container is indexed with: of a list, an item that is there."""
    return key if isinstance(container, dict) else _index(key, len(container))


def _index(key: str, length: int) -> int:
    index = int(key) if _INDEX.fullmatch(key) else length
    if not -length <= index < length:
        _inapplicable()
    return index + length if index < 0 else index


def _is_written(value: Any, written: bytes) -> bool:
    """Whether a value is what was written, letter for letter in texts and numbers."""
    if isinstance(value, dict):
        return written[:1] == b"{" and _is_written_object(value, msgspec.json.decode(written, type=_FIELDS))
    if isinstance(value, list):
        items = msgspec.json.decode(written, type=list[msgspec.Raw]) if written[:1] == b"[" else None
        return items is not None and len(items) == len(value) and all(map(_is_written, value, map(bytes, items)))
    return quoted_json(value).encode() == written


_FIELDS: Final = dict[str, msgspec.Raw]


def _is_written_object(value: dict[str, Any], fields: dict[str, Any]) -> bool:
    return len(fields) == len(value) and all(
        name in fields and _is_written(inner, bytes(fields[name])) for name, inner in value.items()
    )

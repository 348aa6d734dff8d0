"""Unknown and repeated fields: what clients hear of them, as an error (Strict) or as warnings (Warn)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.json_tree import Pairs, has_duplicates, read_json, read_tree
from kubewright_apiserver.schema.go_types import go_type_of
from kubewright_apiserver.schema.go_values import tree_of
from kubewright_apiserver.schema.mismatch import read_strictly
from kubewright_apiserver.schema.node import Node

__all__ = ["duplicate_fields", "strict_message", "unknown_fields", "warnings_of", "yaml_duplicates"]

_MOST: Final = 100
_YAML: Final = "yaml: unmarshal errors:\n  "


def duplicate_fields(data: bytes, value: Any = None) -> list[str]:
    """A text such as ``duplicate field "spec.n"`` for each field that a JSON body repeats, in its order.

    ``value`` is the parsed body, if there is one already.
    """
    if not has_duplicates(data, read_json(data) if value is None else value):
        return []
    found = dict.fromkeys(f"duplicate field {go_quoted(path)}" for path in _repeated(read_tree(data), ""))
    return list(found)[:_MOST]


def _repeated(tree: Any, path: str) -> Iterator[str]:
    if isinstance(tree, list):
        for index, inner in enumerate(tree):
            yield from _repeated(inner, f"{path}[{index}]")
    elif isinstance(tree, Pairs):
        seen: set[str] = set()
        for name, inner in tree:
            below = f"{path}.{name}" if path else name
            if name in seen:
                yield below
            seen.add(name)
            yield from _repeated(inner, below)


def unknown_fields(obj: dict[str, Any], node: Node) -> list[str]:
    """A text such as ``unknown field "spec.foo"`` for each field that a built-in type does not have, in the object's
    order. What custom resources do not have is told by pruning them.
    """
    return read_strictly(tree_of(obj), go_type_of(node.definition))[1]


def yaml_duplicates(messages: Sequence[str]) -> list[str]:
    """The one error that all repeated keys of a YAML body are, or none."""
    return [_YAML + "\n  ".join(messages)] if messages else []


def strict_message(errors: Sequence[str]) -> str:
    """All errors in one text, as a client that asked for Strict gets it."""
    return f"strict decoding error: {', '.join(errors)}"


def warnings_of(errors: Sequence[str]) -> list[str]:
    """The errors as warnings, each once: that of YAML in its lines."""
    warnings: dict[str, None] = {}
    for error in errors:
        lines = error.removeprefix(_YAML).split("\n  ") if error.startswith(_YAML) else [error]
        warnings.update(dict.fromkeys(line.strip() for line in lines))
    return list(warnings)

"""What the source says about classes and fields, for the descriptions that ``kubectl explain`` shows."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from pathlib import Path
from typing import Any

__all__ = ["described_class", "described_fields"]


def described_class(cls: type) -> str:
    """The first paragraph of the class's own docstring, or an empty text."""
    return _first_paragraph(vars(cls).get("__doc__") or "")


def described_fields(cls: type) -> dict[str, str]:
    """The first paragraph of the text that stands below a field in the source, by the field's name.

    Fields without one are left out, and all of them where there is no source to read.
    """
    described: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        described |= _in_source(base)
    return described


def _in_source(cls: type) -> dict[str, str]:
    try:
        file = inspect.getsourcefile(cls)
    except TypeError:
        return {}
    return _in_file(file).get(cls.__qualname__, {}) if file else {}


@functools.cache
def _in_file(file: str) -> dict[str, dict[str, str]]:
    """By qualified name of each class in the file."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError):
        return {}
    found: dict[str, dict[str, str]] = {}
    _search(tree, "", found)
    return found


def _search(node: Any, prefix: str, found: dict[str, dict[str, str]]) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = prefix + child.name
            found[name] = _in_body(child.body)
            _search(child, f"{name}.", found)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            _search(child, f"{prefix}{child.name}.<locals>.", found)


def _in_body(body: list[ast.stmt]) -> dict[str, str]:
    described = {}
    for field, text in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            value = text.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                described[field.target.id] = _first_paragraph(value.value)
    return described


def _first_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).partition("\n\n")[0].split())

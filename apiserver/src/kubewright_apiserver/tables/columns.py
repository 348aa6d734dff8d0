"""``Shape``: the columns of a table and how the cells of an object are found."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import orjson

from kubewright_apiserver.data import tables

__all__ = ["CREATED", "NAME", "Cells", "Columns", "Conditions", "Shape", "column", "columns_of", "described"]

Cells = Callable[[dict[str, Any], float], list[Any]]
"""Gives the cells of an object at a moment, in seconds of Unix time."""
Conditions = Callable[[dict[str, Any]], list[dict[str, str]]]
Columns = list[dict[str, Any]]

NAME: Final = "Name"
CREATED: Final = "creationTimestamp"
_ROLES: Final = "rbac.authorization.k8s.io/Role"


class Shape:
    """How the objects of a kind are shown as a table."""

    def __init__(
        self,
        columns: Columns,
        cells: Cells,
        conditions: Conditions | None = None,
        order: Callable[[dict[str, Any]], Any] | None = None,
        is_null_when_empty: bool = False,
    ) -> None:
        self.columns: Columns = columns
        self.cells: Cells = cells
        self.conditions: Conditions | None = conditions
        self.order: Callable[[dict[str, Any]], Any] | None = order
        """By what the rows of a list are sorted, if not by their names."""
        self.is_null_when_empty: bool = is_null_when_empty
        """Whether a table without rows says so with a null."""

    @cached_property
    def header(self) -> orjson.Fragment:
        """The columns as JSON."""
        return orjson.Fragment(orjson.dumps(self.columns))


def column(name: str, type: str, format: str, description: str, priority: int = 0) -> dict[str, Any]:
    """The definition of a column; what has a priority is shown only to those who want it all."""
    return {"name": name, "type": type, "format": format, "description": description, "priority": priority}


def columns_of(group: str, kind: str) -> Columns:
    """The columns of a built-in kind; raises ``KeyError`` if it has none."""
    texts: list[str] = tables()["descriptions"]
    return [{**one, "description": texts[one["description"]]} for one in tables()[f"{group}/{kind}"]]


def described(field: str) -> str:
    """What is said of a field of metadata: ``name`` or ``creationTimestamp``, which are the columns of roles."""
    first, last = columns_of(*_ROLES.split("/"))
    return str((last if field == CREATED else first)["description"])

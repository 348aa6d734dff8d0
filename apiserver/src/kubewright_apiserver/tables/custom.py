"""The tables of custom resources: the columns that their definition names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright_apiserver.golang import go_json, go_text
from kubewright_apiserver.schema.go_time import InvalidTime, canonical_time
from kubewright_apiserver.tables.ages import UNKNOWN, since
from kubewright_apiserver.tables.columns import CREATED, NAME, Cells, Columns, Shape, column, described
from kubewright_apiserver.tables.jsonpath import BadPath, Step, Unfound, path_of

__all__ = ["custom_scale_shape", "custom_shape"]

_SEEN: Final = "Custom resource definition column (in JSONPath format): "
_CREATED_PATH: Final = ".metadata.creationTimestamp"
_LARGEST: Final = 2**63


def custom_shape(columns: Iterable[dict[str, Any]] | None) -> Shape:
    """The table of a version of a definition with these printer columns; the age alone if there are none.

    A path that is none ends it: what comes before is shown.
    """
    told = list(columns or ()) or [_age()]
    head: Columns = [column(NAME, "string", "name", described("name"))]
    cells: list[_Cell] = []
    for one in told:
        try:
            cells.append(_Cell(one["type"], path_of(one["jsonPath"])))
        except BadPath:
            break
        description = one.get("description") or f"{_SEEN}{one['jsonPath']}"
        head.append(column(one["name"], one["type"], one.get("format", ""), description, one.get("priority", 0)))
    return Shape(head, _row(cells))


def custom_scale_shape(scale: dict[str, Any]) -> Shape:
    """The table of the scale of a custom resource."""
    columns = [
        _count("Desired", "Number of desired replicas", ".spec.replicas") if scale.get("specReplicasPath") else None,
        _count("Available", "Number of actual replicas", ".status.replicas")
        if scale.get("statusReplicasPath")
        else None,
        _age(),
    ]
    return custom_shape([one for one in columns if one is not None])


def _age() -> dict[str, Any]:
    return {"name": "Age", "type": "date", "jsonPath": _CREATED_PATH, "description": described(CREATED)}


def _count(name: str, description: str, path: str) -> dict[str, Any]:
    return {"name": name, "type": "integer", "jsonPath": path, "description": description}


def _row(cells: list[_Cell]) -> Cells:
    def row(obj: dict[str, Any], now: float) -> list[Any]:
        return [obj["metadata"].get("name", ""), *(cell.of(obj, now) for cell in cells)]

    return row


class _Cell:
    """What is shown in one column."""

    def __init__(self, type: str, path: Step) -> None:
        self._type = type
        self._path = path

    def of(self, obj: dict[str, Any], now: float) -> Any:
        """The cell of an object, None if it has nothing to show there."""
        try:
            found = self._path([obj])
        except Unfound:
            return None
        if not found:
            return None
        return _text(found[0]) if self._type == "string" else _typed(self._type, found[0], now)


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    return go_json(value) if isinstance(value, dict | list) else go_text(value)


def _typed(type: str, value: Any, now: float) -> Any:
    if type == "boolean":
        return value if isinstance(value, bool) else None
    if type == "date":
        return _age_since(value, now) if isinstance(value, str) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if type == "integer":
        return max(-_LARGEST, min(int(value), _LARGEST - 1))
    # Go writes a float without a fraction as an integer.
    return int(value) if type == "number" and value == int(value) else value


def _age_since(text: str, now: float) -> str:
    if text in ("", "null"):
        return UNKNOWN
    try:
        return since(canonical_time(text), now)
    except InvalidTime:
        return "<invalid>"

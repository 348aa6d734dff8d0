"""What is answered as a table: rows of the store, answers of other verbs, events of watches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import orjson

from kubewright_apiserver.conversion import converted
from kubewright_apiserver.registry import Served
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.status import bad_request
from kubewright_apiserver.store import Row
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.rendering import partial, rendered

if TYPE_CHECKING:
    from kubewright_apiserver.tables import Shape

__all__ = ["TableView", "has_table", "tabled_reply"]

_INCLUDED: Final = ("", "Metadata", "None", "Object")
_TABLE: Final = b'{"kind":"Table","apiVersion":"meta.k8s.io/'
_INITIAL_END: Final = "k8s.io/initial-events-end"


def has_table(served: Served, subresource: str) -> bool:
    """Whether what is at these addresses can be shown as a table."""
    # Here and below: programs ask for no tables, and a server should start without them.
    from kubewright_apiserver.tables import is_untabled

    return served.crd is not None or not is_untabled(served.group, served.plural, subresource)


class TableView:
    """The tables that one client asked for; raises 400 if it asked for objects in them that there are not."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._served = call.served
        self._version = call.table
        self._included = call.parameter("includeObject")
        if self._included not in _INCLUDED:
            told = (
                f"includeObject: Invalid value: {orjson.dumps(self._included).decode()}: must be 'Metadata', 'Object'"
            )
            raise bad_request(f"Unable to convert to Table as requested: {told}, 'None', or empty")
        self._shape = _shape_of(call.served)
        self._has_header = False

    def of_row(self, row: Row) -> bytes:
        """A table of one row of the store; the first one that is shown has a header."""
        return self.of_rows([row], {"resourceVersion": str(row.rev)})

    def of_rows(self, rows: Iterable[Row], metadata: dict[str, Any]) -> bytes:
        """A table of rows of the store."""
        now = self._now()
        lines = [self._row_line(row, now) for row in self._in_order(rows)]
        return self._table(lines, metadata)

    def _in_order(self, rows: Iterable[Row]) -> Iterable[Row]:
        order = self._shape.order
        return rows if order is None else sorted(rows, key=lambda row: order(row.obj))

    def _row_line(self, row: Row, now: float) -> dict[str, Any]:
        # Not the row's own: a list of all objects would keep all of them decoded.
        obj: dict[str, Any] = orjson.loads(row.value)
        if self._served.crd is not None:
            obj = behaviour_of(self._served).from_storage(obj)
        if self._included == "Object":
            return self._line(obj, orjson.Fragment(rendered(row, self._served)), now)
        return self._line(obj, self._shown(obj), now)

    def of_object(self, obj: dict[str, Any]) -> bytes:
        """A table of one object of the version that is served."""
        told = {name: obj["metadata"][name] for name in ("resourceVersion",) if name in obj["metadata"]}
        return self.of_objects([obj], told)

    def of_objects(self, objects: Iterable[dict[str, Any]], metadata: dict[str, Any]) -> bytes:
        """A table of objects of the version that is served, which may lack their kind."""
        named = {"kind": self._served.kind, "apiVersion": self._served.api_version}
        now = self._now()
        whole = [{**named, **obj} for obj in objects]
        return self._table([self._line(self._stored(obj), self._shown(obj), now) for obj in whole], metadata)

    def of_scale(self, scale: dict[str, Any]) -> bytes:
        """A table of the scale of an object."""
        self._shape = _scale_shape_of(self._served)
        told = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
        return self._table([self._line(scale, self._shown(scale), self._now())], told)

    def _now(self) -> float:
        return self._call.engine.now().timestamp()

    def _stored(self, obj: dict[str, Any]) -> dict[str, Any]:
        served = self._served
        if served.crd is not None:
            return obj
        group = served.storage_group
        return converted(obj, f"{group}/{served.storage_version}" if group else served.storage_version)

    def _line(self, obj: dict[str, Any], beside: Any, now: float) -> dict[str, Any]:
        line: dict[str, Any] = {"cells": self._shape.cells(obj, now)}
        if self._shape.conditions is not None:
            conditions = self._shape.conditions(obj)
            if conditions:
                line["conditions"] = conditions
        line["object"] = beside
        return line

    def _shown(self, obj: dict[str, Any]) -> Any:
        if self._included == "Object":
            return obj
        is_end = _INITIAL_END in (obj["metadata"].get("annotations") or ())
        return None if self._included == "None" and not is_end else partial(obj, self._version)

    def _table(self, lines: list[dict[str, Any]], metadata: dict[str, Any]) -> bytes:
        header = None if self._has_header else self._shape.header
        self._has_header = True
        table = {
            "kind": "Table",
            "apiVersion": self._version,
            "metadata": {key: value for key, value in metadata.items() if value != ""},
            "columnDefinitions": header,
            "rows": None if self._shape.is_null_when_empty and not lines else lines,
        }
        return orjson.dumps(table)


def _shape_of(served: Served) -> Shape:
    from kubewright_apiserver.tables import builtin_shape

    found: Shape | None = served.__dict__.get("shape")
    if found is None:
        found = _custom(served) if served.crd is not None else builtin_shape(served.group, served.kind)
        served.__dict__["shape"] = found
    return found


def _version_in(crd: dict[str, Any], name: str) -> dict[str, Any]:
    version: dict[str, Any] = next(one for one in crd["spec"]["versions"] if one["name"] == name)
    return version


def _custom(served: Served) -> Shape:
    from kubewright_apiserver.tables import custom_shape

    return custom_shape(_version_in(served.crd or {}, served.version).get("additionalPrinterColumns"))


def _scale_shape_of(served: Served) -> Shape:
    from kubewright_apiserver.tables import builtin_shape, custom_scale_shape

    if served.crd is None:
        return builtin_shape("autoscaling", "Scale")
    return custom_scale_shape(_version_in(served.crd, served.version)["subresources"]["scale"])


def tabled_reply(call: Call, reply: Reply) -> None:
    """Turn what a verb answered into a table, unless it is one, a stream or a Status."""
    is_table = isinstance(reply.body, bytes) and reply.body.startswith(_TABLE)
    if reply.stream is not None or is_table:
        return
    body = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
    kind = body.get("kind")
    if kind == "Status" and body.get("apiVersion") == "v1":
        return
    view = TableView(call)
    if kind == "Scale":
        reply.body = view.of_scale(body)
    elif isinstance(body.get("items"), list) and not call.address.name and call.method == "DELETE":
        reply.body = view.of_objects(body["items"], body["metadata"])
    else:
        reply.body = view.of_object(body)

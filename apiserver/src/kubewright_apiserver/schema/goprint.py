"""How Go prints the API server's own types in messages: as JSON with Go's field names, nothing left out.

Refusals like ``field is immutable`` show the whole value, and a refused change of a pod shows the difference of two
values; both are in the server's internal types, whose fields and order are facts in ``data``.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from kubewright_apiserver.data import go_fields, internal_types
from kubewright_apiserver.golang import escaped_for_html, go_json
from kubewright_apiserver.status import Printed

__all__ = ["compact", "difference", "internal", "printed", "struct"]

_ZERO: Final = {
    "string": "",
    "types.UID": "",
    "types.NodeName": "",
    "core.ConditionStatus": "",
    "core.PodConditionType": "",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "resource.Quantity": "0",
    "intstr.IntOrString": 0,
}
_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_HOST_FIELDS: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")


def struct(value: dict[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """A value of a type on the wire with its fields in Go's order, empty ones left out."""
    return {name: value[name] for name in fields if value.get(name) not in (None, "", [], {}, False)}


def compact(value: Any) -> Printed:
    """A value in Go's JSON, keys as they come."""
    return Printed(go_json(value, is_struct=True))


def printed(go_type: str, value: Any) -> Printed:
    """A value on the wire as Go prints it once converted to an internal type such as ``core.PodTemplateSpec``."""
    return compact(internal(go_type, value))


def difference(go_type: str, old: Any, new: Any) -> str:
    """What changed between two values, as unified lines of their indented JSON."""
    lines = difflib.unified_diff(_lines(internal(go_type, old)), _lines(internal(go_type, new)))
    return "".join([*lines][2:])


def _lines(value: Any) -> list[str]:
    text = escaped_for_html(json.dumps(value, ensure_ascii=False, indent=1))
    return [f"{line}\n" for line in text.split("\n")]


def internal(go_type: str, value: Any) -> Any:
    """A value on the wire as JSON of an internal type, every field there."""
    if go_type.startswith("*"):
        return None if value is None else internal(go_type[1:], value)
    if go_type.startswith("[]byte"):
        return value
    if go_type.startswith("[]"):
        return None if value is None else [internal(go_type[2:], item) for item in value]
    if go_type.startswith("map[string]"):
        return None if value is None else {key: internal(go_type[11:], value[key]) for key in sorted(value)}
    fields = internal_types().get(go_type)
    if fields is None:
        return _plain(go_type, value)
    return dict(_struct_fields(fields, _converted(go_type, value or {})))


def _struct_fields(fields: list[list[str]], value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    for name, wire, go_type in fields:
        if name:
            yield name, internal(go_type, value.get(wire))
        elif go_type == "metav1.ObjectMeta":
            yield from _plain(go_type, value.get("metadata")).items()
        else:
            yield from internal(go_type, value).items()


def _plain(go_type: str, value: Any) -> Any:
    if go_type == "metav1.ObjectMeta":
        return _sorted_maps(struct(value or {}, go_fields()[_METADATA]))
    if go_type == "metav1.LabelSelector":
        return _sorted_maps(struct(value or {}, ("matchLabels", "matchExpressions")))
    return _ZERO.get(go_type) if value is None else value


def _sorted_maps(value: dict[str, Any]) -> dict[str, Any]:
    return {name: dict(sorted(part.items())) if isinstance(part, dict) else part for name, part in value.items()}


def _converted(go_type: str, value: dict[str, Any]) -> dict[str, Any]:
    """The value with what Kubernetes keeps elsewhere in its internal types than on the wire."""
    if go_type != "core.PodSpec":
        return value
    host = {name: value[name] for name in _HOST_FIELDS if name in value}
    account = value.get("serviceAccountName") or value.get("serviceAccount", "")
    return value | {"securityContext": {**(value.get("securityContext") or {}), **host}, "serviceAccountName": account}

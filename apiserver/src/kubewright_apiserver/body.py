"""Bodies of requests: which format they are in, and what they say.

The first station of every write: what is refused here was never looked at as an object.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import orjson

from kubewright_apiserver.json_tree import HugeNumber, MalformedJson, read_json, read_untyped
from kubewright_apiserver.protobuf import MalformedProtobuf, open_envelope
from kubewright_apiserver.status import Refusal, bad_request
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

__all__ = [
    "LARGEST_BODY",
    "Body",
    "body_format",
    "patch_format",
    "read_apply_body",
    "read_body",
    "read_options",
    "too_large",
    "unrecognized",
]

LARGEST_BODY: Final = 3 * 1024 * 1024
"""Bytes that a body may have; more are answered with ``too_large()``."""

_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE: Final = re.compile(
    rf'\s*({_TOKEN}/{_TOKEN})\s*((?:;\s*{_TOKEN}\s*=\s*(?:{_TOKEN}|"(?:[^"\\]|\\.)*")\s*)*);?\s*'
)
_PARAMETER: Final = re.compile(rf"({_TOKEN})\s*=")
_BODIES: Final = {
    "application/json": "json",
    "application/yaml": "yaml",
    "application/vnd.kubernetes.protobuf": "protobuf",
}
_PATCHES: Final = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/strategic-merge-patch+json": "strategic",
    "application/apply-patch+yaml": "apply",
}
_SHOWN: Final = 30


class Body(NamedTuple):
    """What a body says."""

    value: Any
    """The parsed JSON, or what YAML comes to as JSON."""
    sent: bytes
    """The body itself."""
    is_yaml: bool = False
    yaml_duplicates: tuple[str, ...] = ()
    """A message for each key that comes twice in a map of YAML."""
    huge: str = ""
    """The error of a number in a custom resource that is too large to be one."""
    message: bytes | None = None
    """The object itself, if the body is in protobuf; ``value`` is then only its kind and version."""

    @property
    def json(self) -> bytes:
        """The JSON that is decoded: the body itself, or what its YAML was turned into."""
        return orjson.dumps(self.value, option=orjson.OPT_SORT_KEYS) if self.is_yaml else self.sent


def body_format(content_type: str) -> str:
    """``json``, ``yaml`` or ``protobuf``: how the body of a create, update or delete is encoded; JSON if nobody says.

    Raises ``Refusal`` (415) for another type.
    """
    if not content_type:
        return "json"
    found = _MEDIA_TYPE.fullmatch(content_type)
    name = found[1].lower() if found and _are_unique(found[2]) else ""
    if name not in _BODIES:
        raise _unsupported(list(_BODIES))
    return _BODIES[name]


def _are_unique(parameters: str) -> bool:
    names = [name.lower() for name in _PARAMETER.findall(parameters)]
    return len(names) == len(set(names))


def patch_format(content_type: str, *, is_custom: bool) -> str:
    """``json``, ``merge``, ``strategic`` or ``apply``: how the body of a patch is meant.

    Raises ``Refusal`` (415): custom resources know no strategic merge, and their answer lists what they know; built-in
    ones are refused by the router, which lists nothing.
    """
    name = content_type.partition(";")[0].strip() if content_type.strip()[:1] != ";" else content_type
    accepted = [patch for patch in _PATCHES if not (is_custom and _PATCHES[patch] == "strategic")]
    if name in accepted:
        if content_type.partition(";")[0].lstrip() == name:
            return _PATCHES[name]
        raise _unsupported(accepted)
    if is_custom:
        raise _unsupported(accepted)
    raise Refusal(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


def _unsupported(accepted: list[str]) -> Refusal:
    listed = ", ".join(accepted)
    message = f"the body of the request was in an unknown format - accepted media types include: {listed}"
    return Refusal(415, "UnsupportedMediaType", message)


def too_large() -> Refusal:
    """413: the body has more than ``LARGEST_BODY`` bytes."""
    message = f"Request entity too large: limit is {LARGEST_BODY}"
    return Refusal(413, "RequestEntityTooLarge", message)


def read_body(data: bytes, content_type: str, kind: str, *, is_custom: bool = False) -> Body:
    """What the body of a create or update says, which should be an object of a kind.

    In custom resources numbers with a fraction or an exponent are floats even if they are whole, as Go has them.

    Raises ``Refusal``: 415 for a type of body that is none of JSON, YAML and protobuf, which custom resources do not
    have, 400 for a body that is not what its type says.
    """
    try:
        return _read(data, content_type, is_custom=is_custom)
    except _Unreadable as error:
        raise unrecognized(data, kind, str(error)) from None


def read_options(data: bytes, content_type: str) -> Body:
    """What the body of a delete says, which should be its options.

    Raises ``Refusal`` as ``read_body`` does, but in fewer words.
    """
    try:
        return _read(data, content_type, is_custom=False)
    except _Unreadable as error:
        raise bad_request(str(error)) from None


class _Unreadable(ValueError):
    """A body that is not what its type says."""


def _read(data: bytes, content_type: str, *, is_custom: bool) -> Body:
    format = body_format(content_type)
    if format == "protobuf":
        return _enveloped(data, is_custom=is_custom)
    if format == "yaml":
        try:
            value, duplicates = read_yaml(data)
        except MalformedYaml as error:
            raise _Unreadable(str(error)) from None
        return Body(value, data, is_yaml=True, yaml_duplicates=tuple(duplicates))
    try:
        return _untyped(data) if is_custom else Body(read_json(data), data)
    except MalformedJson as error:
        raise _Unreadable(f"couldn't get version/kind; json parse error: {error}") from None


def _enveloped(data: bytes, *, is_custom: bool) -> Body:
    """A body in protobuf. The real server drops the connection of who sends a custom resource so."""
    if is_custom:
        raise _unsupported([media for media in _BODIES if _BODIES[media] != "protobuf"])
    try:
        envelope = open_envelope(data)
    except MalformedProtobuf as error:
        raise _Unreadable(str(error)) from None
    said = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    return Body(said, data, message=envelope.message)


def _untyped(data: bytes) -> Body:
    try:
        return Body(read_untyped(data), data)
    except HugeNumber as error:
        return Body(read_json(data), data, huge=str(error))


def read_apply_body(data: bytes) -> Body:
    """What the body of a server-side apply says, JSON or YAML; nothing at all is an empty object.

    Raises ``Refusal`` (400).
    """
    try:
        value, duplicates = read_yaml(data)
    except MalformedYaml as error:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if value is not None and not isinstance(value, dict):
        what = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        why = f"json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    return Body(value or {}, data, is_yaml=True, yaml_duplicates=tuple(duplicates))


def unrecognized(data: bytes, kind: str, why: str) -> Refusal:
    """400: the body does not even tell what it is."""
    shown = data[:_SHOWN].decode(errors="replace") if data[:1] == b"{" else data[:_SHOWN].hex()
    more = " ..." if len(data) > _SHOWN else ""
    return bad_request(
        f"the object provided is unrecognized (must be of type {kind}): {why} ({shown or '<empty>'}{more})"
    )

"""Facts about the built-in API of Kubernetes, extracted from the real server by ``make facts``; see NOTICE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

__all__ = [
    "bootstrap_objects",
    "described_kinds",
    "flags",
    "go_fields",
    "internal_types",
    "messages",
    "resources",
    "roles",
    "schemas",
    "tables",
]


class _Facts(Mapping[str, Any]):
    """The entries of a file, each read when it is asked for: a server needs few of them, and all are large."""

    def __init__(self, name: str) -> None:
        self._unread: dict[str, msgspec.Raw] = msgspec.json.decode(_content(name), type=dict[str, msgspec.Raw])
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        found = self._read.get(name)
        if found is None:
            found = self._read[name] = msgspec.json.decode(self._unread[name])
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._unread

    def __iter__(self) -> Iterator[str]:
        return iter(self._unread)

    def __len__(self) -> int:
        return len(self._unread)


class _Described(msgspec.Struct):
    kinds: list[dict[str, str]] = msgspec.field(name="x-kubernetes-group-version-kind", default_factory=list)


def _content(name: str) -> bytes:
    return files(__name__).joinpath(name).read_bytes()


@cache
def schemas() -> Mapping[str, dict[str, Any]]:
    """OpenAPI v3 schemas by name, without descriptions: types, formats, required fields, list keys, kinds."""
    return _Facts("schemas.json")


@cache
def described_kinds() -> dict[str, list[dict[str, str]]]:
    """The ``group``, ``version`` and ``kind`` that each schema says it describes; only those that say so."""
    found = msgspec.json.decode(_content("schemas.json"), type=dict[str, _Described])
    return {name: described.kinds for name, described in found.items() if described.kinds}


@cache
def resources() -> dict[str, Any]:
    """What the server serves: ``kubernetes`` (its version), ``groups`` in order, and ``resources``."""
    document: dict[str, Any] = msgspec.json.decode(_content("resources.json"))
    return document


@cache
def go_fields() -> Mapping[str, dict[str, dict[str, Any]]]:
    """For each type and wire name how Go declares the field: its kind, whether it is a pointer, when it is left out."""
    return _Facts("go_fields.json")


@cache
def internal_types() -> Mapping[str, list[list[str]]]:
    """The server's own Go types that its messages print: for each the Go name, wire name and Go type of its fields."""
    return _Facts("internal_types.json")


@cache
def _bootstrap() -> bytes:
    return _content("bootstrap.json")


def bootstrap_objects(now: str) -> list[dict[str, Any]]:
    """What a server makes by itself at its start: for each the ``table`` that it is stored in, and the ``object``."""
    found: dict[str, list[dict[str, Any]]] = msgspec.json.decode(_bootstrap().replace(b"<now>", now.encode()))
    return found["objects"]


@cache
def _roles() -> bytes:
    return _content("roles.json")


def roles() -> list[dict[str, Any]]:
    """The roles and bindings that a server makes by itself, each without what all have in common."""
    found: dict[str, list[dict[str, Any]]] = msgspec.json.decode(_roles())
    return found["roles"]


@cache
def messages() -> Mapping[str, dict[str, list[str]]]:
    """The protobuf form of each type: by its number each field's wire name, its type, and Go's name if it differs."""
    return _Facts("messages.json")


@cache
def flags() -> dict[str, dict[str, str]]:
    """The flags of kube-apiserver: for each the ``type`` of its value, and why it is ``deprecated`` if it is."""
    found: dict[str, dict[str, str]] = msgspec.json.decode(_content("flags.json"))
    return found


@cache
def tables() -> Mapping[str, Any]:
    """The columns of the tables of each ``group/kind``; ``descriptions`` that they refer to; what is ``untabled``."""
    return _Facts("tables.json")

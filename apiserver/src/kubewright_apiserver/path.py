"""``Address``: what a URL points at: a resource at a version, in a namespace or not, one object or part of it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

__all__ = ["Address", "address_in", "asks_to_watch", "is_true"]

_PARTS_OF_NAMESPACES = frozenset(("status", "finalize"))


class Address(NamedTuple):
    """A place in the API."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()
    """What follows the subresource, for proxies."""
    is_watch: bool = False
    """Whether it is one of the old ``/watch/`` addresses."""


def address_in(path: str) -> Address | None:
    """The address in a path below ``/api/V`` or ``/apis/G/V``, or None if it names no resource."""
    if "%" in path:
        # What is no Unicode is kept, for refusals to tell of it.
        path = unquote(path, errors="surrogateescape")
    if path.startswith("//"):
        return None
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, parts = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4 and parts[1]:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    is_watch = parts[0] == "watch" and len(parts) > 1
    if is_watch:
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and not (len(parts) == 3 and parts[2] in _PARTS_OF_NAMESPACES):
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource, *rest = [*parts, "", "", ""][: max(3, len(parts))]
    return Address(group, version, plural, namespace, name, subresource, tuple(filter(None, rest)), is_watch)


def is_true(parameter: str | None) -> bool:
    """What a query parameter says, None if it is not there; every word is a yes but ``false`` and ``0``, as in Go."""
    return parameter is not None and parameter.lower() not in ("false", "0")


def asks_to_watch(address: Address, parameter: str | None) -> bool:
    """Whether a read of this address means a watch, by its old form or by the query parameter ``watch``."""
    return address.is_watch or (bool(address.plural) and not address.name and is_true(parameter))

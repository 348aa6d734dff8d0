"""``Attributes``: what a request wants to do, in the terms that authorization decides by."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from kubewright_apiserver.path import address_in, is_true
from kubewright_apiserver.query import read_query
from kubewright_apiserver.selectors import field_terms, requires_single_name
from kubewright_apiserver.status import Refusal

__all__ = ["Attributes", "attributes_of", "is_plain"]

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_IN_PATHS: Final = ("proxy", "watch")
_PARTS_OF_NAMESPACES: Final = ("status", "finalize")
_MOST_KEPT: Final = 4096
# A path may have a million letters.
_LONGEST_KEPT: Final = 1024


class Attributes(NamedTuple):
    """What somebody wants to do: a verb on a resource, or on a path that is none."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    version: str = ""
    path: str = ""
    is_resource: bool = True

    @property
    def part(self) -> str:
        """The resource, with its subresource if there is one: ``pods/status``."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(method: str, path: str, query: str = "") -> Attributes:
    """What a request wants to do, as kube-apiserver reads it from the URL alone, be there such a resource or not."""
    is_long = len(path) + len(query) > _LONGEST_KEPT
    return _attributes_of.__wrapped__(method, path, query) if is_long else _attributes_of(method, path, query)


@lru_cache(_MOST_KEPT)
def _attributes_of(method: str, path: str, query: str) -> Attributes:
    if "%" in path:
        path = unquote(path)
    parts = path.strip("/").split("/")
    first = {"api": 1, "apis": 2}.get(parts[0], len(parts))
    if len(parts) < first + 2:
        return Attributes(method.lower(), path=path, is_resource=False)
    verb, place = _VERBS.get(method, ""), parts[first + 1 :]
    if place[0] in _VERBS_IN_PATHS and len(place) > 1:
        verb, place = place[0], place[1:]
    namespace = place[1] if place[0] == "namespaces" and len(place) > 1 else ""
    if namespace and len(place) > 2 and place[2] not in _PARTS_OF_NAMESPACES:
        place = place[2:]
    name = place[1] if len(place) > 1 else ""
    subresource = place[2] if len(place) > 2 and verb != "proxy" else ""
    if not name:
        verb, name = _of_many(verb, query)
    group = parts[1] if first == 2 else ""
    return Attributes(verb, group, place[0], subresource, namespace, name, parts[first], path)


def is_plain(path: str) -> bool:
    """Whether what is decided about a path is what would be done there: some paths can be read in two ways."""
    return _is_plain.__wrapped__(path) if len(path) > _LONGEST_KEPT else _is_plain(path)


@lru_cache(_MOST_KEPT)
def _is_plain(path: str) -> bool:
    address = address_in(path)
    if address is None:
        return True
    read = attributes_of("GET", path)
    namespace = "" if read.resource == "namespaces" and not read.group else read.namespace
    return (read.group, read.version, read.resource, read.subresource, namespace, read.name) == (
        address.group,
        address.version,
        address.plural,
        address.subresource,
        address.namespace,
        address.name,
    )


def _of_many(verb: str, query: str) -> tuple[str, str]:
    """The verb that a request without a name means, and the one name that it selects by."""
    if verb == "delete":
        return "deletecollection", ""
    if verb != "get":
        return verb, ""
    if not query:
        return "list", ""
    parameters = read_query(query)
    is_watch = "watch" in parameters and is_true(parameters["watch"][0])
    return ("watch" if is_watch else "list"), _selected_name(parameters.get("fieldSelector", ()))


def _selected_name(selectors: list[str] | tuple[str, ...]) -> str:
    try:
        name = requires_single_name(field_terms(selectors[0])) if selectors else None
    except Refusal:
        return ""
    return name if name and name not in (".", "..") and not {"/", "%"} & set(name) else ""

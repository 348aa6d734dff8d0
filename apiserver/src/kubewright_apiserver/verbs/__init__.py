"""What can be done to objects: one file a verb; ``verb_for`` finds the one that a request means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from kubewright_apiserver.path import Address, asks_to_watch
from kubewright_apiserver.registry import Served
from kubewright_apiserver.verbs.binding import bind_pod
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.creating import create_object
from kubewright_apiserver.verbs.deleting import delete_collection, delete_object
from kubewright_apiserver.verbs.metadata import check_name
from kubewright_apiserver.verbs.patching import patch_object
from kubewright_apiserver.verbs.reading import get_object, list_objects
from kubewright_apiserver.verbs.subresources import subresource_verb
from kubewright_apiserver.verbs.tabling import has_table, tabled_reply
from kubewright_apiserver.verbs.updating import update_object
from kubewright_apiserver.verbs.watching import watch_objects

__all__ = ["Call", "Reply", "Verb", "check_name", "has_table", "tabled_reply", "verb_for"]

Verb = Callable[[Call], Awaitable[Reply]]

_ON_ONE: Mapping[str, tuple[str, Verb]] = {
    "GET": ("get", get_object),
    "HEAD": ("get", get_object),
    "PUT": ("update", update_object),
    "PATCH": ("patch", patch_object),
    "DELETE": ("delete", delete_object),
}
_ON_ALL: Mapping[str, tuple[str, Verb]] = {
    "GET": ("list", list_objects),
    "HEAD": ("list", list_objects),
    "POST": ("create", create_object),
    "DELETE": ("deletecollection", delete_collection),
}


def verb_for(method: str, address: Address, served: Served, query: Mapping[str, list[str]]) -> Verb | None:
    """The verb that a method means at an address, or None if the resource has none such."""
    # Built-in resources are routed by method, and nobody made a route for HEAD.
    if (method == "HEAD" and served.crd is None) or (address.is_watch and method not in ("GET", "HEAD")):
        return None
    if address.subresource:
        part = served.subresources.get(address.subresource)
        return subresource_verb(method, address.subresource, part) if part is not None else None
    if served.namespaced and address.name and not address.namespace:
        return None
    if (served.group, served.plural, method) == ("", "bindings", "POST") and address.namespace and not address.name:
        return bind_pod
    is_watch = asks_to_watch(address, query["watch"][0] if "watch" in query else None)
    if method in ("GET", "HEAD") and is_watch and "watch" in served.verbs:
        return watch_objects
    found = (_ON_ONE if address.name else _ON_ALL).get(method)
    # A custom resource whose definition goes tells of fewer verbs than it takes.
    if found is None or (found[0] not in served.verbs and served.crd is None):
        return None
    if found[0] in ("create", "deletecollection") and served.namespaced and not address.namespace:
        return None
    return found[1]

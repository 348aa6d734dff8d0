"""What admission has to say before something is stored: about namespaces for now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.defaulting import admit
from kubewright_apiserver.status import Refusal, forbidden, not_found
from kubewright_apiserver.verbs.call import Call

__all__ = ["admit_create", "admit_delete", "admit_update"]

_IMMORTAL: Final = frozenset(("default", "kube-system", "kube-public"))
_WITHOUT_NAMESPACE: Final = frozenset(("localsubjectaccessreviews",))


def admit_create(call: Call, obj: dict[str, Any]) -> None:
    """Refuse new content in a namespace that is not there or is ending; fill in what plug-ins fill in."""
    if call.served.namespaced and call.served.plural not in _WITHOUT_NAMESPACE:
        _check_namespace(call, obj)
    admit(call.served.group, call.served.kind, obj, None, _listing(call))


def admit_update(call: Call, obj: dict[str, Any], live: dict[str, Any]) -> None:
    """Fill in what plug-ins fill in on updates."""
    if not call.address.subresource:
        admit(call.served.group, call.served.kind, obj, live, _listing(call))


def _listing(call: Call) -> Callable[[str, str], list[dict[str, Any]]]:
    """What plug-ins find other objects by."""
    store = call.engine.store
    return lambda group, plural: [row.obj for row in store.table(f"{group}/{plural}").list().rows]


def admit_delete(call: Call, obj: dict[str, Any]) -> None:
    """Refuse to delete the namespaces that every cluster has."""
    if (call.served.group, call.served.plural) == ("", "namespaces") and obj["metadata"]["name"] in _IMMORTAL:
        raise forbidden("", "namespaces", obj["metadata"]["name"], "this namespace may not be deleted")


def _check_namespace(call: Call, obj: dict[str, Any]) -> None:
    name = call.address.namespace
    namespace = call.engine.find("/namespaces", name)
    if namespace is None:
        raise not_found("", "namespaces", name)
    if namespace.get("status", {}).get("phase") != "Terminating":
        return
    why = f"unable to create new content in namespace {name} because it is being terminated"
    known_as = obj["metadata"].get("name") or obj["metadata"].get("generateName", "")
    refusal = forbidden(call.served.group, call.served.plural, known_as, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    details = {**(refusal.details or {}), "causes": [cause]}
    raise Refusal(refusal.code, refusal.reason, refusal.message, details=details)

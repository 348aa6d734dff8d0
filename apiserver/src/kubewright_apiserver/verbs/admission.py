"""What admission has to say: plug-ins are asked before something is filled in by its kind, and before it is stored."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from kubewright_apiserver.access.attributes import Attributes as Asked
from kubewright_apiserver.admission import Attributes
from kubewright_apiserver.engine import resource_name
from kubewright_apiserver.verbs.call import Call

__all__ = [
    "admit_create",
    "admit_delete",
    "admit_update",
    "attributes_of",
    "default_account_awaited",
    "validate_create",
    "validate_update",
]

Object = dict[str, Any]

_LOOKS, _PAUSE = 10, 0.1
_DEFAULT: Final = "default"


async def default_account_awaited(call: Call, obj: Object) -> None:
    """Give a controller a second to make the account of a new namespace, before a pod is refused that runs as it."""
    if resource_name(call.served) != "/pods" or "ServiceAccount" not in call.engine.plugins.names:
        return
    namespace = call.address.namespace
    if ((obj.get("spec") or {}).get("serviceAccountName") or _DEFAULT) != _DEFAULT:
        return
    for _ in range(_LOOKS - 1):
        has_account = call.engine.find("/serviceaccounts", f"{namespace}/{_DEFAULT}") is not None
        if has_account or call.engine.find("/namespaces", namespace) is None:
            return
        await asyncio.sleep(_PAUSE)


def admit_create(call: Call, obj: Object) -> None:
    """Let plug-ins fill in a new object or a new part of one, or refuse it."""
    call.engine.plugins.admit(attributes_of(call, "CREATE", obj))


def admit_update(call: Call, obj: Object, live: Object) -> None:
    """Let plug-ins fill in a changed object, or refuse it."""
    call.engine.plugins.admit(attributes_of(call, "UPDATE", obj, live))


def validate_create(call: Call, obj: Object) -> None:
    """Let plug-ins refuse a new object that is about to be stored."""
    if _is_watched(call, "CREATE"):
        call.engine.plugins.validate(attributes_of(call, "CREATE", obj))


def validate_update(call: Call, obj: Object, live: Object) -> None:
    """Let plug-ins refuse a change that is about to be stored."""
    if _is_watched(call, "UPDATE"):
        call.engine.plugins.validate(attributes_of(call, "UPDATE", obj, live))


def admit_delete(call: Call, obj: Object) -> None:
    """Let plug-ins refuse that something is deleted."""
    call.engine.plugins.admit(attributes_of(call, "DELETE", obj, obj))


def _is_watched(call: Call, operation: str) -> bool:
    """Whether any plug-in validates such writes; most are nobody's concern."""
    resource, subresource = resource_name(call.served), call.admitted_as
    return bool(call.engine.plugins.acting(operation, resource, subresource, validates=True))


def attributes_of(call: Call, operation: str, obj: Object, old: Object | None = None) -> Attributes:
    """A write as plug-ins see it."""
    address = call.address
    attributes = Attributes(
        call.engine,
        operation,
        resource_name(call.served),
        obj,
        subresource=call.admitted_as,
        namespace=address.namespace if call.served.namespaced else "",
        name=address.name,
        old=old,
    )
    attributes.warnings = call.warnings
    attributes.allows = lambda verb, resource, name: _is_allowed(call, verb, resource, name)
    return attributes


def _is_allowed(call: Call, verb: str, resource: str, name: str) -> bool:
    group, _, plural = resource.rpartition("/")
    return call.engine.access.authorizer.decide(call.user, Asked(verb, group, plural, name=name)).allowed

"""NamespaceLifecycle: nothing new in a namespace that is not there or ends, and some namespaces stay for ever."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Rule
from kubewright_apiserver.status import forbidden, not_found

__all__ = ["RULES"]

_IMMORTAL: Final = frozenset(("default", "kube-system", "kube-public"))
_NAMESPACES: Final = "/namespaces"
# Whether a namespace is there is nothing that everybody may find out by asking for rights in it.
_SECRETIVE: Final = "authorization.k8s.io/localsubjectaccessreviews"


def _keep_out(attributes: Attributes) -> None:
    name = attributes.namespace
    if not name or attributes.resource in (_NAMESPACES, _SECRETIVE):
        return
    namespace = attributes.cluster.find(_NAMESPACES, name)
    if namespace is None:
        raise not_found("", "namespaces", name)
    if attributes.operation != "CREATE" or (namespace.get("status") or {}).get("phase") != "Terminating":
        return
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    why = f"unable to create new content in namespace {name} because it is being terminated"
    raise attributes.refusal(why, [cause])


def _keep_alive(attributes: Attributes) -> None:
    if attributes.name in _IMMORTAL:
        raise forbidden("", "namespaces", attributes.name, "this namespace may not be deleted")


RULES: Final = (
    Rule("NamespaceLifecycle", ("CREATE", "UPDATE"), "*", _keep_out, subresource="*"),
    Rule("NamespaceLifecycle", ("DELETE",), _NAMESPACES, _keep_alive),
)

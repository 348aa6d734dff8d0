"""Reads the roles and bindings that a server makes by itself when it starts; what all have in common is left out."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from kubewright_apiserver.access.policy import policy_object
from tools.facts.reading import Get

__all__ = ["read_roles"]

_ROOT: Final = "/apis/rbac.authorization.k8s.io/v1"
_KINDS: Final = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}
_COMMON: Final = ("kubernetes.io/bootstrapping",)
_PAUSE: Final = 2.0


async def read_roles(get: Get) -> dict[str, Any]:
    """The facts that the server's objects can be made of again."""
    found, before = await _facts(get), None
    while found != before:
        # The server makes them in the background.
        await asyncio.sleep(_PAUSE)
        found, before = await _facts(get), found
    return {"roles": found}


async def _facts(get: Get) -> list[dict[str, Any]]:
    lists = {kind: await get(f"{_ROOT}/{plural}") for kind, plural in _KINDS.items()}
    return [_fact(kind, item) for kind, listed in lists.items() for item in listed["items"]]


def _fact(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    fact: dict[str, Any] = {"kind": kind, "name": metadata["name"]}
    if "namespace" in metadata:
        fact["namespace"] = metadata["namespace"]
    labels = {name: value for name, value in metadata["labels"].items() if name not in _COMMON}
    if labels:
        fact["labels"] = labels
    fact |= {name: value for name, value in item.items() if name != "metadata"}
    _check(fact, item)
    return fact


def _check(fact: dict[str, Any], item: dict[str, Any]) -> None:
    """Raise if the object cannot be made of the fact again."""
    metadata = item["metadata"]
    made = policy_object(fact, metadata["creationTimestamp"], metadata["uid"])
    told = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    whole = {"kind": fact["kind"], "apiVersion": made["apiVersion"], **item, "metadata": told}
    if made != whole:
        raise RuntimeError(f"{fact['kind']} {fact['name']} is not made as the others are: {made} is not {whole}")

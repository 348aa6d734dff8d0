"""Objects that admission plug-ins look at, and the means to wait until the real ones have heard of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from conformance.exchange import Api

__all__ = [
    "ATTRIBUTES_CLASSES",
    "CLAIMS",
    "DEFAULT_INGRESS",
    "DEFAULT_STORAGE",
    "INGRESSES",
    "INGRESS_CLASSES",
    "NAMESPACES",
    "NODES",
    "NOT_READY",
    "PRIORITY_CLASSES",
    "RUNTIME_CLASSES",
    "STORAGE_CLASSES",
    "UNREACHABLE",
    "VOLUMES",
    "claim",
    "existing",
    "ingress",
    "seen",
    "storage_class",
]

NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
STORAGE_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
PRIORITY_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
INGRESS_CLASSES = "/apis/networking.k8s.io/v1/ingressclasses"
INGRESSES = "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses"
ATTRIBUTES_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
DEFAULT_STORAGE = "storageclass.kubernetes.io/is-default-class"
DEFAULT_INGRESS = "ingressclass.kubernetes.io/is-default-class"


@asynccontextmanager
async def existing(api: Api, path: str, body: dict[str, Any]) -> AsyncIterator[str]:
    """An object of the whole cluster that goes with the case; its name has the case's namespace in it."""
    name = f"{api.namespace}-{body['metadata']['name']}"
    with api.unrecorded():
        await api.post(path, {**body, "metadata": {**body["metadata"], "name": name}})
    try:
        yield name
    finally:
        with api.unrecorded():
            await api.delete(f"{path}/{name}", query={"gracePeriodSeconds": 0})


async def seen(api: Api, path: str, body: dict[str, Any], holds: Callable[[dict[str, Any]], bool]) -> None:
    """Wait until plug-ins know what was created before: the real ones hear of it by a watch."""
    with api.unrecorded():
        for _ in range(200):
            answer = await api.post(path, body, query={"dryRun": "All"})
            if holds(answer.body):
                return
    raise AssertionError(f"it was never seen: {answer.text}")


def claim(name: str = "c", storage: str = "1Gi", annotations: dict[str, str] | None = None, **spec: Any) -> Any:
    """A PersistentVolumeClaim."""
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return {"metadata": {"name": name, **({"annotations": annotations} if annotations else {})}, "spec": asked}


def storage_class(name: str, annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    """A StorageClass."""
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "provisioner": "example.com/p", **fields}


def ingress(name: str = "i", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """An Ingress."""
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    metadata = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"defaultBackend": backend, **spec}}

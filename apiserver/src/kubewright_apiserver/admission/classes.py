"""DefaultStorageClass and DefaultIngressClass: what names no class gets the newest one that is marked as default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Cluster, Rule
from kubewright_apiserver.defaulting.parts import part

__all__ = ["RULES"]

_DEFAULT_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)


def _set_storage_class(attributes: Attributes) -> None:
    _set_class(
        attributes,
        "storageClassName",
        unless="volume.beta.kubernetes.io/storage-class",
        default=lambda: _newest_default(attributes.cluster, "storage.k8s.io/storageclasses", _DEFAULT_STORAGE),
    )


def _set_ingress_class(attributes: Attributes) -> None:
    _set_class(
        attributes,
        "ingressClassName",
        unless="kubernetes.io/ingress.class",
        default=lambda: _newest_default(attributes.cluster, "networking.k8s.io/ingressclasses", _DEFAULT_INGRESS),
    )


def _set_class(attributes: Attributes, field: str, *, unless: str, default: Callable[[], str]) -> None:
    spec = part(attributes.obj, "spec")
    annotations = (attributes.obj.get("metadata") or {}).get("annotations") or {}
    if spec.get(field) is None and unless not in annotations and (found := default()):
        spec[field] = found


def _newest_default(cluster: Cluster, table: str, marks: tuple[str, ...]) -> str:
    marked = [
        one["metadata"]
        for one in cluster.listed(table)
        if any((one["metadata"].get("annotations") or {}).get(mark) == "true" for mark in marks)
    ]
    by_name = sorted(marked, key=lambda metadata: str(metadata["name"]))
    newest = max(by_name, key=lambda metadata: str(metadata.get("creationTimestamp", "")), default={"name": ""})
    return str(newest["name"])


RULES: Final = (
    Rule("DefaultStorageClass", ("CREATE",), "/persistentvolumeclaims", _set_storage_class),
    Rule("DefaultIngressClass", ("CREATE",), "networking.k8s.io/ingresses", _set_ingress_class),
)

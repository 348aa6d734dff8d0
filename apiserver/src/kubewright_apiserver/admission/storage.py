"""StorageObjectInUseProtection and PersistentVolumeClaimResize: what is in use stays, and grows where it can."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.defaulting.parts import part
from kubewright_apiserver.schema.amount import amount_or_zero

__all__ = ["RULES"]

_CLAIMS: Final = "/persistentvolumeclaims"
_PROTECTION: Final = {
    "/persistentvolumes": "kubernetes.io/pv-protection",
    _CLAIMS: "kubernetes.io/pvc-protection",
    "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
}


def _protect(attributes: Attributes) -> None:
    """Add the finalizer that keeps storage in use from being deleted."""
    finalizer = _PROTECTION[attributes.resource]
    finalizers = part(attributes.obj, "metadata").setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _check_growth(attributes: Attributes) -> None:
    claim, old = attributes.obj, attributes.old or {}
    if not _is_larger(claim, old):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise attributes.refusal("Only bound persistent volume claims can be expanded")
    name = _class_of(claim)
    found = attributes.cluster.find("storage.k8s.io/storageclasses", name) if name and name == _class_of(old) else None
    if found is None or not found.get("allowVolumeExpansion"):
        why = (
            "only dynamically provisioned pvc can be resized and "
            "the storageclass that provisions the pvc must support resize"
        )
        raise attributes.refusal(why)


def _is_larger(claim: Object, old: Object) -> bool:
    wanted, had = _size(claim), _size(old)
    return wanted != had and amount_or_zero(wanted).nanos > amount_or_zero(had).nanos


def _size(claim: Object) -> str:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return str(requests.get("storage", "0"))


def _class_of(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    annotated = annotations.get("volume.beta.kubernetes.io/storage-class")
    return str(annotated if annotated is not None else (claim.get("spec") or {}).get("storageClassName") or "")


RULES: Final = (
    *(Rule("StorageObjectInUseProtection", ("CREATE",), resource, _protect) for resource in _PROTECTION),
    Rule("PersistentVolumeClaimResize", ("UPDATE",), _CLAIMS, _check_growth, validates=True),
)

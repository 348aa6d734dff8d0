"""Which secrets a pod reads, wherever it names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubewright_apiserver.admission.attributes import Object

__all__ = ["environment_secrets", "secret_names"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_REFERENCES: Final = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")


def secret_names(spec: Object) -> Iterator[str]:
    """The names of all secrets in the spec of a pod."""
    names = (str(name) for name in _names(spec))
    yield from filter(None, names)


def _names(spec: Object) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            yield from (name for _, name in environment_secrets(container))
    for volume in spec.get("volumes") or ():
        yield from _of_volume(volume)


def environment_secrets(container: Object) -> Iterator[tuple[str, str]]:
    """The secrets that the environment of a container is made from, each behind the words for where it is named."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield "envFrom", source["secretRef"].get("name", "")


def _of_volume(volume: Object) -> Iterator[str]:
    for kind in ("azureFile", "secret"):
        yield (volume.get(kind) or {}).get("secretName", "")
    for kind in _REFERENCES:
        yield ((volume.get(kind) or {}).get("secretRef") or {}).get("name", "")
    yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield (source.get("secret") or {}).get("name", "")

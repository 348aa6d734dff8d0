"""Warnings about volumes: plugins that are gone, files that hide each other, sizes that are no whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.schema.amount import canonical, millis
from kubewright_apiserver.validation.rules import Object

__all__ = ["GONE", "claim_spec_warnings", "fraction_warnings", "overlap_warnings", "plugin_warnings"]

GONE: Final = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "ephemeral": "",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
"""What is said of the plugins that are no more, in its order; ``ephemeral`` ones are looked at in turn."""
_PRINTED: Final = {"storageos": "storageOS"}


class _File(NamedTuple):
    """A path in a volume, and where it comes from."""

    path: str
    source: str

    def __str__(self) -> str:
        return f"{go_quoted(self.path)} ({self.source})" if self.source else go_quoted(self.path)


def fraction_warnings(path: str, amounts: dict[str, str] | None, *names: str) -> Iterator[str]:
    """Warnings about bytes that are not whole."""
    for name in names:
        amount = (amounts or {}).get(name)
        if amount is not None and millis(amount) % 1000:
            shown = go_quoted(canonical(amount))
            yield f"{path}[{name}]: fractional byte value {shown} is invalid, must be an integer"


def claim_spec_warnings(path: str, spec: Object) -> Iterator[str]:
    """Warnings about what a claim asks for."""
    resources = spec.get("resources") or {}
    for part in ("requests", "limits"):
        yield from fraction_warnings(f"{path}.resources.{part}", resources.get(part), "storage")


def plugin_warnings(path: str, volumes: list[Object]) -> Iterator[str]:
    """Warnings about volumes that no node can mount any more."""
    for index, volume in enumerate(volumes):
        for name, told in GONE.items():
            if volume.get(name) is None:
                continue
            where = f"{path}[{index}].{_PRINTED.get(name, name)}"
            template = volume[name].get("volumeClaimTemplate")
            if told:
                yield f"{where}: {told}"
            elif template is not None:
                yield from claim_spec_warnings(f"{where}.volumeClaimTemplate.spec", template["spec"])


def overlap_warnings(volumes: list[Object]) -> Iterator[str]:
    """Warnings about files of a volume that are written to the same place."""
    for volume in volumes:
        for described, files in _listed(volume):
            yield from _collisions(volume["name"], described, files)
        if volume.get("projected") is not None:
            yield from _projected(volume["name"], volume["projected"].get("sources") or [])


def _listed(volume: Object) -> Iterator[tuple[str, list[_File]]]:
    config, secret, downward = volume.get("configMap"), volume.get("secret"), volume.get("downwardAPI")
    if config is not None:
        yield f"ConfigMap {go_quoted(config.get('name', ''))}", _files(config, "")
    if secret is not None:
        yield f"Secret {go_quoted(secret.get('secretName', ''))}", _files(secret, "")
    if downward is not None:
        yield "DownwardAPI", _files(downward, "")


def _files(source: Object, described: str) -> list[_File]:
    return [_File(item.get("path", "").rstrip("/"), described) for item in source.get("items") or ()]


def _collisions(name: str, described: str, files: list[_File]) -> Iterator[str]:
    for index, file in enumerate(files):
        for other in files[:index]:
            if _overlap(file.path, other.path):
                yield f"volume {go_quoted(name)} ({described}): overlapping paths: {file} with {other}"


def _overlap(one: str, other: str) -> bool:
    if not one or not other:
        return False
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _projected(name: str, sources: list[Object]) -> Iterator[str]:
    files: list[_File] = []
    for source in sources:
        if not any(value is not None for value in source.values()):
            yield f"volume {go_quoted(name)} (Projected) has no sources provided"
        for file in _projected_files(source):
            for other in files:
                if _overlap(file.path, other.path):
                    yield f"volume {go_quoted(name)} (Projected): overlapping paths: {file} with {other}"
            files.append(file)


def _projected_files(source: Object) -> list[_File]:
    """The files of the first of a source's kinds that has any."""
    config, secret, downward = (source.get(kind) or {} for kind in ("configMap", "secret", "downwardAPI"))
    if config.get("items"):
        return _files(config, f"ConfigMap {go_quoted(config.get('name', ''))}")
    if secret.get("items"):
        return _files(secret, f"Secret {go_quoted(secret.get('name', ''))}")
    if downward.get("items"):
        return _files(downward, "DownwardAPI")
    if source.get("serviceAccountToken") is not None:
        return [_File(source["serviceAccountToken"].get("path", "").rstrip("/"), "ServiceAccountToken")]
    bundle = source.get("clusterTrustBundle")
    if bundle is not None:
        named = bundle.get("name") if bundle.get("name") is not None else bundle.get("signerName", "")
        return [_File(bundle.get("path", "").rstrip("/"), f"ClusterTrustBundle {go_quoted(named)}")]
    return _certificate_files(source.get("podCertificate") or {})


def _certificate_files(certificate: Object) -> list[_File]:
    kinds = {"certificateChainPath": "chain", "keyPath": "key", "credentialBundlePath": "credential bundle"}
    return [
        _File(certificate[field].rstrip("/"), f"PodCertificate {kind}")
        for field, kind in kinds.items()
        if certificate.get(field)
    ]

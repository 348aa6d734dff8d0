"""Reads the API server's internal types, in whose Go names some of its refusals print values, from its Go sources."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

__all__ = ["read_internal_types"]

_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED: Final = re.compile(r"^type (\w+) ([\[\]\w.*]+)$", re.MULTILINE)
_FIELD: Final = re.compile(r"^\t(\w+)\s+([\[\]\w.*]+)(?:\s+`json:\"([^\",]*)[^`]*`)?\s*(?://.*)?$")
_INLINED: Final = re.compile(r"^\t([\w.]+)(?:\s+`json:\",inline\"[^`]*`)?\s*(?://.*)?$")
_VERSIONED: Final = {"autoscaling": "v2"}

# The types that refusals print, each with what it is made of.
_ROOTS: Final = (
    "admissionregistration.AuditAnnotation",
    "apps.DaemonSetUpdateStrategy",
    "apps.DeploymentStrategy",
    "apps.RollingUpdateStatefulSetStrategy",
    "apps.StatefulSetUpdateStrategy",
    "authorization.NonResourceAttributes",
    "autoscaling.HorizontalPodAutoscalerBehavior",
    "batch.PodFailurePolicy",
    "batch.SuccessPolicy",
    "batch.UncountedTerminatedPods",
    "certificates.CertificateSigningRequestCondition",
    "certificates.PodCertificateRequestSpec",
    "core.ClusterTrustBundleProjection",
    "core.ContainerResizePolicy",
    "core.EphemeralContainer",
    "core.EventSource",
    "core.HostIP",
    "core.NodeAddress",
    "core.ObjectReference",
    "core.PersistentVolumeClaimSpec",
    "core.PersistentVolumeSource",
    "core.PodIP",
    "core.PodResourceClaim",
    "core.PodTemplateSpec",
    "core.ScopeSelector",
    "core.SeccompProfile",
    "core.SecurityContext",
    "core.ServicePort",
    "core.Taint",
    "core.Toleration",
    "core.VolumeNodeAffinity",
    "flowcontrol.FlowDistinguisherMethod",
    "flowcontrol.FlowSchemaSpec",
    "flowcontrol.PriorityLevelConfigurationSpec",
    "networking.IngressRule",
    "networking.ParentReference",
    "networking.ServiceCIDRSpec",
    "policy.PodDisruptionBudgetSpec",
    "rbac.RoleRef",
    "storage.CSINodeDriver",
    "storage.VolumeAttachmentSpec",
    "storagemigration.StorageVersionMigrationSpec",
)


def read_internal_types() -> dict[str, list[list[str]]]:
    """For each type its fields in order: Go's name, the name on the wire, Go's type; an inlined one has no name."""
    server, api = _folder("k8s.io/kubernetes"), _folder("k8s.io/api")
    found: dict[str, list[list[str]]] = {}
    waiting = list(_ROOTS)
    packages: dict[str, _Package] = {}
    while waiting:
        name = waiting.pop()
        package, _, short = name.partition(".")
        if package not in packages:
            packages[package] = _Package(server, api, package)
        if name in found or not packages[package].has(short):
            continue
        found[name] = packages[package].fields(short)
        waiting += [re.sub(r"^[\[\]*]*(map\[\w+\])?[\[\]*]*", "", go_type) for _, _, go_type in found[name]]
    return dict(sorted(found.items()))


class _Package:
    """The internal types of one group beside its types on the wire."""

    def __init__(self, server: Path, api: Path, package: str) -> None:
        self._name = package
        folder = server / "pkg/apis" / package
        source = (folder / "types.go").read_text() if folder.is_dir() else ""
        wire = api / package / _VERSIONED.get(package, "v1") / "types.go"
        if not wire.exists():
            wire = api / package / "v1beta1/types.go"
        text = wire.read_text() if wire.exists() else ""
        self._structs: dict[str, str] = dict(_STRUCT.findall(source))
        self._aliases: dict[str, str] = dict(_NAMED.findall(source))
        self._wire: dict[str, str] = dict(_STRUCT.findall(text))

    def has(self, short: str) -> bool:
        return short in self._structs

    def fields(self, short: str) -> list[list[str]]:
        wire_names = dict(self._wire_names(short))
        fields = []
        for line in self._structs[short].splitlines():
            if match := _FIELD.match(line):
                name, go_type, _ = match.groups()
                fields.append([name, wire_names.get(name, name[0].lower() + name[1:]), self._resolved(go_type)])
            elif match := _INLINED.match(line):
                fields.append(["", "", self._resolved(match[1])])
        return fields

    def _wire_names(self, short: str) -> list[tuple[str, str]]:
        matches = (_FIELD.match(line) for line in self._wire.get(short, "").splitlines())
        return [(match[1], match[3]) for match in matches if match and match[3]]

    def _resolved(self, go_type: str) -> str:
        """The type with the package named and aliases for plain types replaced by these."""
        match = re.fullmatch(r"([\[\]*]*(?:map\[\w+\])?[\[\]*]*)([\w.]+)", go_type)
        if match is None:
            return go_type
        prefix, name = match.groups()
        prefix = re.sub(r"map\[\w+\]", "map[string]", prefix)
        package, _, short = name.rpartition(".")
        package = {"api": "core"}.get(package, package)
        if not package and name in self._aliases:
            return prefix + self._resolved(self._aliases[name])
        if not package and name in self._structs:
            return f"{prefix}{self._name}.{name}"
        return f"{prefix}{package}.{short}" if package else prefix + name


def _folder(module: str) -> Path:
    version = "v1.36.3" if module == "k8s.io/kubernetes" else "v0.36.3"
    run = subprocess.run(["go", "env", "GOMODCACHE"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(run.stdout.strip()) / f"{module}@{version}"

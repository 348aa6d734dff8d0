"""The spec of pods and of templates of pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import FieldError, duplicate, forbidden_field, invalid_field, required
from kubewright_apiserver.validation.container import Surroundings, containers, ephemeral_containers, init_containers
from kubewright_apiserver.validation.labels import label_errors
from kubewright_apiserver.validation.names import between, dns_label, dns_subdomain, qualified_name
from kubewright_apiserver.validation.pod_network import dns_config, host_alias, host_network_ports, hostname_override
from kubewright_apiserver.validation.pod_os import operating_system
from kubewright_apiserver.validation.pod_resources import pod_resources
from kubewright_apiserver.validation.resources import requirements
from kubewright_apiserver.validation.rules import Errors, Object, enumerated, named, named_if_set, qualified_errors
from kubewright_apiserver.validation.scheduling import affinity, tolerations, topology_spread
from kubewright_apiserver.validation.security import all_containers, pod_security, windows_host_process
from kubewright_apiserver.validation.volume import volumes

__all__ = ["MIRROR", "pod_spec"]

MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of pods that a kubelet shows of its own accord."""

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MOST_SECONDS: Final = 2**31 - 1


def pod_spec(spec: Object, path: str, metadata: Object | None) -> Errors:
    """The errors of a pod's spec; ``metadata`` is that of the pod, None in a template."""
    grace = spec.get("terminationGracePeriodSeconds")
    errors = [required(f"{path}.terminationGracePeriodSeconds")] if grace is None else []
    name = metadata.get("name", "") if metadata else ""
    valid, wrong = volumes(spec.get("volumes") or (), f"{path}.volumes", name, in_pod=metadata is not None)
    errors += wrong
    claims = spec.get("resourceClaims") or ()
    errors += _resource_claims(claims, f"{path}.resourceClaims", metadata)
    around = Surroundings(
        valid,
        {claim["name"] for claim in claims if claim.get("name")},
        spec.get("restartPolicy", ""),
        grace,
        spec.get("hostUsers") is not False,
    )
    regular = spec.get("containers") or ()
    errors += containers(regular, f"{path}.containers", around)
    if initial := spec.get("initContainers"):
        errors += init_containers(initial, regular, f"{path}.initContainers", around)
    if added := spec.get("ephemeralContainers"):
        errors += ephemeral_containers(added, spec, f"{path}.ephemeralContainers", around)
    if spec.get("resources") is not None:
        errors += pod_resources(spec, path, around.claims)
    if spec.get("hostNetwork"):
        errors += host_network_ports(regular, path, in_pod=metadata is not None)
    return errors + _policies(spec, path) + _names(spec, path) + _rest(spec, path, around)


def _resource_claims(claims: Sequence[Object], path: str, metadata: Object | None) -> Errors:
    if claims and metadata and MIRROR in (metadata.get("annotations") or {}):
        return [forbidden_field("[]", "static pods do not support resource claims") for _ in claims]
    errors: Errors = []
    names: set[str] = set()
    for index, claim in enumerate(claims):
        at, name = f"{path}[{index}]", claim.get("name")
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in names:
            errors.append(duplicate(f"{at}.name", name))
        else:
            errors += named(dns_label, f"{at}.name", name)
            names.add(name)
        errors += _claim_source(claim, at)
    return errors


def _claim_source(claim: Object, path: str) -> Errors:
    sources = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(name) is not None]
    errors: Errors = []
    if len(sources) != 1:
        told = "at most one of `{}` or `{}` may be specified" if sources else "must specify one of: `{}`, `{}`"
        detail = told.format("resourceClaimName", "resourceClaimTemplateName")
        errors.append(invalid_field(path, printed("core.PodResourceClaim", claim), detail))
    for name in sources:
        errors += named(dns_subdomain, f"{path}.{name}", claim[name])
    return errors


def _policies(spec: Object, path: str) -> Errors:
    errors = enumerated(f"{path}.restartPolicy", spec.get("restartPolicy"), ("Always", "OnFailure", "Never"))
    errors += enumerated(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    if selector := spec.get("nodeSelector"):
        errors += label_errors(selector, f"{path}.nodeSelector")
    errors += pod_security(spec.get("securityContext") or {}, spec, f"{path}.securityContext")
    if found := spec.get("affinity"):
        errors += affinity(found, f"{path}.affinity")
    errors += dns_config(spec.get("dnsConfig"), spec.get("dnsPolicy"), f"{path}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        at = f"{path}.readinessGates[{index}].conditionType"
        errors += qualified_errors(at, gate.get("conditionType", ""))
    errors += _scheduling_gates(spec.get("schedulingGates") or (), f"{path}.schedulingGates")
    if constraints := spec.get("topologySpreadConstraints"):
        errors += topology_spread(constraints, f"{path}.topologySpreadConstraints")
    errors += windows_host_process(spec, path)
    errors += _host_users(spec, path) if spec.get("hostUsers") is False else []
    return errors + hostname_override(spec, path)


def _scheduling_gates(gates: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        errors += named(qualified_name, f"{path}[{index}]", name)
        if name in seen:
            errors.append(duplicate(f"{path}[{index}]", name))
        seen.add(name)
    return errors


def _host_users(spec: Object, path: str) -> Errors:
    told = "when `hostUsers` is false"
    names = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    errors = [forbidden_field(f"{path}.{shown}", told) for name, shown in names if spec.get(name)]
    return errors + [
        forbidden_field(f"{at}.volumeDevices", told)
        for container, at in all_containers(spec, path)
        if container.get("volumeDevices")
    ]


def _names(spec: Object, path: str) -> Errors:
    errors = named_if_set(dns_subdomain, f"{path}.serviceAccountName", spec.get("serviceAccountName"))
    errors += named_if_set(dns_subdomain, f"{path}.nodeName", spec.get("nodeName"))
    if (deadline := spec.get("activeDeadlineSeconds")) is not None:
        messages = between(deadline, 1, _MOST_SECONDS)
        errors += [invalid_field(f"{path}.activeDeadlineSeconds", deadline, message) for message in messages]
    errors += named_if_set(dns_label, f"{path}.hostname", spec.get("hostname"))
    return errors + named_if_set(dns_label, f"{path}.subdomain", spec.get("subdomain"))


def _rest(spec: Object, path: str, around: Surroundings) -> Errors:
    errors: Errors = []
    if found := spec.get("tolerations"):
        errors += tolerations(found, f"{path}.tolerations")
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        errors += host_alias(alias, f"{path}.hostAliases[{index}]")
    errors += named_if_set(dns_subdomain, f"{path}.priorityClassName", spec.get("priorityClassName"))
    if (runtime := spec.get("runtimeClassName")) is not None:
        errors += named(dns_subdomain, f"{path}.runtimeClassName", runtime)
    if (policy := spec.get("preemptionPolicy")) is not None:
        errors += enumerated(f"{path}.preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))
    if overhead := spec.get("overhead"):
        errors += requirements({"limits": overhead}, f"{path}.overhead", ())
    if (os := spec.get("os")) is not None:
        errors += operating_system(os, spec, path)
    return errors + _file_references(spec, path)


def _file_references(spec: Object, path: str) -> Errors:
    errors: Errors = []
    for container, at in all_containers(spec, path):
        for index, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            name, where = reference.get("volumeName", ""), f"{at}.env[{index}].valueFrom.fileKeyRef.volumeName"
            volume = next((volume for volume in spec.get("volumes") or () if volume.get("name", "") == name), None)
            if volume is None:
                errors.append(FieldError("Not found", where, "", name))
            elif volume.get("emptyDir") is None:
                errors.append(invalid_field(where, name, "referenced volume must be of type emptyDir"))
    return errors

"""A pod's status: conditions, addresses, and containers that do not come back to life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.address import ip_errors, is_dual_stack
from kubewright_apiserver.validation.metadata import updated_metadata
from kubewright_apiserver.validation.names import between, dns_subdomain
from kubewright_apiserver.validation.pod_update import updated_annotations
from kubewright_apiserver.validation.rules import Errors, Object, immutable, named, qualified_errors

__all__ = ["updated_pod_status"]

_SYSTEM_CONDITIONS: Final = ("PodScheduled", "Ready", "Initialized")
_NOT_BACK: Final = "may not be transitioned to non-terminated state"
_HEALTH: Final = ("Healthy", "Unhealthy", "Unknown")
_MOST_ID: Final = 2**31 - 1


def updated_pod_status(pod: Object, old: Object) -> Errors:
    """The errors of a pod whose status is written."""
    new_status, old_status = pod.get("status") or {}, old.get("status") or {}
    errors = updated_metadata(pod, old) + updated_annotations(pod, old)
    errors += _conditions(new_status.get("conditions") or ())
    if pod["spec"].get("nodeName") != old["spec"].get("nodeName"):
        errors.append(forbidden_field("status.nodeName", "may not be changed directly"))
    errors += _nominated(new_status, old_status, old["spec"])
    generation = new_status.get("observedGeneration", 0)
    if generation < 0:
        errors.append(invalid_field("status.observedGeneration", generation, "must be a non-negative integer"))
    errors += immutable("status.qosClass", new_status.get("qosClass", ""), old_status.get("qosClass", ""))
    errors += _transitions(new_status, old_status, old["spec"])
    errors += _claims(new_status, pod["spec"])
    errors += _addresses(new_status, old_status)
    for field, containers in _FIELDS.items():
        errors += _users(new_status.get(field) or (), f"status.{field}", pod["spec"])
        errors += _devices(new_status.get(field) or (), f"status.{field}", pod["spec"].get(containers) or ())
    return errors


_FIELDS: Final = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "",
}


def _conditions(conditions: Sequence[Object]) -> Errors:
    errors: Errors = []
    for index, condition in enumerate(conditions):
        at, generation = f"status.conditions[{index}]", condition.get("observedGeneration", 0)
        if generation < 0:
            errors.append(invalid_field(f"{at}.observedGeneration", generation, "must be a non-negative integer"))
        if condition.get("type") not in _SYSTEM_CONDITIONS:
            errors += qualified_errors(f"{at}.Type", condition.get("type", ""))
    return errors


def _nominated(new: Object, old: Object, spec: Object) -> Errors:
    name, at = new.get("nominatedNodeName", ""), "status.nominatedNodeName"
    if not name or name == old.get("nominatedNodeName", ""):
        return []
    errors = named(dns_subdomain, at, name)
    if spec.get("nodeName"):
        errors.append(forbidden_field(at, "may not be set on pods that are already bound to a node"))
    return errors


def _transitions(new: Object, old: Object, spec: Object) -> Errors:
    """The errors of containers that ended and run again though nothing lets them."""
    errors: Errors = []
    for field, containers in _FIELDS.items():
        if containers and _restarts_all(spec):
            continue
        known = {container.get("name"): container for container in spec.get(containers) or ()}
        running = {
            status.get("name") for status in new.get(field) or () if not (status.get("state") or {}).get("terminated")
        }
        for index, status in enumerate(old.get(field) or ()):
            ended = (status.get("state") or {}).get("terminated")
            if not ended or status.get("name") not in running:
                continue
            if not _may_restart(known.get(status.get("name")), spec, ended.get("exitCode", 0)):
                errors.append(forbidden_field(f"status.{field}[{index}].state", _NOT_BACK))
    return errors


def _restarts_all(spec: Object) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for field in ("initContainers", "containers")
        for container in spec.get(field) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _may_restart(container: Object | None, spec: Object, code: int) -> bool:
    if container is None:
        return False
    policy = container.get("restartPolicy") or spec.get("restartPolicy", "Always")
    if container.get("restartPolicy") and any(
        _matches(rule.get("exitCodes") or {}, code) for rule in container.get("restartPolicyRules") or ()
    ):
        return True
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _matches(codes: Object, code: int) -> bool:
    return (code in (codes.get("values") or ())) is (codes.get("operator") == "In")


def _claims(status: Object, spec: Object) -> Errors:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    errors: Errors = []
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        at, name = f"status.resourceClaimStatuses[{index}]", claim.get("name", "")
        if name not in known:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid_field(f"{at}.name", name, detail))
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if (claimed := claim.get("resourceClaimName")) is not None:
            errors += named(dns_subdomain, f"{at}.resourceClaimName", claimed)
    return errors


def _addresses(new: Object, old: Object) -> Errors:
    errors = _ips(new.get("podIPs") or (), old.get("podIPs") or (), "status.podIPs", "core.PodIP")
    hosts = new.get("hostIPs") or ()
    if hosts and new.get("hostIP", "") != hosts[0].get("ip", ""):
        detail = "must be equal to `hostIP`"
        errors.append(invalid_field("status.hostIPs[0].ip", hosts[0].get("ip", ""), detail))
    return errors + _ips(hosts, old.get("hostIPs") or (), "status.hostIPs", "core.HostIP")


def _ips(new: Sequence[Object], old: Sequence[Object], path: str, go_type: str) -> Errors:
    texts, known = ([address.get("ip", "") for address in found] for found in (new, old))
    errors: Errors = []
    for index, text in enumerate(texts):
        errors += ip_errors(f"{path}[{index}]", text, known)
    if len(texts) > 1 and (len(texts) > 2 or not is_dual_stack(texts)):
        detail = "may specify no more than one IP for each IP family"
        errors.append(invalid_field(path, printed(f"[]{go_type}", [*new]), detail))
    return errors


def _users(statuses: Sequence[Object], path: str, spec: Object) -> Errors:
    windows = (spec.get("os") or {}).get("name") == "windows"
    errors: Errors = []
    for index, status in enumerate(statuses):
        user, at = (status.get("user") or {}).get("linux"), f"{path}[{index}].user.linux"
        if user is None:
            continue
        if windows:
            errors.append(forbidden_field(at, "cannot be set for a windows pod"))
            continue
        numbers = [(name, user.get(name, 0)) for name in ("uid", "gid")]
        numbers += [(f"supplementalGroups[{place}]", g) for place, g in enumerate(user.get("supplementalGroups") or ())]
        for name, number in numbers:
            errors += [invalid_field(f"{at}.{name}", number, message) for message in between(number, 0, _MOST_ID)]
    return errors


def _devices(statuses: Sequence[Object], path: str, containers: Sequence[Object]) -> Errors:
    errors: Errors = []
    for index, status in enumerate(statuses):
        found, at = status.get("allocatedResourcesStatus") or (), f"{path}[{index}].allocatedResourcesStatus"
        if found and path.endswith("ephemeralContainerStatuses"):
            errors.append(forbidden_field(at, "must not be specified in container status"))
            continue
        container = next((one for one in containers if one.get("name") == status.get("name")), None)
        for place, resource in enumerate(found):
            errors += _resource_name(resource, container, f"{at}[{place}].name") if container else []
            errors += _health(resource.get("resources") or (), f"{at}[{place}].resources")
    return errors


def _resource_name(resource: Object, container: Object, path: str) -> Errors:
    name, asked = resource.get("name", ""), container.get("resources") or {}
    if name.startswith("claim:"):
        known = {
            f"claim:{claim['name']}/{claim['request']}" if claim.get("request") else f"claim:{claim['name']}"
            for claim in asked.get("claims") or ()
        }
        form = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        detail = f"must match one of the container's resource claims in a format {form}"
    else:
        known, detail = {*(asked.get("requests") or ())}, "must match one of the container's resource requests"
    return [] if name in known else [invalid_field(path, name, detail)]


def _health(resources: Sequence[Object], path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, resource in enumerate(resources):
        at, health = f"{path}[{index}]", resource.get("health", "")
        if health not in _HEALTH:
            errors.append(not_supported(f"{at}.health", health, _HEALTH))
        message = resource.get("message")
        if message == "":
            errors.append(required(f"{at}.message", "must be non-empty if specified"))
        elif message and len(message.encode()) > 1024:
            errors.append(too_long(f"{at}.message", 1024))
        if resource.get("resourceID", "") in seen:
            errors.append(duplicate(f"{at}.resourceID", resource.get("resourceID", "")))
        seen.add(resource.get("resourceID", ""))
    return errors

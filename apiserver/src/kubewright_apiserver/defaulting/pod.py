"""Defaults of pods and of every template of pods."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.image import pull_policy
from kubewright_apiserver.defaulting.parts import annotations_without, part
from kubewright_apiserver.defaulting.pod_resources import default_pod_resources
from kubewright_apiserver.defaulting.volume import default_field_reference, default_resources, default_volumes
from kubewright_apiserver.schema.amount import in_millis

__all__ = ["default_pod", "default_pod_spec", "default_pod_template"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_INIT_CONTAINER_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/init-{what}"
    for stage in ("alpha", "beta")
    for what in ("containers", "container-statuses")
)


def default_pod(pod: dict[str, Any]) -> None:
    """Complete a Pod in place."""
    spec = part(pod, "spec")
    default_pod_resources(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec.get("hostNetwork"):
        _open_host_ports(spec)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    status = pod.get("status")
    if status:
        _default_pod_status(status)
    metadata = pod.get("metadata")
    if metadata:
        annotations_without(metadata, _INIT_CONTAINER_ANNOTATIONS)


def default_pod_template(template: dict[str, Any]) -> None:
    """Complete the template in a Deployment, a Job and their like, in place."""
    default_pod_spec(part(template, "spec"))
    metadata = template.get("metadata")
    if metadata:
        annotations_without(metadata, _INIT_CONTAINER_ANNOTATIONS)


def default_pod_spec(spec: dict[str, Any]) -> None:
    """Complete what is the same for a pod and a template, in place."""
    get = spec.get
    if not get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if get("securityContext") is None:
        spec["securityContext"] = {}
    if get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    volumes = get("volumes")
    if volumes:
        default_volumes(volumes)
    for name in _CONTAINERS:
        for container in get(name) or ():
            _default_container(container)
    _finish_pod_spec(spec)


def _finish_pod_spec(spec: dict[str, Any]) -> None:
    overhead = spec.get("overhead")
    if overhead:
        for resource, amount in overhead.items():
            overhead[resource] = in_millis(amount)
    resources = spec.get("resources")
    if resources:
        default_resources(resources)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _default_container(container: dict[str, Any]) -> None:
    get = container.get
    if not get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(get("image") or "")
    if not get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_source(source)
    resources = get("resources")
    if resources:
        default_resources(resources)
    _default_probes(container)


def _default_source(source: dict[str, Any]) -> None:
    reference = source.get("fieldRef")
    if reference is not None:
        default_field_reference(reference)
    key = source.get("fileKeyRef")
    if key is not None and key.get("optional") is None:
        key["optional"] = False


def _default_probes(container: dict[str, Any]) -> None:
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            _default_probe(probe)
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for name in _HOOKS:
            request = (lifecycle.get(name) or {}).get("httpGet")
            if request is not None:
                _default_request(request)


def _default_probe(probe: dict[str, Any]) -> None:
    get = probe.get
    if not get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not get("successThreshold"):
        probe["successThreshold"] = 1
    if not get("failureThreshold"):
        probe["failureThreshold"] = 3
    request = get("httpGet")
    if request is not None:
        _default_request(request)
    call = get("grpc")
    if call is not None and call.get("service") is None:
        call["service"] = ""


def _default_request(request: dict[str, Any]) -> None:
    if not request.get("path"):
        request["path"] = "/"
    if not request.get("scheme"):
        request["scheme"] = "HTTP"


def _open_host_ports(spec: dict[str, Any]) -> None:
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def _default_pod_status(status: dict[str, Any]) -> None:
    for name in _STATUSES:
        for container in status.get(name) or ():
            _round_status(container)
    _round_status(status)
    address, addresses = status.get("podIP"), status.get("podIPs")
    if address and (not addresses or addresses[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif addresses:
        status["podIP"] = addresses[0].get("ip", "")


def _round_status(status: dict[str, Any]) -> None:
    allocated = status.get("allocatedResources")
    if allocated:
        for resource, amount in allocated.items():
            allocated[resource] = in_millis(amount)
    resources = status.get("resources")
    if resources:
        default_resources(resources)

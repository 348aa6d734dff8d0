"""Objects in states that only controllers and kubelets bring about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

__all__ = ["states"]

_OLD: Final = "2026-01-02T03:04:05Z"
_LATER: Final = "2026-01-02T05:44:09Z"
_POD: Final[dict[str, Any]] = {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}
_INIT: Final = {**_POD, "initContainers": [{"name": "x", "image": "i"}, {"name": "y", "image": "i"}]}
_SIDECAR: Final = {
    **_POD,
    "initContainers": [{"name": "x", "image": "i", "restartPolicy": "Always"}, {"name": "y", "image": "i"}],
}
_RUNS: Final = {"running": {"startedAt": _OLD}}
_TEMPLATE: Final = {"metadata": {"labels": {"app": "a"}}, "spec": _POD}
_SELECTOR: Final = {"matchLabels": {"app": "a"}}


def _ended(code: int = 0, **more: Any) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "startedAt": _OLD, "finishedAt": _LATER, **more}}


def _container(name: str, state: dict[str, Any], restarts: int = 0, **more: Any) -> dict[str, Any]:
    status = {"name": name, "image": "i", "imageID": "", "ready": False, "restartCount": restarts, "state": state}
    return {**status, **more}


def _condition(type: str, status: str = "True", **more: str) -> dict[str, Any]:
    return {"type": type, "status": status, "lastTransitionTime": _OLD, **more}


def _pod(status: dict[str, Any], spec: dict[str, Any] = _POD, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", **metadata},
        "spec": spec,
        "status": {"phase": "Running", **status},
    }


def _waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def states() -> Iterator[dict[str, Any]]:
    """The objects, each with the status that it is given once it is there."""
    for number, obj in enumerate([*_running(), *_beginning(), *_workloads(), *_others()]):
        yield {**obj, "metadata": {**obj["metadata"], "name": f"{obj['metadata'].get('name', 'o')}-{number}"}}


def _running() -> Iterator[dict[str, Any]]:
    ready = {"ready": True}
    held: dict[str, Any] = {"finalizers": ["example.com/held"]}
    again = {"lastState": _ended(1)}
    cases: list[list[dict[str, Any]]] = [
        [_container("a", _RUNS, **ready), _container("b", _RUNS, 3, **ready, **again)],
        [_container("a", _waiting("CrashLoopBackOff"), 5, **again), _container("b", _RUNS, **ready)],
        [_container("a", _waiting("ContainerCreating")), _container("b", _waiting("ImagePullBackOff"))],
        [_container("a", _ended(reason="Completed")), _container("b", _RUNS, **ready)],
        [_container("a", _ended(2, reason="Error")), _container("b", _ended(reason="Completed"))],
        [_container("a", _ended(reason="Completed")), _container("b", _ended(2, reason="Error"))],
        [_container("a", _ended(137)), _container("b", _ended(137, signal=9))],
        [_container("a", _ended(137, signal=9)), _container("b", _RUNS, 2)],
        [_container("a", {}), _container("b", _RUNS, 4)],
    ]
    for containers in cases:
        yield _pod({"containerStatuses": containers})
    yield _pod({"containerStatuses": cases[3], "conditions": [_condition("Ready")]})
    yield _pod({"containerStatuses": cases[0]}, **held)
    yield _pod({"phase": "Succeeded", "containerStatuses": [cases[5][0]]})
    yield _pod({"phase": "Failed", "reason": "Evicted"})
    yield _pod({"phase": "Failed", "reason": "Evicted"}, **held)
    yield _pod({"phase": "Unknown", "reason": "NodeLost"}, **held)
    gates = [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]
    conditions = [_condition("example.com/a"), _condition("example.com/b", "False")]
    placed = {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "podIP": "10.0.0.1", "hostIP": "10.1.0.1"}
    yield _pod(
        {**placed, "hostIPs": [{"ip": "10.1.0.1"}], "nominatedNodeName": "m", "conditions": conditions},
        {**_POD, "nodeName": "n", "readinessGates": gates},
    )
    yield _pod({"phase": "Pending"}, {**_POD, "schedulingGates": [{"name": "example.com/g"}]})


def _beginning() -> Iterator[dict[str, Any]]:
    done, begun = _container("x", _ended(reason="Completed"), 1, lastState=_ended(1)), {"started": True}
    cases: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
        ([_container("x", _RUNS), _container("y", _waiting("PodInitializing"))], _INIT),
        ([done, _container("y", _RUNS)], _INIT),
        ([done, _container("y", _waiting("CrashLoopBackOff"), 4)], _INIT),
        ([done, _container("y", _ended(3), 2, lastState=_ended(3))], _INIT),
        ([done, _container("y", _ended(3, signal=11))], _INIT),
        ([done, _container("y", _ended(3, reason="OOMKilled"))], _INIT),
        ([_container("x", _RUNS, 1, ready=True, **begun, lastState=_ended(1)), _container("y", _RUNS)], _SIDECAR),
        ([_container("x", _RUNS, 2, ready=True, **begun, lastState=_ended(1)), _container("y", _ended())], _SIDECAR),
        ([_container("x", _RUNS, started=False), _container("y", {})], _SIDECAR),
    ]
    for containers, spec in cases:
        yield _pod({"phase": "Pending", "initContainerStatuses": containers}, spec)
        later = [_container("a", _RUNS, 1, ready=True), _container("b", _RUNS, ready=True)]
        status = {"initContainerStatuses": containers, "containerStatuses": later}
        yield _pod({**status, "conditions": [_condition("Initialized")]}, spec)


def _object(api_version: str, kind: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {}, **content}


def _workloads() -> Iterator[dict[str, Any]]:
    spec = {"selector": _SELECTOR, "template": _TEMPLATE}
    some = {"replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "updatedReplicas": 2}
    yield _object("apps/v1", "Deployment", spec={**spec, "replicas": 3}, status=some)
    chosen = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "k", "operator": "DoesNotExist"}]}
    yield _object("apps/v1", "Deployment", spec={**spec, "selector": chosen, "replicas": 0})
    yield _object("apps/v1", "StatefulSet", spec={**spec, "serviceName": "s", "replicas": 3}, status=some)
    yield _object("apps/v1", "ReplicaSet", spec={**spec, "replicas": 3}, status={"replicas": 3, "readyReplicas": 2})
    job = {"template": {"spec": {**_POD, "restartPolicy": "Never"}}}
    yield _object("batch/v1", "Job", spec=job, status={"startTime": _OLD, "active": 1})
    yield _object("batch/v1", "Job", spec={**job, "parallelism": 3}, status={"startTime": _OLD, "succeeded": 1})
    yield _object("batch/v1", "Job", spec={**job, "completions": 3, "suspend": True})
    for type in ("Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        conditions = [_condition("FailureTarget"), _condition(type)] if type == "Failed" else [_condition(type)]
        yield _object("batch/v1", "Job", spec=job, status={"startTime": _OLD, "conditions": conditions})
    done = {"startTime": _OLD, "completionTime": _LATER, "succeeded": 1}
    met = [_condition("SuccessCriteriaMet"), _condition("Complete")]
    yield _object("batch/v1", "Job", spec=job, status={**done, "conditions": met})
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    active = [{"kind": "Job", "name": "j", "namespace": "n", "uid": "u", "apiVersion": "batch/v1"}]
    yield _object("batch/v1", "CronJob", spec={**cron, "timeZone": "Etc/UTC", "suspend": True})
    yield _object("batch/v1", "CronJob", spec=cron, status={"lastScheduleTime": _OLD, "active": active})
    yield from _autoscalers()


def _autoscalers() -> Iterator[dict[str, Any]]:
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 5}
    usage = {"type": "Utilization", "averageUtilization": 50}
    value = {"type": "AverageValue", "averageValue": "1500m"}
    whole = {"type": "Value", "value": "10"}
    described = {"apiVersion": "v1", "kind": "Service", "name": "s"}
    metrics: list[dict[str, Any]] = [
        {"type": "Resource", "resource": {"name": "cpu", "target": usage}},
        {"type": "Resource", "resource": {"name": "memory", "target": value}},
        {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": usage}},
        {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "target": value}},
        {"type": "Pods", "pods": {"metric": {"name": "m"}, "target": value}},
        {"type": "Object", "object": {"metric": {"name": "m"}, "describedObject": described, "target": value}},
        {"type": "Object", "object": {"metric": {"name": "m"}, "describedObject": described, "target": whole}},
        {"type": "External", "external": {"metric": {"name": "m"}, "target": value}},
        {"type": "External", "external": {"metric": {"name": "m"}, "target": whole}},
    ]
    current = {"averageUtilization": 20, "averageValue": "7", "value": "8"}
    for metric in metrics:
        source = next(key for key in metric if key != "type")
        told = {key: inner for key, inner in metric[source].items() if key != "target"}
        found = {"type": metric["type"], source: {**told, "current": current}}
        status = {"currentReplicas": 2, "desiredReplicas": 2, "currentMetrics": [found], "conditions": []}
        for seen in (None, status):
            more = {"status": seen} if seen else {}
            yield _object("autoscaling/v2", "HorizontalPodAutoscaler", spec={**target, "metrics": [metric]}, **more)
    yield _object("autoscaling/v2", "HorizontalPodAutoscaler", spec={**target, "metrics": metrics[:3]})
    yield _object("autoscaling/v1", "HorizontalPodAutoscaler", spec={**target, "targetCPUUtilizationPercentage": 70})


def _others() -> Iterator[dict[str, Any]]:
    yield from _services()
    yield from _nodes()
    yield from _events()
    hard = {"pods": "10", "limits.cpu": "4", "requests.cpu": "2"}
    quota = {"hard": hard, "used": {"pods": "3", "limits.cpu": "500m"}}
    yield _object("v1", "ResourceQuota", spec={"hard": hard}, status=quota)
    selector = {
        "matchLabels": {"b": "1", "a": "2"},
        "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
    }
    yield _object("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": selector})
    for parameter in ({"name": "p", "namespace": "n"}, {"name": "p"}, {"selector": selector}):
        reference = {**parameter, "parameterNotFoundAction": "Deny"}
        binding = {"policyName": "p", "paramRef": reference, "validationActions": ["Deny"]}
        yield _object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", spec=binding)
    subjects = [
        {"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "User", "name": "v", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"}
    yield _object("rbac.authorization.k8s.io/v1", "RoleBinding", roleRef=role, subjects=subjects)
    claim = {"accessModes": ["ReadWriteMany", "ReadOnlyMany"], "resources": {"requests": {"storage": "1Gi"}}}
    bound = {"phase": "Bound", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "2048Mi"}}
    yield _object("v1", "PersistentVolumeClaim", spec={**claim, "volumeName": "v"}, status=bound)
    yield _object("v1", "PersistentVolumeClaim", spec=claim)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}
    revision = _object("apps/v1", "ControllerRevision", data={"a": 1}, revision=3)
    yield {**revision, "metadata": {"ownerReferences": [owner]}}
    yield revision
    devices = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}
    result = {"request": "r", "driver": "example.com", "pool": "p", "device": "d"}
    allocated = {"allocation": {"devices": {"results": [result]}}}
    user = {"resource": "pods", "name": "p", "uid": "u"}
    claimed = _object("resource.k8s.io/v1", "ResourceClaim", spec={"devices": devices})
    for status in ({}, allocated, {**allocated, "reservedFor": [user]}):
        yield {**claimed, "status": status}
    yield _object("resource.k8s.io/v1", "ResourceClaimTemplate", spec={"spec": {"devices": devices}})
    budget = {"minAvailable": "50%", "selector": _SELECTOR}
    yield _object("policy/v1", "PodDisruptionBudget", spec=budget, status={"disruptionsAllowed": 2})


def _services() -> Iterator[dict[str, Any]]:
    ports = [{"port": 80, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}]
    spec: dict[str, Any] = {"ports": ports, "selector": {"b": "2", "a": "1"}}
    yield _object("v1", "Service", spec={**spec, "externalIPs": ["1.2.3.4", "1.2.3.5"]})
    yield _object("v1", "Service", spec={**spec, "clusterIP": "None"})
    yield _object("v1", "Service", spec={**spec, "type": "NodePort"})
    yield _object("v1", "Service", spec={"type": "ExternalName", "externalName": "example.com"})
    balancer = {**spec, "type": "LoadBalancer"}
    places = [{"ip": "9.8.7.6"}, {"hostname": "very-long-name.example.com"}, {"ip": "1.8.7.6"}]
    yield _object("v1", "Service", spec=balancer)
    yield _object("v1", "Service", spec=balancer, status={"loadBalancer": {"ingress": places}})
    both = {**balancer, "externalIPs": ["1.2.3.4"]}
    yield _object("v1", "Service", spec=both, status={"loadBalancer": {"ingress": places[:1]}})
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    rule: dict[str, Any] = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    hosts = [{"host": f"{letter}.example.com", **rule} for letter in "abcd"]
    for rules in ([rule], hosts[:3], hosts, [rule, *hosts[:2], rule]):
        status = {"loadBalancer": {"ingress": places[:2]}}
        spec = {
            "rules": rules,
            "tls": [{"hosts": ["a.example.com"]}] if len(rules) > 3 else [],
            "ingressClassName": "c",
        }
        yield _object("networking.k8s.io/v1", "Ingress", spec=spec, status=status)
    yield _object("networking.k8s.io/v1", "Ingress", spec={"defaultBackend": backend})
    addresses = [{"ip": f"10.2.0.{number}"} for number in range(1, 5)]
    for subset in ({"addresses": addresses}, {"addresses": addresses[:2], "ports": [{"port": 80}]}, None):
        yield _object("v1", "Endpoints", subsets=[subset] if subset else [])
    ends = [{"addresses": [one["ip"]]} for one in addresses]
    numbers = [{"name": str(number) + "p", "port": number} for number in range(1, 6)]
    for endpoints, ported in ((ends, numbers), (ends[:1], [{}]), ([], [])):
        more = {"addressType": "IPv4", "endpoints": endpoints, "ports": ported}
        yield _object("discovery.k8s.io/v1", "EndpointSlice", **more)


def _nodes() -> Iterator[dict[str, Any]]:
    system = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion", "operatingSystem"), "v")
    system |= {"kernelVersion": "6.1", "osImage": "Some OS", "containerRuntimeVersion": "containerd://2"}
    system |= {"kubeletVersion": "v1.36.3", "architecture": "amd64"}
    addresses = [{"type": "InternalIP", "address": "10.0.0.2"}, {"type": "ExternalIP", "address": "9.9.9.9"}]
    roles = {"node-role.kubernetes.io/b": "", "node-role.kubernetes.io/a": "", "kubernetes.io/role": "c"}
    for status in ("True", "False", "Unknown"):
        told = {"nodeInfo": system, "addresses": addresses, "conditions": [_condition("Ready", status)]}
        node = _object("v1", "Node", spec={"unschedulable": status == "True"}, status=told)
        yield {**node, "metadata": {"labels": roles if status == "True" else {}}}
    yield _object("v1", "Node")


def _events() -> Iterator[dict[str, Any]]:
    about = {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{a}"}
    old = {"message": " said\n", "reason": "Said", "type": "Normal", "firstTimestamp": _OLD, "lastTimestamp": _LATER}
    yield _object("v1", "Event", involvedObject=about, **old, count=3, source={"component": "c", "host": "h"})
    yield _object("v1", "Event", involvedObject={"kind": "Node"}, **old, source={"component": "c"})
    micro = "2026-01-02T03:04:05.678901Z"
    new = {"eventTime": micro, "reportingComponent": "example.com/c", "reportingInstance": "i", "action": "Do"}
    new |= {"reason": "Said", "type": "Warning"}
    yield _object("v1", "Event", involvedObject=about, **new)
    series = {"count": 4, "lastObservedTime": "2026-01-03T03:04:05.678901Z"}
    yield _object("v1", "Event", involvedObject=about, **new, series=series)
    renamed = {**new, "reportingController": new["reportingComponent"], "regarding": about, "note": "said"}
    renamed.pop("reportingComponent")
    yield _object("events.k8s.io/v1", "Event", **renamed)

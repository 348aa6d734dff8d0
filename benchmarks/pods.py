"""Pods as a busy cluster holds them: one of a Deployment, running, about 5 KB; the same bytes in every run."""

from __future__ import annotations

import json
import uuid
from typing import Any

__all__ = ["pod"]

_MADE = "2026-01-15T08:30:00Z"
_STARTED = "2026-01-15T08:30:04Z"
_REVISION = 1_000_000
_ATOMIC = ("containerStatuses", "valueFrom")


def pod(index: int) -> dict[str, Any]:
    """The pod of that number as JSON has it, without kind and apiVersion, as it stands in a list."""
    spec, status = _spec(index), _status(index)
    metadata: dict[str, Any] = {
        "name": f"pod-{index:05}",
        "generateName": "web-7d4b9c6f58-",
        "namespace": "default",
        "uid": _uid("pod", index),
        "resourceVersion": str(_REVISION + index),
        "creationTimestamp": _MADE,
        "labels": {
            "app.kubernetes.io/name": "web",
            "app.kubernetes.io/part-of": f"shop-{index % 40}",
            "pod-template-hash": "7d4b9c6f58",
        },
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7d4b9c6f58",
                "uid": _uid("replicaset", index % 40),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    asked = {key: metadata[key] for key in ("generateName", "labels", "ownerReferences")}
    metadata["managedFields"] = [
        _managed("kube-controller-manager", _MADE, {"metadata": asked, "spec": _asked(spec)}),
        _managed("kubelet", _STARTED, {"status": status}) | {"subresource": "status"},
    ]
    return {"metadata": metadata, "spec": spec, "status": status}


def _spec(index: int) -> dict[str, Any]:
    return {
        "volumes": [
            {"name": "kube-api-access-x7k2p", "projected": {"sources": _account_sources(), "defaultMode": 420}},
        ],
        "containers": [
            {
                "name": "web",
                "image": f"registry.example.com/shop/web:1.{index % 7}.0",
                "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                "env": [
                    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "web-database", "key": "password"}}},
                ],
                "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
                "volumeMounts": [
                    {
                        "name": "kube-api-access-x7k2p",
                        "readOnly": True,
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    },
                ],
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "nodeName": f"node-{index % 200:03}",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [_toleration("not-ready"), _toleration("unreachable")],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }


def _account_sources() -> list[dict[str, Any]]:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]


def _toleration(trouble: str) -> dict[str, Any]:
    key = f"node.kubernetes.io/{trouble}"
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def _status(index: int) -> dict[str, Any]:
    address = f"10.{index // 65536}.{index // 256 % 256}.{index % 256}"
    return {
        "phase": "Running",
        "conditions": [
            {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": _STARTED}
            for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "hostIP": f"192.168.1.{index % 200}",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": _MADE,
        "containerStatuses": [
            {
                "name": "web",
                "state": {"running": {"startedAt": _STARTED}},
                "lastState": {},
                "ready": True,
                "restartCount": index % 3,
                "image": f"registry.example.com/shop/web:1.{index % 7}.0",
                "imageID": f"registry.example.com/shop/web@sha256:{_digest('image', index % 7)}",
                "containerID": f"containerd://{_digest('container', index)}",
                "started": True,
            }
        ],
        "qosClass": "Burstable",
    }


def _asked(spec: dict[str, Any]) -> dict[str, Any]:
    """What the ReplicaSet's template says; the rest was added by admission and the scheduler."""
    return {
        "containers": [{key: value for key, value in spec["containers"][0].items() if key != "volumeMounts"}],
        **{key: spec[key] for key in ("dnsPolicy", "restartPolicy", "schedulerName", "securityContext")},
    }


def _managed(manager: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": _owned(fields),
    }


def _owned(value: Any) -> dict[str, Any]:
    """The paths in ``value`` as managedFields names them: f: a field, k: a list item by its key."""
    if isinstance(value, dict):
        return {f"f:{key}": {} if key in _ATOMIC else _owned(item) for key, item in value.items()}
    if isinstance(value, list):
        return {".": {}, **{_item_key(item): {".": {}, **_owned(item)} for item in value}}
    return {}


def _item_key(item: dict[str, Any]) -> str:
    key = next(key for key in ("type", "uid", "mountPath", "containerPort", "ip", "name") if key in item)
    return "k:" + json.dumps({key: item[key]}, separators=(",", ":"))


def _uid(what: str, index: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{what}-{index}.example.com"))


def _digest(what: str, index: int) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{what}-{index}").hex * 2

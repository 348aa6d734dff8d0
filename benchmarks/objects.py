"""What is written to API servers when they are measured: ConfigMaps of 1 KB and pods as users send them."""

from __future__ import annotations

from typing import Any

__all__ = ["config_map", "pod"]

_TEXT = "The quick brown fox jumps over the lazy dog. " * 4


def config_map(name: str, text: str = "") -> dict[str, Any]:
    """A ConfigMap of 1 KB as JSON has it; ``text`` is one of its values."""
    labels = {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"}
    data = {f"setting-{number}": _TEXT for number in range(4)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": {"changing": text, **data},
    }


def pod(name: str) -> dict[str, Any]:
    """A pod of two containers, as a ReplicaSet would create it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app.kubernetes.io/name": "web", "pod-template-hash": "7d4b9c6f58"},
            "annotations": {"example.com/config-checksum": "0f1b4a4e8f0a4c39a3c52d7c6b1e9f10"},
        },
        "spec": {
            "containers": [_container("web", 8080), _container("metrics", 9090)],
            "nodeName": "node-0",
            "volumes": [{"name": "config", "configMap": {"name": "web"}}],
        },
    }


def _container(name: str, port: int) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 5}
    return {
        "name": name,
        "image": f"registry.example.com/shop/{name}:1.8.2",
        "args": ["--listen", f":{port}"],
        "env": [
            {"name": "LOG_LEVEL", "value": "info"},
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "ports": [{"name": name, "containerPort": port}],
        "readinessProbe": probe,
        "livenessProbe": probe,
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/web"}],
    }

"""Pods on a real server: those of a Deployment, running, 6.6 KB each with what two managers own of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import pods
from benchmarks.loop_cluster import PODS, Cluster, Request

__all__ = ["add_pods", "updates"]

_MADE_BY_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields")
_VARIABLES = 6


async def add_pods(cluster: Cluster, start: int, end: int) -> None:
    """Have the pods of these numbers created, as a ReplicaSet does, and started, as a kubelet does."""
    await cluster.send_all(Request("POST", PODS, _asked(index)) for index in range(start, end))
    await cluster.send_all(_started(index) for index in range(start, end))


def updates(count: int, text: str) -> Iterator[Request]:
    """A change to each of the first pods."""
    change = {"metadata": {"annotations": {"example.com/checked": text}}}
    return (Request("PATCH", f"{PODS}/pod-{index:05}", change) for index in range(count))


def _asked(index: int) -> dict[str, Any]:
    pod = pods.pod(index)
    metadata = {key: value for key, value in pod["metadata"].items() if key not in _MADE_BY_SERVER}
    metadata["annotations"] = {
        "example.com/config-checksum": "0f1b4a4e8f0a4c39a3c52d7c6b1e9f10",
        "prometheus.io/port": "8080",
        "prometheus.io/scrape": "true",
    }
    container = pod["spec"]["containers"][0]
    container["env"] += [
        {"name": f"SETTING_{number}", "value": f"value-{number}-of-shop-{index % 40}"} for number in range(_VARIABLES)
    ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}


def _started(index: int) -> Request:
    status = pods.pod(index)["status"]
    return Request("PATCH", f"{PODS}/pod-{index:05}/status", {"status": status})

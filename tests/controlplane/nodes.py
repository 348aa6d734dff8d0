"""Nodes and pods for the tests of the loops that deal with them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kubewright.api import Metadata, Quantity, now
from kubewright.client import Client
from kubewright.kinds.core_v1 import (
    Container,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodSpec,
    ResourceRequirements,
    Taint,
)
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse


async def create_node(
    client: Client, name: str, *, labels: dict[str, str] | None = None, taints: list[Taint] | None = None, **room: str
) -> Node:
    """A node that is Ready, without anybody who speaks for it."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"} | room
    node = Node(
        metadata=Metadata(name=name, labels={"kubernetes.io/hostname": name} | (labels or {})),
        spec=NodeSpec(taints=taints or []),
    )
    created = await client.create(node)
    quantities = {key: Quantity(value) for key, value in amounts.items()}
    ready = NodeCondition(type="Ready", status="True", last_heartbeat_time=now(), last_transition_time=now())
    created.status = NodeStatus(capacity=quantities, allocatable=quantities, conditions=[ready])
    created = await client.update(created, subresource="status")
    # What the server taints a new node with, somebody has to take away.
    created.spec.taints = taints or []
    return await client.update(created)


def pod(name: str, *, labels: dict[str, str] | None = None, cpu: str = "", **spec: Any) -> Pod:
    """A pod of one container."""
    requests = {"cpu": Quantity(cpu)} if cpu else {}
    container = Container(name="main", image="busybox", resources=ResourceRequirements(requests=requests))
    return Pod(
        metadata=Metadata(name=name, namespace="default", labels=labels or {}),
        spec=PodSpec(**{"containers": [container], **spec}),
    )


async def node_of(client: Client, name: str) -> str | None:
    """Where a pod is."""
    return (await client.get(Pod, name)).spec.node_name


async def notes(client: Client, name: str) -> list[str]:
    """Reason and text of each Event about an object, the oldest first."""
    await elapse(timedelta(milliseconds=1))
    events = [event async for event in client.list(Event) if event.regarding.name == name]
    events.sort(key=lambda event: event.metadata.name.rpartition(".")[2])
    return [f"{event.reason}: {event.note}" for event in events]

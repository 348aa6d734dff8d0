"""``SimulatedNode``: a machine that is not there, and the Node object that it would report."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network

import msgspec

from kubewright.api import Metadata, Quantity
from kubewright.kinds.core_v1 import (
    DaemonEndpoint,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeSpec,
    NodeStatus,
    NodeSystemInfo,
    Taint,
)

__all__ = ["SimulatedNode", "placed"]

_NODES = IPv4Network("172.18.0.0/16")
_PODS = IPv4Network("10.244.0.0/14")
_ALL_PODS = IPv4Network("10.0.0.0/8")
_KUBELET_PORT = 10250
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class SimulatedNode(msgspec.Struct, frozen=True, kw_only=True):
    """How a simulated node describes itself.

    >>> SimulatedNode(name="node-1", labels={"topology.kubernetes.io/zone": "a"}, cpu="16")

    ``resources`` are further ones, such as ``{"example.com/gpu": "4"}``. ``allocatable`` says what of all that pods may
    have, if not all. ``address`` and ``pod_range`` are chosen by the node's place in the list, unless given.
    ``kubelet_port`` is where somebody answers on this machine for its kubelet (``kubelet_door``), if somebody does.
    """

    name: str
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    taints: Sequence[Taint] = ()
    cpu: str = "8"
    memory: str = "32Gi"
    ephemeral_storage: str = "100Gi"
    pods: int = 110
    resources: Mapping[str, str] = {}
    allocatable: Mapping[str, str] = {}
    address: str = ""
    pod_range: str = ""
    architecture: str = "amd64"
    kubelet_version: str = "v1.36.3"
    kubelet_port: int = 0

    @property
    def capacity(self) -> dict[str, Quantity]:
        """What the node has."""
        amounts = {
            "cpu": self.cpu,
            "ephemeral-storage": self.ephemeral_storage,
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
            "memory": self.memory,
            "pods": str(self.pods),
            **self.resources,
        }
        return {name: Quantity(amount) for name, amount in amounts.items()}

    def node(self, now: datetime) -> Node:
        """The Node object as the kubelet registers it."""
        system = {"hostname": self.name, "os": "linux", "arch": self.architecture}
        labels = {f"kubernetes.io/{key}": value for key, value in system.items()}
        labels |= {f"beta.kubernetes.io/{key}": value for key, value in system.items() if key != "hostname"}
        node = Node(
            metadata=Metadata(
                name=self.name,
                labels={**labels, **self.labels},
                annotations={"volumes.kubernetes.io/controller-managed-attach-detach": "true", **self.annotations},
            ),
            spec=NodeSpec(taints=list(self.taints)),
        )
        node.status = self.status(node, now)
        return node

    def is_told(self, node: Node, problem: str = "") -> bool:
        """Whether the Node object says of the node's health what the node would report now."""
        said = {one.type: (one.status, one.reason, one.message) for one in node.status.conditions}
        return all(said.get(one.type) == (one.status, one.reason, one.message) for one in _conditions(problem))

    def status(self, node: Node, now: datetime, problem: str = "") -> NodeStatus:
        """The status that the node reports now, after what stands in the Node object; ``problem``: why not ready."""
        capacity = self.capacity
        status = msgspec.structs.replace(node.status)
        status.capacity = capacity
        status.allocatable = capacity | {name: Quantity(amount) for name, amount in self.allocatable.items()}
        status.addresses = [
            NodeAddress(type="InternalIP", address=self.address),
            NodeAddress(type="Hostname", address=self.name),
        ]
        port = self.kubelet_port or _KUBELET_PORT
        status.daemon_endpoints = NodeDaemonEndpoints(kubelet_endpoint=DaemonEndpoint(port=port))
        if self.kubelet_port:
            status.addresses.append(NodeAddress(type="InternalDNS", address="localhost"))
            status.declared_features = ["ExtendWebSocketsToKubelet"]
        status.node_info = self._info()
        others = [condition for condition in node.status.conditions if condition.type not in _own_types()]
        before = {condition.type: condition for condition in node.status.conditions}
        status.conditions = [*others, *(_stamped(one, before.get(one.type), now) for one in _conditions(problem))]
        return status

    def _info(self) -> NodeSystemInfo:
        digest = hashlib.sha256(self.name.encode()).digest()
        return NodeSystemInfo(
            machine_id=digest[:16].hex(),
            system_uuid=str(uuid.UUID(bytes=digest[:16])),
            boot_id=str(uuid.UUID(bytes=digest[16:])),
            kernel_version="6.12.0",
            os_image="kubewright simulated node",
            container_runtime_version="containerd://2.2.0",
            kubelet_version=self.kubelet_version,
            kube_proxy_version="",
            operating_system="linux",
            architecture=self.architecture,
        )


def _own_types() -> tuple[str, ...]:
    return (*(type for type, _, _ in _PRESSURES), "Ready")


def _conditions(problem: str) -> list[NodeCondition]:
    pressures = [NodeCondition(type=t, status="False", reason=r, message=m) for t, r, m in _PRESSURES]
    if problem:
        return [*pressures, NodeCondition(type="Ready", status="False", reason="KubeletNotReady", message=problem)]
    text = "kubelet is posting ready status"
    return [*pressures, NodeCondition(type="Ready", status="True", reason="KubeletReady", message=text)]


def _stamped(condition: NodeCondition, before: NodeCondition | None, now: datetime) -> NodeCondition:
    same = before is not None and before.status == condition.status
    condition.last_transition_time = before.last_transition_time if before is not None and same else now
    condition.last_heartbeat_time = now
    return condition


def placed(nodes: Sequence[SimulatedNode]) -> dict[str, SimulatedNode]:
    """The nodes by name, each with an address and a range of addresses for its pods; raises ``ValueError``."""
    size = max([256, *(1 << (2 * node.pods - 1).bit_length() for node in nodes)])
    within = _PODS if len(nodes) * size <= _PODS.num_addresses else _ALL_PODS
    if len(nodes) * size > within.num_addresses or len(nodes) + 2 > _NODES.num_addresses:
        raise ValueError(f"{len(nodes)} simulated nodes are more than there are addresses for")
    found: dict[str, SimulatedNode] = {}
    for number, node in enumerate(nodes):
        if node.name in found:
            raise ValueError(f"two simulated nodes are called {node.name!r}")
        first = IPv4Address(int(within.network_address) + number * size)
        found[node.name] = msgspec.structs.replace(
            node,
            address=node.address or str(_NODES[number + 2]),
            pod_range=node.pod_range or f"{first}/{33 - size.bit_length()}",
        )
    return found

"""``control_plane``: all control loops of a cluster as one operator, less those that are left out or replaced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from kubewright.api import Resource
from kubewright.controlplane.cluster_roles import cluster_role_aggregation_loop
from kubewright.controlplane.deployment import deployment_loop
from kubewright.controlplane.endpoints import endpoints_loop, endpointslice_loop
from kubewright.controlplane.garbage_collector import garbage_collector_loop
from kubewright.controlplane.kubelet import SimulatedNode, Stage, kubelet_loop, node_loop
from kubewright.controlplane.loop import Loop
from kubewright.controlplane.namespace import namespace_loop
from kubewright.controlplane.node_lifecycle import node_lifecycle_loop
from kubewright.controlplane.replicaset import replica_set_loop, replication_controller_loop
from kubewright.controlplane.root_ca import root_ca_loop
from kubewright.controlplane.scheduler import scheduler_loop
from kubewright.controlplane.service_account import service_account_loop
from kubewright.operator import Cached, Operator

__all__ = ["LOOPS", "control_plane", "operator_of"]

_CONTROLLER_MANAGER: Final[tuple[Callable[[], Loop], ...]] = (
    replica_set_loop,
    replication_controller_loop,
    deployment_loop,
    garbage_collector_loop,
    namespace_loop,
    service_account_loop,
    cluster_role_aggregation_loop,
    endpoints_loop,
    endpointslice_loop,
    node_lifecycle_loop,
    scheduler_loop,
)
_ROOT_CA: Final = "root-ca-certificate-publisher"
_KUBELET: Final = "kubelet"

LOOPS: Final = tuple(sorted([*(make().name for make in _CONTROLLER_MANAGER), _ROOT_CA, _KUBELET]))
"""The names of all loops."""


def control_plane(
    *,
    nodes: int | Sequence[SimulatedNode] = 1,
    without: Collection[str] = (),
    instead: Sequence[Loop] = (),
    stages: Sequence[Stage] = (),
    ca: bytes = b"",
) -> Operator:
    """What makes an API server a cluster, as an operator that is run beside it.

    ``nodes``: how many simulated nodes, or which. ``without``: names of loops that are left out (``LOOPS`` has all);
    without ``kubelet`` the nodes are there and stay Ready, but nothing runs on them. ``instead``: loops of your own, in
    place of those of the same name. ``stages``: what pods do, besides what their annotations say. ``ca``: the
    authority that pods are told to trust (PEM); nobody is told if there is none.

    *Raises* ``ValueError`` for the name of a loop that there is not.
    """
    if unknown := [name for name in without if name not in LOOPS]:
        raise ValueError(f"there is no control loop {unknown[0]!r}; there are {', '.join(LOOPS)}")
    machines = (
        [SimulatedNode(name=f"node-{number + 1}") for number in range(nodes)] if isinstance(nodes, int) else nodes
    )
    loops = [make() for make in _CONTROLLER_MANAGER]
    if ca:
        loops.append(root_ca_loop(ca))
    loops.append(node_loop(machines) if _KUBELET in without else kubelet_loop(machines, stages=stages))
    own = {loop.name for loop in instead}
    return operator_of([*(loop for loop in loops if loop.name not in own and loop.name not in without), *instead])


def operator_of(loops: Sequence[Loop]) -> Operator:
    """The loops as one operator with one cache."""
    indexes: dict[type[Resource], dict[str, Callable[[Any], Sequence[str]]]] = {}
    for loop in loops:
        for kind, functions in loop.indexes.items():
            indexes.setdefault(kind, {}).update(functions)
    return Operator(
        "control-plane",
        [controller for loop in loops for controller in loop.controllers],
        background=[background for loop in loops for background in loop.background],
        cached=[Cached(kind, indexes=functions) for kind, functions in indexes.items()],
    )

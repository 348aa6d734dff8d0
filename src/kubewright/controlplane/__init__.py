"""The cluster's own control loops, built with kubewright: what makes an API server a cluster."""

from kubewright.controlplane.kubelet import SimulatedNode
from kubewright.controlplane.loop import MANAGER, Indexes, Loop, account
from kubewright.controlplane.plane import LOOPS, control_plane, operator_of

__all__ = ["LOOPS", "MANAGER", "Indexes", "Loop", "SimulatedNode", "account", "control_plane", "operator_of"]

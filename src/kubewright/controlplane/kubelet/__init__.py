"""The kubelet on simulated nodes: nodes that say that they live, and pods that live on them as scripted."""

from kubewright.controlplane.kubelet.behaviour import LOST, NOT_READY, Behaviour, Match, Script, Stage, read_stages
from kubewright.controlplane.kubelet.loop import kubelet_loop, node_loop
from kubewright.controlplane.kubelet.run import ContainerRun, Line, run_of, runs_of
from kubewright.controlplane.kubelet.simulated_node import SimulatedNode

__all__ = [
    "LOST",
    "NOT_READY",
    "Behaviour",
    "ContainerRun",
    "Line",
    "Match",
    "Script",
    "SimulatedNode",
    "Stage",
    "kubelet_loop",
    "node_loop",
    "read_stages",
    "run_of",
    "runs_of",
]

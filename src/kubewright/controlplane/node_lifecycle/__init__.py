"""The life of nodes: who is silent is tainted, and pods that do not tolerate that are driven out."""

from kubewright.controlplane.node_lifecycle.loop import node_lifecycle_loop

__all__ = ["node_lifecycle_loop"]

"""Deployment: replaces the pods of one template by those of another, step by step, over ReplicaSets."""

from kubewright.controlplane.deployment.loop import deployment_loop

__all__ = ["deployment_loop"]

"""The scheduler: pods without a node get one, by Kubernetes' filters and scores, or are told why not."""

from kubewright.controlplane.scheduler.loop import scheduler_loop

__all__ = ["scheduler_loop"]

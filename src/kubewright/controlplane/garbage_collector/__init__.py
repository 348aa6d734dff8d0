"""The garbage collector: what belongs to an object goes with it."""

from kubewright.controlplane.garbage_collector.loop import garbage_collector_loop

__all__ = ["garbage_collector_loop"]

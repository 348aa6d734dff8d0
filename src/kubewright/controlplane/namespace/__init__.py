"""The namespace loop: what is in a namespace goes before the namespace does."""

from kubewright.controlplane.namespace.loop import namespace_loop

__all__ = ["namespace_loop"]

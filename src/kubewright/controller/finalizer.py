"""The finalizer: what keeps a deleted object until ``cleanup`` has succeeded.

**Flow.** An object that is not being deleted gets the finalizer before its first reconcile, in the same write as what
``initialize`` filled in. One that is being deleted goes to ``cleanup`` as long as it has the finalizer. ``None`` takes
the finalizer off; a ``timedelta`` or an exception keeps it.

**Guarantees.** No reconcile runs on an object without the finalizer; ``cleanup`` ran to its end at least once before
the object goes. Adding and removing carry the resourceVersion that was read, so nobody else's finalizer is lost.

**Assumptions.** ``cleanup`` may be called again after it succeeded (the write that removes the finalizer can fail).
"""

from __future__ import annotations

from kubewright.api import Resource

__all__ = ["finalizer_name", "has_finalizer", "with_finalizer", "without_finalizer"]


def finalizer_name(kind: type[Resource], operator: str, controller: str) -> str:
    """The name under which a controller holds objects of a kind."""
    domain = kind.api_resource.group if "." in kind.api_resource.group else "kubewright.dev"
    return f"{domain}/{f'{operator}.{controller}'[:63].rstrip('-_.')}"


def has_finalizer(obj: Resource, name: str) -> bool:
    """Whether the object is held under that name."""
    return name in obj.metadata.finalizers


def with_finalizer(obj: Resource, name: str) -> None:
    """Hold the object, in memory."""
    if not has_finalizer(obj, name):
        obj.metadata.finalizers = [*obj.metadata.finalizers, name]


def without_finalizer(obj: Resource, name: str) -> None:
    """Let the object go, in memory."""
    obj.metadata.finalizers = [held for held in obj.metadata.finalizers if held != name]

"""What a pod asks of a node: the requests of its containers together, in whole units."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubewright.api import Quantity
from kubewright.kinds.core_v1 import Container, PodSpec

__all__ = ["amounts_of", "is_sidecar", "nonzero_requests_of", "pod_requests", "requests_of"]

_POD_LEVEL = ("cpu", "memory")
_LEAST = {"cpu": Quantity("100m"), "memory": Quantity("200Mi")}


def is_sidecar(container: Container) -> bool:
    """Whether an init container goes on beside the others (``restartPolicy: Always``)."""
    return container.restart_policy == "Always"


def amounts_of(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Amounts as whole numbers: CPU in thousandths, all else in its own unit, rounded up."""
    return {name: value.milli_value() if name == "cpu" else int(value) for name, value in quantities.items()}


def pod_requests(spec: PodSpec) -> dict[str, Quantity]:
    """What the pod asks for, by resource.

    Containers and sidecars add up; an init container runs with the sidecars before it, so the pod needs the most of
    these. What the pod asks for as a whole takes the place of that; its overhead comes on top.
    """
    total = _peak(spec, _asked)
    if spec.resources is not None:
        whole = spec.resources.requests
        total.update({name: amount for name, amount in whole.items() if name in _POD_LEVEL})
    return _added(total, spec.overhead)


def requests_of(spec: PodSpec) -> dict[str, int]:
    """What the pod asks for, by resource, as whole numbers."""
    return amounts_of(pod_requests(spec))


def nonzero_requests_of(spec: PodSpec) -> dict[str, int]:
    """CPU and memory that the pod is counted with when nodes are compared: containers that ask for none need some."""
    total = amounts_of(_added(_peak(spec, _asked_at_least), spec.overhead))
    return {"cpu": total.get("cpu", 0), "memory": total.get("memory", 0)}


def _asked(container: Container) -> dict[str, Quantity]:
    return container.resources.requests if container.resources is not None else {}


def _asked_at_least(container: Container) -> dict[str, Quantity]:
    return {**_LEAST, **_asked(container)}


def _peak(spec: PodSpec, asked: Callable[[Container], dict[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for container in spec.containers:
        total = _added(total, asked(container))
    beside: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in spec.init_containers:
        if is_sidecar(container):
            total = _added(total, asked(container))
            beside = _added(beside, asked(container))
            most = _greater(most, beside)
        else:
            most = _greater(most, _added(beside, asked(container)))
    return _greater(total, most)


def _added(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name] + amount if name in total else amount
    return total


def _greater(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    total = dict(one)
    for name, amount in other.items():
        if name not in total or total[name] < amount:
            total[name] = amount
    return total

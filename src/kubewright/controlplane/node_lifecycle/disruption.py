"""How fast nodes may be emptied: one after the other, and not at all where most are gone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from kubewright.controlplane.node_lifecycle.health import readiness
from kubewright.kinds.core_v1 import Node

__all__ = ["Pace", "are_all_silent"]

_EVERY: Final = timedelta(seconds=10)
_SLOWLY: Final = timedelta(seconds=100)
_PARTIAL: Final = 0.55
_LARGE: Final = 50
_AGAIN: Final = timedelta(seconds=5)


def are_all_silent(nodes: Iterable[Node]) -> bool:
    """Whether no node is ready: then the fault is more likely here than there, and nobody is driven out."""
    return all(readiness(node) != "True" for node in nodes)


class Pace:
    """One node of a zone every ten seconds; more slowly or not at all where more than half of them are gone."""

    def __init__(self) -> None:
        self._free_at: dict[str, datetime] = {}

    def wait(self, node: Node, nodes: Iterable[Node], now: datetime) -> timedelta | None:
        """How long the node must wait until its pods may be driven out; None: its turn is now."""
        zone = _zone(node)
        neighbours = [other for other in nodes if _zone(other) == zone]
        gone = sum(readiness(other) != "True" for other in neighbours)
        every = _EVERY
        if gone < len(neighbours) and gone > 2 and gone / len(neighbours) >= _PARTIAL:
            if len(neighbours) <= _LARGE:
                return _AGAIN
            every = _SLOWLY
        free_at = self._free_at.get(zone, now)
        if free_at > now:
            return free_at - now
        self._free_at[zone] = now + every
        return None


def _zone(node: Node) -> str:
    labels = node.metadata.labels
    return f"{labels.get('topology.kubernetes.io/region', '')}:{labels.get('topology.kubernetes.io/zone', '')}"

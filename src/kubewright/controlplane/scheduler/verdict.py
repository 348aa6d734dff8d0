"""Verdicts: what became of an attempt to find a node, in Kubernetes' own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kubewright.controlplane.scheduler.filters import Refusal

__all__ = ["NO_NODES", "fit_error", "refusal_text"]

NO_NODES = "no nodes available to schedule pods"
"""What is told when there is no node at all."""

_NO_CLAIMS = "no new claims to deallocate"


def refusal_text(refusals: Iterable[Refusal], nodes: int) -> str:
    """How many nodes refused, and how often for which reason."""
    reasons = Counter(reason for refusal in refusals for reason in refusal.reasons)
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{nodes} nodes are available: {text}." if text else f"0/{nodes} nodes are available:"


def fit_error(refusals: Iterable[Refusal], nodes: int, preemption: str) -> str:
    """The whole message: why no node could take the pod, and why none could be made to."""
    text = refusal_text(refusals, nodes)
    return f"{text} {_NO_CLAIMS}, preemption: {preemption}" if preemption else text

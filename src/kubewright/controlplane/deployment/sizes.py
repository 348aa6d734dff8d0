"""Sizes: how many pods a Deployment may have, how few it must have available, and how ReplicaSets share them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kubewright.kinds.apps_v1 import Deployment, ReplicaSet

__all__ = [
    "growth",
    "is_rolling",
    "max_surge",
    "max_unavailable",
    "new_size",
    "replicas_of",
    "shares",
    "size_of",
    "total",
]


def replicas_of(deployment: Deployment) -> int:
    """How many pods a Deployment wants."""
    return 1 if deployment.spec.replicas is None else deployment.spec.replicas


def size_of(found: ReplicaSet) -> int:
    """How many pods a ReplicaSet shall have."""
    return 1 if found.spec.replicas is None else found.spec.replicas


def total(sets: Iterable[ReplicaSet]) -> int:
    """How many pods ReplicaSets shall have together."""
    return sum(size_of(found) for found in sets)


def is_rolling(deployment: Deployment) -> bool:
    """Whether pods are replaced a few at a time, not all at once."""
    return deployment.spec.strategy is not None and deployment.spec.strategy.type == "RollingUpdate"


def max_surge(deployment: Deployment) -> int:
    """How many pods there may be above what is wanted."""
    return _fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """How many of the wanted pods may be unavailable."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment) or wanted == 0:
        return 0
    return min(_fenceposts(deployment)[1], wanted)


def _fenceposts(deployment: Deployment) -> tuple[int, int]:
    """Surge is rounded up and unavailability down; where both come to nothing, one may be unavailable."""
    strategy = deployment.spec.strategy
    rolling = strategy.rolling_update if strategy is not None else None
    if rolling is None:
        return 0, 1
    wanted = replicas_of(deployment)
    surge = _scaled(rolling.max_surge, wanted, up=True)
    unavailable = _scaled(rolling.max_unavailable, wanted, up=False)
    return (0, 1) if surge == unavailable == 0 else (surge, unavailable)


def _scaled(value: int | str | None, whole: int, *, up: bool) -> int:
    if isinstance(value, str):
        share = int(value.removesuffix("%")) * whole
        return -(-share // 100) if up else share // 100
    return value or 0


def new_size(deployment: Deployment, sets: Sequence[ReplicaSet], newest: int) -> int:
    """The size to which the newest ReplicaSet may grow from ``newest``, beside all ``sets``, itself among them."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    strategy = deployment.spec.strategy
    rolling = strategy.rolling_update if strategy is not None else None
    surge = _scaled(rolling.max_surge, wanted, up=True) if rolling is not None else 0
    room = wanted + surge - total(sets)
    return newest if room <= 0 else newest + min(room, wanted - newest)


def growth(deployment: Deployment, sets: Sequence[ReplicaSet]) -> int:
    """How many pods ReplicaSets may have more, or must have fewer, to fit the Deployment with its surge."""
    wanted = replicas_of(deployment)
    return (wanted + max_surge(deployment) if wanted > 0 else 0) - total(sets)


def shares(deployment: Deployment, sets: Sequence[ReplicaSet], max_before: Sequence[int | None]) -> list[int]:
    """The sizes of ReplicaSets, in their order, after the Deployment was scaled: each keeps its share.

    ``max_before`` is how many pods the Deployment might have had when each ReplicaSet was last sized. What rounding
    leaves over goes to the first.
    """
    change = growth(deployment, sets)
    sizes, added = [], 0
    for found, before in zip(sets, max_before, strict=True):
        part = _part(deployment, size_of(found), before, change, added)
        sizes.append(size_of(found) + part)
        added += part
    if sizes and change:
        sizes[0] = max(0, sizes[0] + change - added)
    return sizes


def _part(deployment: Deployment, size: int, max_before: int | None, change: int, added: int) -> int:
    if size == 0 or change in (0, added):
        return 0
    share = _share(deployment, size, max_before)
    return min(share, change - added) if change > 0 else max(share, change - added)


def _share(deployment: Deployment, size: int, max_before: int | None) -> int:
    wanted = replicas_of(deployment)
    if wanted == 0:
        return -size
    before = max_before or deployment.status.replicas
    if before == 0:
        return 0
    grown = size * (wanted + max_surge(deployment)) / before
    return math.floor(grown + 0.5) - size

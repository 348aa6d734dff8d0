"""Rollout: which ReplicaSet grows and which shrinks next.

*Rolling*: the newest grows as far as the surge lets it, the old ones shrink as far as enough pods stay available, those
that are not available first. *Recreate*: the old ones shrink to nothing, and when their pods are gone the newest grows.
*Scaling*: in the middle of a rollout every ReplicaSet keeps its share.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubewright.controlplane.deployment.progress import is_complete, next_look, rollout_status, status_of
from kubewright.controlplane.deployment.revisions import DESIRED, MAX, age_of, number_in
from kubewright.controlplane.deployment.sizes import (
    growth,
    is_rolling,
    max_unavailable,
    new_size,
    replicas_of,
    shares,
    size_of,
    total,
)
from kubewright.controlplane.deployment.step import Step
from kubewright.kinds.apps_v1 import ReplicaSet
from kubewright.kinds.core_v1 import Pod

__all__ = ["recreate", "roll", "scale", "tell", "was_scaled"]


async def tell(step: Step) -> None:
    """Write the counts and availability, and nothing of the rollout's progress."""
    status = status_of(step.deployment, step.all, step.newest, step.ctx.now)
    if status != step.deployment.status:
        await step.write_status(status)


async def _tell_rollout(step: Step) -> None:
    status = rollout_status(step.deployment, step.all, step.newest, step.ctx.now)
    if status != step.deployment.status:
        await step.write_status(status)
    else:
        step.look_again = next_look(step.deployment, status, step.ctx.now)


def was_scaled(step: Step) -> bool:
    """Whether the Deployment wants another number of pods than when its ReplicaSets were last sized."""
    wanted = replicas_of(step.deployment)
    return any(number_in(found, DESIRED) not in (None, wanted) for found in step.all if size_of(found))


async def roll(step: Step) -> None:
    """A step of a rolling update."""
    if not await step.create_newest():
        return
    scaled = await _grow_newest(step) or await _shrink_old(step)
    if not scaled and is_complete(step.deployment, step.deployment.status):
        await step.forget_old()
    await _tell_rollout(step)


async def _grow_newest(step: Step) -> bool:
    assert step.newest is not None
    size, wanted = size_of(step.newest), replicas_of(step.deployment)
    if size == wanted:
        return False
    return await step.resize(step.newest, wanted if size > wanted else new_size(step.deployment, step.all, size))


async def _shrink_old(step: Step) -> bool:
    assert step.newest is not None
    if total(step.old) == 0:
        return False
    must_stay = replicas_of(step.deployment) - max_unavailable(step.deployment)
    not_yet_available = size_of(step.newest) - step.newest.status.available_replicas
    spare = total(step.all) - must_stay - not_yet_available
    if spare <= 0:
        return False
    useless = [(found, size_of(found) - found.status.available_replicas) for found in step.old if size_of(found)]
    cleaned = await _shrink(step, useless, spare)
    if cleaned is None:
        return False
    available = sum(found.status.available_replicas for found in step.all if size_of(found) or found is step.newest)
    shrunk = await _shrink(step, [(found, size_of(found)) for found in step.old], available - must_stay)
    return cleaned + (shrunk or 0) > 0


async def _shrink(step: Step, by: Sequence[tuple[ReplicaSet, int]], most: int) -> int | None:
    """Take pods from ReplicaSets in order, from each at most so many, and at most so many in all; give how many.

    None if one has more pods available than it shall have: it has shrunk and does not tell so yet, so that nobody knows
    how many pods can be spared.
    """
    taken = 0
    for found, number in by:
        if taken >= most:
            break
        if number < 0:
            return None
        part = min(number, most - taken)
        if part:
            await step.resize(found, size_of(found) - part)
            taken += part
    return taken


async def recreate(step: Step, pods: Sequence[Pod]) -> None:
    """A step of an update that stops all old pods first; ``pods`` are those of the old ReplicaSets."""
    active = [found for found in step.old if size_of(found)]
    for found in active:
        await step.resize(found, 0)
    if active or _are_running(step.old, pods):
        await _tell_rollout(step)
        return
    if not await step.create_newest():
        return
    assert step.newest is not None
    await step.resize(step.newest, replicas_of(step.deployment))
    if is_complete(step.deployment, step.deployment.status):
        await step.forget_old()
    await _tell_rollout(step)


def _are_running(old: Sequence[ReplicaSet], pods: Sequence[Pod]) -> bool:
    return any(found.status.replicas for found in old) or any(
        pod.status.phase not in ("Failed", "Succeeded") for pod in pods
    )


async def scale(step: Step) -> None:
    """Size the ReplicaSets for another number of pods, outside the course of a rollout."""
    wanted = replicas_of(step.deployment)
    active = [found for found in step.all if size_of(found)]
    if len(active) <= 1:
        only = active[0] if active else step.newest or (step.old[-1] if step.old else None)
        if only is not None:
            await step.resize(only, wanted)
    elif _is_saturated(step.newest, wanted):
        for found in [found for found in step.old if size_of(found)]:
            await step.resize(found, 0)
    elif is_rolling(step.deployment):
        await _scale_proportionally(step, active)


def _is_saturated(newest: ReplicaSet | None, wanted: int) -> bool:
    """Whether the newest ReplicaSet has all wanted pods, available, and knows that these are all."""
    if newest is None:
        return False
    return size_of(newest) == newest.status.available_replicas == number_in(newest, DESIRED) == wanted


async def _scale_proportionally(step: Step, active: Sequence[ReplicaSet]) -> None:
    """The larger first; of equal ones the newer when there are more to be, the older when there are fewer."""
    ordered = sorted(active, key=age_of, reverse=growth(step.deployment, active) > 0)
    ordered.sort(key=size_of, reverse=True)
    sizes = shares(step.deployment, ordered, [number_in(found, MAX) for found in ordered])
    for found, size in zip(ordered, sizes, strict=True):
        await step.resize(found, size, always=True)

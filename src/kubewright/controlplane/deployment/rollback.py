"""Rollback by annotation, as clients of old asked for it; those of today change the template themselves."""

from __future__ import annotations

import re
from typing import Final

from kubewright.controlplane.deployment.revisions import (
    ROLLBACK_TO,
    are_alike,
    copy_annotations_back,
    last_revision,
    revision_of,
    without_hash,
)
from kubewright.controlplane.deployment.step import Step
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet

__all__ = ["roll_back", "rollback_target"]

_NOT_FOUND: Final = "DeploymentRollbackRevisionNotFound"
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def rollback_target(deployment: Deployment) -> int | None:
    """The revision to go back to, 0 for the last one; None if nobody asks for it."""
    text = deployment.metadata.annotations.get(ROLLBACK_TO, "")
    return int(text) if _NUMBER.fullmatch(text) else None


async def roll_back(step: Step, target: int) -> None:
    """Give the Deployment the template of another revision; whatever comes of it, the request is done with."""
    if not await step.create_newest():
        return
    revision = target or last_revision(step.all)
    found = next((each for each in step.all if revision_of(each) == revision), None)
    if not revision:
        step.ctx.event("Warning", _NOT_FOUND, "Unable to find last revision.")
    elif found is None:
        step.ctx.event("Warning", _NOT_FOUND, "Unable to find the revision to rollback to.")
    elif are_alike(found.spec.template, step.deployment.spec.template):
        message = f'The rollback revision contains the same template as current deployment "{step.deployment.name}"'
        step.ctx.event("Warning", "DeploymentRollbackTemplateUnchanged", message)
    else:
        await _take_template(step, found, revision)
        return
    await _finish(step)


async def _take_template(step: Step, found: ReplicaSet, revision: int) -> None:
    deployment, template = step.deployment, found.spec.template
    assert template is not None
    deployment.spec.template = without_hash(template)
    copy_annotations_back(deployment, found)
    await _finish(step)
    message = f'Rolled back deployment "{deployment.name}" to revision {revision}'
    step.ctx.event("Normal", "DeploymentRollback", message)


async def _finish(step: Step) -> None:
    step.deployment.metadata.annotations.pop(ROLLBACK_TO, None)
    step.deployment = await step.ctx.client.replace(step.deployment)
    step.has_written = True

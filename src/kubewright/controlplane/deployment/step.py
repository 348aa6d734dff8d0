"""One step of a Deployment: what it sees, and the writes that are all alike."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from kubewright.api import Metadata, to_dict
from kubewright.controller import Context
from kubewright.controlplane.deployment.conditions import (
    CREATE_FAILED,
    CREATED,
    FOUND,
    PROGRESSING,
    condition_of,
    get_condition,
    set_condition,
)
from kubewright.controlplane.deployment.progress import has_deadline
from kubewright.controlplane.deployment.revisions import (
    HASH_LABEL,
    REVISION,
    age_of,
    are_alike,
    max_revision,
    revision_of,
    set_annotations,
    set_sizes,
)
from kubewright.controlplane.deployment.sizes import new_size, size_of
from kubewright.controlplane.deployment.template_hash import template_hash
from kubewright.errors import AlreadyExists, ApiError, KubewrightError
from kubewright.kinds.apps_v1 import Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec

__all__ = ["NamespaceEnding", "Step"]

_NEVER: Final = 2**31 - 1
_LONGEST_NAME: Final = 253


class NamespaceEnding(KubewrightError):
    """Nothing can be created any more, and nothing needs to be."""


class Step:
    """A Deployment and its ReplicaSets as they were read, and kept up with what the step writes.

    ``newest`` is the ReplicaSet whose template is the Deployment's, None if there is none; ``old`` are the others, from
    old to new. ``has_written`` tells that the step changed something, so that another should follow it.
    """

    def __init__(self, deployment: Deployment, sets: Sequence[ReplicaSet], ctx: Context) -> None:
        self.deployment: Deployment = deployment
        self.ctx: Context = ctx
        self.has_written: bool = False
        self.look_again: timedelta | None = None
        ordered = sorted(sets, key=age_of)
        template = deployment.spec.template
        self.newest: ReplicaSet | None = next(
            (found for found in ordered if are_alike(found.spec.template, template)), None
        )
        self.old: list[ReplicaSet] = [found for found in ordered if found is not self.newest]

    @property
    def all(self) -> list[ReplicaSet]:
        """Every ReplicaSet, the newest last."""
        return [*self.old, self.newest] if self.newest is not None else list(self.old)

    async def write_status(self, status: DeploymentStatus | None = None) -> None:
        """Send the status, together with the annotation of the revision, if anything differs from what was read."""
        if status is not None:
            self.deployment.status = status
        written = await self.ctx.client.replace(self.deployment, subresource="status")
        self.has_written = True
        self.deployment = written

    async def update(self, found: ReplicaSet) -> ReplicaSet:
        """Send a ReplicaSet that was changed, and keep it as the server has it."""
        written = await self.ctx.client.replace(found)
        self.has_written = True
        if found is self.newest:
            self.newest = written
        self.old = [written if each is found else each for each in self.old]
        return written

    async def resize(self, found: ReplicaSet, size: int, *, always: bool = False) -> bool:
        """Give a ReplicaSet another size; tell whether it had not that size yet.

        With ``always`` the annotations that go with the size are renewed even if the size is right.
        """
        before = size_of(found)
        if before == size and not always:
            return False
        sizes_are_new = set_sizes(found, self.deployment)
        if before == size and not sizes_are_new:
            return False
        found.spec.replicas = size
        await self.update(found)
        if before != size:
            self.tell_scaled(found.name, before, size)
        return before != size

    def tell_scaled(self, name: str, before: int, size: int) -> None:
        """Tell people that a ReplicaSet has got another size."""
        way = "up" if before < size else "down"
        self.ctx.event("Normal", "ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {size}")

    async def keep_revision(self) -> None:
        """Have the newest ReplicaSet carry its revision and annotations, and the Deployment the same revision."""
        found = self.newest
        if found is None:
            return
        deployment = self.deployment
        is_new = set_annotations(found, deployment, max_revision(self.old) + 1, exists=True)
        if is_new or (found.spec.min_ready_seconds or 0) != (deployment.spec.min_ready_seconds or 0):
            found.spec.min_ready_seconds = deployment.spec.min_ready_seconds
            found = await self.update(found)
        is_new = self._take_revision(found.metadata.annotations.get(REVISION, ""))
        if has_deadline(deployment) and get_condition(deployment.status, PROGRESSING) is None:
            message = f'Found new replica set "{found.name}"'
            set_condition(deployment.status, condition_of(PROGRESSING, "True", FOUND, message, self.ctx.now))
            is_new = True
        if is_new:
            await self.write_status()

    def _take_revision(self, revision: str) -> bool:
        annotations = self.deployment.metadata.annotations
        is_new = annotations.get(REVISION, "") != revision
        annotations[REVISION] = revision
        return is_new

    async def create_newest(self) -> bool:
        """Create the newest ReplicaSet if there is none; False if its name is taken, and another is to be tried."""
        if self.newest is not None:
            return True
        planned = self._planned()
        size = planned.spec.replicas or 0
        try:
            self.newest = await self.ctx.client.create(planned)
        except AlreadyExists:
            return await self._take_or_evade(planned)
        except ApiError as error:
            await self._creation_failed(planned, error)
            raise
        self.has_written = True
        if size:
            self.tell_scaled(self.newest.name, 0, size)
        await self._created(f'Created new replica set "{self.newest.name}"')
        return True

    def _planned(self) -> ReplicaSet:
        deployment = self.deployment
        spec = deployment.spec
        suffix = template_hash(to_dict(deployment)["spec"]["template"], deployment.status.collision_count)
        labels = {**spec.template.metadata.labels, HASH_LABEL: suffix}
        selector = msgspec.structs.replace(
            spec.selector, match_labels={**spec.selector.match_labels, HASH_LABEL: suffix}
        )
        template = msgspec.structs.replace(
            spec.template, metadata=msgspec.structs.replace(spec.template.metadata, labels=labels)
        )
        planned = ReplicaSet(
            metadata=Metadata(
                name=f"{deployment.name[: _LONGEST_NAME - 1 - len(suffix)]}-{suffix}",
                namespace=deployment.namespace,
                labels=labels,
                owner_references=[deployment.owner_reference],
            ),
            spec=ReplicaSetSpec(
                replicas=new_size(deployment, self.old, 0),
                min_ready_seconds=spec.min_ready_seconds,
                selector=selector,
                template=template,
            ),
        )
        set_annotations(planned, deployment, max_revision(self.old) + 1, exists=False)
        return planned

    async def _created(self, message: str) -> None:
        assert self.newest is not None
        deployment = self.deployment
        is_new = self._take_revision(str(revision_of(self.newest)))
        if has_deadline(deployment):
            set_condition(deployment.status, condition_of(PROGRESSING, "True", CREATED, message, self.ctx.now))
            is_new = True
        if is_new:
            await self.write_status()

    async def _take_or_evade(self, planned: ReplicaSet) -> bool:
        """The name is taken: by our own ReplicaSet, which the cache has not shown; or by another's, then evade it."""
        found = await self.ctx.client.get(ReplicaSet, planned.name)
        deployment = self.deployment
        if found.is_controlled_by(deployment) and are_alike(found.spec.template, deployment.spec.template):
            self.newest = found
            if self._take_revision(str(revision_of(planned))):
                await self.write_status()
            return True
        deployment.status.collision_count = (deployment.status.collision_count or 0) + 1
        await self.write_status()
        return False

    async def _creation_failed(self, planned: ReplicaSet, error: ApiError) -> None:
        if any(cause.reason == "NamespaceTerminating" for cause in error.causes):
            raise NamespaceEnding(str(error)) from error
        message = f'Failed to create new replica set "{planned.name}": {error}'
        if has_deadline(self.deployment):
            failed = condition_of(PROGRESSING, "False", CREATE_FAILED, message, self.ctx.now)
            before = list(self.deployment.status.conditions)
            set_condition(self.deployment.status, failed)
            if self.deployment.status.conditions != before:
                await self.write_status()
        self.ctx.event("Warning", CREATE_FAILED, message)

    async def forget_old(self) -> None:
        """Delete the oldest ReplicaSets without pods that are more than the Deployment shall remember."""
        limit = self.deployment.spec.revision_history_limit
        if limit is None or limit == _NEVER:
            return
        alive = [found for found in self.old if found.metadata.deletion_timestamp is None]
        alive.sort(key=lambda found: (revision_of(found) or 0, age_of(found)))
        for found in alive[: max(0, len(alive) - limit)]:
            is_seen = (found.metadata.generation or 0) <= found.status.observed_generation
            if size_of(found) == 0 and found.status.replicas == 0 and is_seen:
                await self.ctx.delete(found)

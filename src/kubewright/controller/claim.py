"""Claiming: which objects that a selector matches belong to an owner; orphans are adopted, strays released."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from kubewright.api import LabelSelector, OwnerReference, Resource
from kubewright.client import Client
from kubewright.errors import Conflict, NotFound

__all__ = ["claim"]

R = TypeVar("R", bound=Resource)


async def claim(client: Client, owner: Resource, objects: Iterable[R], selector: LabelSelector) -> list[R]:
    """The objects that ``owner`` controls once orphans that match are adopted and its own that do not are released.

    Objects that somebody else controls, or that are being deleted, are left alone. Before the first adoption the
    owner is read live: one that is being deleted, or was replaced by a namesake, adopts nothing. Each write carries
    the revision that was read, so that what others did meanwhile is not lost; such an object is looked at next time.
    """
    claimed: list[R] = []
    may_adopt: bool | None = None
    for obj in objects:
        matches = selector.matches(obj.metadata.labels)
        if obj.controller_reference is not None:
            if not obj.is_controlled_by(owner):
                continue
            if matches or owner.metadata.deletion_timestamp is not None:
                claimed.append(obj)
            else:
                await _write_owners(client, obj, [ref for ref in obj.metadata.owner_references if not ref.controller])
        elif matches and obj.metadata.deletion_timestamp is None:
            if may_adopt is None:
                may_adopt = await _may_adopt(client, owner)
            references = [*obj.metadata.owner_references, owner.owner_reference]
            if may_adopt and (adopted := await _write_owners(client, obj, references)) is not None:
                claimed.append(adopted)
    return claimed


async def _may_adopt(client: Client, owner: Resource) -> bool:
    if owner.metadata.deletion_timestamp is not None:
        return False
    try:
        live = await client.get(type(owner), owner.name, namespace=owner.namespace or None)
    except NotFound:
        return False
    return live.metadata.uid == owner.metadata.uid and live.metadata.deletion_timestamp is None


async def _write_owners(client: Client, obj: R, references: list[OwnerReference]) -> R | None:
    obj.metadata.owner_references = references
    try:
        return await client.update(obj)
    except (NotFound, Conflict):
        return None

"""``Metadata``: names, labels, owners and versions of an object (Kubernetes' ObjectMeta)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from kubewright.api.model import UNSET, ListMap, ListSet, Model, UnsetType, field, omit_empty

__all__ = ["ListMetadata", "ManagedFieldsEntry", "Metadata", "OwnerReference"]


class OwnerReference(Model):
    """Names an object that this one belongs to; the garbage collector deletes it with its last owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFieldsEntry(Model):
    """Which fields one field manager owns, as server-side apply keeps it."""

    manager: str | None = None
    operation: str | None = None
    api_version: str | None = None
    time: datetime | None = None
    fields_type: str | None = None
    fields_v1: msgspec.Raw | UnsetType = field(default=UNSET, name="fieldsV1")
    """The fields as JSON; most readers of an object never look at them."""
    subresource: str | None = None


class Metadata(Model):
    """Kubernetes' ObjectMeta. Absent text is ``""`` and absent lists and maps are empty, as Kubernetes treats them."""

    name: str = omit_empty(str)
    generate_name: str = omit_empty(str)
    namespace: str = omit_empty(str)
    uid: str = omit_empty(str)
    resource_version: str = omit_empty(str)
    generation: int = omit_empty(int)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = omit_empty(dict)
    annotations: dict[str, str] = omit_empty(dict)
    owner_references: Annotated[list[OwnerReference], ListMap("uid")] = omit_empty(list)
    finalizers: Annotated[list[str], ListSet()] = omit_empty(list)
    managed_fields: list[ManagedFieldsEntry] = omit_empty(list)
    self_link: str = omit_empty(str)


class ListMetadata(Model):
    """Kubernetes' ListMeta: at which revision a list was read, and how to get its next page."""

    resource_version: str = omit_empty(str)
    continue_: str = omit_empty(str, name="continue")
    remaining_item_count: int | None = None
    self_link: str = omit_empty(str)

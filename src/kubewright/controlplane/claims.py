"""Claims: which objects a loop's owner controls, by its selector; orphans are adopted, strays released.

The patches are Kubernetes' own: they name the uid of the object, so that a namesake is refused, and no revision, so
that the changes of others do not stand in their way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from kubewright.api import LabelSelector, Resource
from kubewright.client import Client, StrategicPatch
from kubewright.errors import Invalid, KubewrightError, NotFound

__all__ = ["CannotAdopt", "Claims"]

R = TypeVar("R", bound=Resource)


class CannotAdopt(KubewrightError):
    """The owner is gone, replaced by a namesake, or being deleted: what the cache told of it is old."""


class Claims:
    """What one owner claims in one round; before the first adoption the owner is read live, once."""

    def __init__(self, client: Client, owner: Resource, selector: LabelSelector) -> None:
        self._client = client
        self._owner = owner
        self._selector = selector
        self._checked = False

    async def of(self, objects: Iterable[R]) -> list[R]:
        """Those of the objects that the owner controls, or does once it has adopted them, in the same order.

        An owner that is being deleted adopts and releases nothing. *Raises*, after all were looked at, the first
        failure of a patch; an object that is gone is none.
        """
        claimed: list[R] = []
        failures: list[Exception] = []
        for obj in objects:
            try:
                mine = await self._claim(obj)
            except NotFound:
                continue
            except KubewrightError as error:
                failures.append(error)
                continue
            if mine is not None:
                claimed.append(mine)
        if failures:
            raise failures[0]
        return claimed

    async def _claim(self, obj: R) -> R | None:
        matches = self._selector.matches(obj.metadata.labels)
        is_ending = self._owner.metadata.deletion_timestamp is not None
        if obj.controller_reference is not None:
            if not obj.is_controlled_by(self._owner):
                return None
            if not matches and not is_ending:
                await self._release(obj)
            return obj if matches else None
        if is_ending or not matches or obj.metadata.deletion_timestamp is not None:
            return None
        return await self._adopt(obj)

    async def _adopt(self, obj: R) -> R:
        await self._check_owner()
        reference = msgspec.to_builtins(self._owner.owner_reference)
        return await self._patch(obj, reference)

    async def _release(self, obj: Resource) -> None:
        try:
            await self._patch(obj, {"$patch": "delete", "uid": self._owner.metadata.uid})
        except Invalid:
            # It has no owners any more, or is another object of the same name: either way it is released.
            return

    async def _patch(self, obj: R, reference: dict[str, object]) -> R:
        metadata = {"uid": obj.metadata.uid, "ownerReferences": [reference]}
        return await self._client.patch(obj, StrategicPatch({"metadata": metadata}))

    async def _check_owner(self) -> None:
        if self._checked:
            return
        owner = self._owner
        try:
            live = await self._client.get(type(owner), owner.name, namespace=owner.namespace)
        except NotFound:
            raise CannotAdopt(f'{owner.kind} "{owner.key}" is gone and adopts nothing') from None
        if live.metadata.uid != owner.metadata.uid:
            raise CannotAdopt(f'{owner.kind} "{owner.key}" was replaced by another of its name and adopts nothing')
        if live.metadata.deletion_timestamp is not None:
            raise CannotAdopt(f'{owner.kind} "{owner.key}" is being deleted and adopts nothing')
        self._checked = True

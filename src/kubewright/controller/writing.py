"""Writing back what a reconcile left in its object: the status, if different; and telling what is not sent."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from kubewright.api import Resource, Unstructured, base_of, changes, decode, read_version, to_dict
from kubewright.client import Client, MergePatch
from kubewright.controller.own_writes import OwnWrites
from kubewright.errors import NotFound, NotServed

__all__ = ["StatusWriter", "status_of"]

_log = logging.getLogger("kubewright.controller")


def status_of(obj: Resource) -> Any:
    """The object's status, whatever its kind; None if it has none."""
    if isinstance(obj, Unstructured):
        return obj.content.get("status")
    return getattr(obj, "status", None)


class StatusWriter:
    """Sends the status of one controller's objects."""

    def __init__(self, client: Client, *, replaces: bool = False) -> None:
        self._client = client
        self._replaces = replaces
        self._told: set[str] = set()

    async def write(self, obj: Resource, before: Resource, writes: OwnWrites) -> None:
        """Send what differs in the status, at the revision that was read; nothing if nothing does.

        *Raises* ``Conflict`` if the object changed meanwhile. An object that is gone needs no status.
        """
        if obj == before:
            return
        difference = changes(obj)
        status = difference.pop("status", None)
        own = writes.latest.get((obj.api_resource, obj.key))
        if difference and own is None:
            self._tell_unsent(obj, difference)
        if status is None:
            return
        try:
            await self._send(obj, status, own or read_version(obj))
        except NotServed:
            _log.error(
                "%s has no status subresource, so the status that its reconcile leaves is not stored; "
                "add `subresources: {status: {}}` to its CRD",
                obj.api_resource.group_resource,
            )
        except NotFound:
            _log.debug('%s "%s" is gone; its status is not written', obj.kind, obj.key)

    async def _send(self, obj: Resource, status: Any, version: str) -> None:
        if self._replaces:
            document = {**msgspec.json.decode(base_of(obj) or b"{}"), "status": to_dict(obj).get("status")}
            document["metadata"]["resourceVersion"] = version
            await self._client.replace(decode(type(obj), msgspec.json.encode(document)), subresource="status")
        else:
            patch = {"metadata": {"resourceVersion": version}, "status": status}
            await self._client.patch(obj, MergePatch(patch), subresource="status")

    def _tell_unsent(self, obj: Resource, difference: dict[str, Any]) -> None:
        for path in _paths(difference):
            if path not in self._told:
                self._told.add(path)
                _log.warning(
                    '%s "%s": reconcile changed %s in memory, and that is not sent; '
                    "use ctx.client.update(…), or initialize= to fill in what is missing",
                    obj.kind,
                    obj.key,
                    path,
                )


def _paths(difference: dict[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, value in difference.items():
        path = f"{prefix}{name}"
        found += _paths(value, f"{path}.") if isinstance(value, dict) and value else [path]
    return found

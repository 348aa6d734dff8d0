"""Reads the objects that a server makes by itself when it starts, and that are the same everywhere."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from tools.facts.reading import Get

__all__ = ["read_bootstrap"]

_RESOURCES: Final = (
    ("apiregistration.k8s.io", "apiservices"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("networking.k8s.io", "servicecidrs"),
    ("scheduling.k8s.io", "priorityclasses"),
)
_TIMES: Final = ("creationTimestamp", "lastTransitionTime", "time")
_PAUSE: Final = 2.0


async def read_bootstrap(get: Get) -> dict[str, Any]:
    """Where each object is stored, and the object: without what differs from cluster to cluster, times as ``<now>``."""
    lists, before = await _lists(get), None
    while lists != before:
        # The server makes and completes them in the background.
        await asyncio.sleep(_PAUSE)
        lists, before = await _lists(get), lists
    return {"objects": [found for resource, listed in lists.items() for found in _objects(resource, listed)]}


async def _lists(get: Get) -> dict[tuple[str, str], Any]:
    lists = {(group, plural): await get(f"/apis/{group}/v1/{plural}") for group, plural in _RESOURCES}
    return {resource: {"kind": listed["kind"], "items": listed["items"]} for resource, listed in lists.items()}


def _objects(resource: tuple[str, str], listed: dict[str, Any]) -> list[dict[str, Any]]:
    group, plural = resource
    named = {"kind": listed["kind"].removesuffix("List"), "apiVersion": f"{group}/v1"}
    return [{"table": f"{group}/{plural}", "object": {**named, **_anywhere(item)}} for item in listed["items"]]


def _anywhere(value: Any) -> Any:
    if isinstance(value, list):
        return [_anywhere(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: "<now>" if name in _TIMES else _anywhere(inner)
        for name, inner in value.items()
        if name not in ("resourceVersion", "uid")
    }

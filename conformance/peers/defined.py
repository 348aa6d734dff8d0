"""Custom resources that peers need, defined and served."""

from __future__ import annotations

import asyncio
from typing import Any

from kubewright import Client, Unstructured
from kubewright.errors import NotFound

__all__ = ["define"]

_PATIENCE = 60.0


async def define(client: Client, definition: dict[str, Any]) -> None:
    """Install a CRD, and return when its kind is served."""
    await client.apply(Unstructured.from_dict(definition), force=True)
    spec, (version,) = definition["spec"], definition["spec"]["versions"]
    names, is_namespaced = spec["names"], spec["scope"] == "Namespaced"
    api_version = f"{spec['group']}/{version['name']}"
    kind = Unstructured.of(api_version, names["kind"], plural=names["plural"], namespaced=is_namespaced)
    async with asyncio.timeout(_PATIENCE):
        while not await _is_served(client, kind):
            pass


async def _is_served(client: Client, kind: type[Unstructured]) -> bool:
    try:
        await client.list(kind)
    except NotFound:
        return False
    return True

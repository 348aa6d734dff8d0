"""How the facts' readers ask the server."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from kubewright.testing import RealControlPlane

__all__ = ["Get", "get_from"]

Get: TypeAlias = Callable[[str], Awaitable[Any]]
"""Gives the JSON at a path of the server."""


def get_from(plane: RealControlPlane) -> Get:
    """A reader of a running control plane, with kubectl's help."""

    async def get(path: str) -> Any:
        return json.loads((await plane.kubectl("get", "--raw", path)).stdout)

    return get

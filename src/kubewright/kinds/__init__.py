"""Kubernetes' built-in kinds, one module a group-version: ``from kubewright.kinds.apps_v1 import Deployment``.

Nothing is loaded but what you import. Fields have Kubernetes' names in snake_case; absent lists and maps are empty,
other absent values are None, and the numbers and texts of a ``status`` are 0 and ``""`` until the server sets them.
What Kubernetes declares as bytes (a Secret's ``data``, a ``caBundle``) is base64 text, as on the wire.
"""

from __future__ import annotations

import pkgutil

__all__ = ["modules"]


def modules() -> tuple[str, ...]:
    """The full names of all modules of kinds, sorted, without loading them."""
    return tuple(sorted(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))

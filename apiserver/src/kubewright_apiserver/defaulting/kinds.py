"""``default``: what kube-apiserver fills in when it decodes an object, found by its kind."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting import (
    admissionregistration,
    apps,
    autoscaling,
    batch,
    certificates,
    essentials,
    flowcontrol,
    networking,
    rbac,
    resource,
    storage,
)
from kubewright_apiserver.defaulting.parts import Default, Key

__all__ = ["default"]

_GROUPS: Final = (
    admissionregistration,
    apps,
    autoscaling,
    batch,
    certificates,
    essentials,
    flowcontrol,
    networking,
    rbac,
    resource,
    storage,
)
_DEFAULTS: Final[dict[Key, Default]] = {key: default for group in _GROUPS for key, default in group.DEFAULTS.items()}


def default(group: str, version: str, kind: str, obj: dict[str, Any]) -> None:
    """Complete an object of a built-in kind in place as kube-apiserver does whenever it decodes one.

    Expects an object without nulls (but in free-form fields). A kind without defaults is left alone; what a strategy
    adds on creation comes from ``prepare_create``, what is always printed from ``fill_printed``.
    """
    complete = _DEFAULTS.get((group, version, kind))
    if complete is not None:
        complete(obj)

"""``Loop``: one of the cluster's own control loops, as a value that can be left out or replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kubewright.api import Resource
from kubewright.config import Impersonation
from kubewright.controller import Controller
from kubewright.operator import Background

__all__ = ["MANAGER", "Indexes", "Loop", "account"]

MANAGER: Final = "kube-controller-manager"
"""The field manager under which the loops of Kubernetes' controller manager write."""

Indexes: TypeAlias = Mapping[type[Resource], Mapping[str, Callable[[Any], Sequence[str]]]]
"""By kind and name, what objects in the shared cache are found by."""


class Loop:
    """A control loop: the controllers and coroutines that it is made of, and how it finds objects in the cache.

    ``name`` is that of Kubernetes' own, without ``-controller``: it is what ``--without`` takes. All loops of a control
    plane share one cache; ``indexes`` are added to it under names that no other loop uses.
    """

    def __init__(
        self,
        name: str,
        controllers: Sequence[Controller[Any]] = (),
        *,
        background: Sequence[Background] = (),
        indexes: Indexes | None = None,
    ) -> None:
        self.name: str = name
        self.controllers: tuple[Controller[Any], ...] = tuple(controllers)
        self.background: tuple[Background, ...] = tuple(background)
        self.indexes: Indexes = indexes or {}

    def __repr__(self) -> str:
        return f"<Loop {self.name}>"


def account(name: str) -> Impersonation:
    """The service account of a loop in kube-system, as whom it acts: its rights are those of Kubernetes' own."""
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
    return Impersonation(user=f"system:serviceaccount:kube-system:{name}", groups=groups)

"""``Blueprint``: what an operator is made of; what runs it is the business of ``Operator``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kubewright.api import Resource
from kubewright.cluster import Cluster
from kubewright.controller import Controller
from kubewright.election import LeaseTimes
from kubewright.operator.background import Background
from kubewright.operator.cached import Cached
from kubewright.operator.required import Required
from kubewright.operator.rules import rules_of

if TYPE_CHECKING:
    from kubewright.kinds.rbac_v1 import PolicyRule

__all__ = ["Blueprint", "Lifespan"]

Lifespan: TypeAlias = Callable[[Cluster], AbstractAsyncContextManager[object]]
"""Opens a resource while the operator runs: a function with ``@asynccontextmanager`` that takes a ``Cluster``."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Blueprint:
    """The parts of an operator: a value, from which manifests are derived and with which it is run."""

    def __init__(
        self,
        name: str,
        controllers: Sequence[Controller[Any]],
        *,
        namespaces: Sequence[str] | None = None,
        cached: Sequence[Cached[Any]] = (),
        background: Sequence[Background] = (),
        lifespan: Sequence[Lifespan] = (),
        rules: Sequence[PolicyRule] = (),
        requires: Sequence[Required] = (),
        resync: timedelta | None = timedelta(minutes=5),
        grace: timedelta = timedelta(seconds=30),
        lease: LeaseTimes | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"an operator's name is lower-case letters, digits and '-', at most 63, not {name!r}")
        self.name: str = name
        self.controllers: tuple[Controller[Any], ...] = tuple(controllers)
        self.namespaces: tuple[str, ...] | None = tuple(namespaces) if namespaces is not None else None
        self.cached: tuple[Cached[Any], ...] = tuple(cached)
        self.background: tuple[Background, ...] = tuple(background)
        self.lifespan: tuple[Lifespan, ...] = tuple(lifespan)
        self.requires: tuple[Required, ...] = tuple(requires)
        self.resync: timedelta | None = resync
        self.grace: timedelta = grace
        self.lease: LeaseTimes = lease or LeaseTimes()
        self._rules = tuple(rules)
        names = [controller.name for controller in self.controllers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"operator {name}: two controllers are called {twice[0]!r}; give one a name=")

    @property
    def kinds(self) -> tuple[type[Resource], ...]:
        """Every kind that it caches, each once."""
        required = (needed.kind for needed in self.requires)
        found = (kind for controller in self.controllers for kind in controller.kinds)
        return tuple(dict.fromkeys((*found, *required)))

    @property
    def custom_kinds(self) -> tuple[type[Resource], ...]:
        """The kinds that its controllers are for and that no Kubernetes brings: what needs a CRD."""
        primary = dict.fromkeys(controller.kind for controller in self.controllers)
        return tuple(kind for kind in primary if "." in kind.api_resource.group and not _is_built_in(kind))

    @property
    def rules(self) -> tuple[PolicyRule, ...]:
        """What its service account must be allowed to do."""
        return (*rules_of(self.controllers), *self._rules)


def _is_built_in(kind: type[Resource]) -> bool:
    return kind.__module__.startswith("kubewright.kinds.")

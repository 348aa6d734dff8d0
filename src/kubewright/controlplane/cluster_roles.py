"""ClusterRoles that gather the rules of others: ``admin``, ``edit`` and ``view`` grow with what is installed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from kubewright.api import Key, Metadata
from kubewright.cache import Cache
from kubewright.controller import Context, Controller, Watch
from kubewright.controlplane.loop import Loop, account
from kubewright.kinds.rbac_v1 import ClusterRole, PolicyRule

__all__ = ["cluster_role_aggregation_loop"]

_NAME: Final = "clusterrole-aggregation-controller"


def cluster_role_aggregation_loop() -> Loop:
    """Gives each ClusterRole with an ``aggregationRule`` the rules of those that it selects."""
    controller = Controller(
        ClusterRole,
        _reconcile,
        name=_NAME,
        watches=[Watch(ClusterRole, _gathering)],
        field_manager=_NAME,
        acts_as=account(_NAME),
        component=_NAME,
        ready_condition=None,
    )
    return Loop("clusterrole-aggregation", [controller])


def _gathering(_: ClusterRole, cache: Cache) -> list[Key]:
    """All that gather: which of them select a role is found out when they are reconciled."""
    return [role.key for role in cache.list(ClusterRole) if role.aggregation_rule is not None]


async def _reconcile(role: ClusterRole, ctx: Context) -> None:
    if role.aggregation_rule is None:
        return
    rules = _gathered(role, ctx.cache.list(ClusterRole))
    if _texts(rules) != _texts(role.rules):
        # Applied and not updated, as the real one does: what others wrote into the role stays.
        await ctx.client.apply(ClusterRole(metadata=Metadata(name=role.name), rules=rules), force=True)


def _gathered(role: ClusterRole, roles: Iterable[ClusterRole]) -> list[PolicyRule]:
    """The rules of all that the role selects, each once, by the order of selectors and names."""
    others = [other for other in roles if other.name != role.name]
    selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule is not None else []
    found: dict[bytes, PolicyRule] = {}
    for selector in selectors:
        for other in others:
            if selector.matches(other.metadata.labels):
                for rule in other.rules:
                    found.setdefault(msgspec.json.encode(rule), rule)
    return list(found.values())


def _texts(rules: Iterable[PolicyRule]) -> list[bytes]:
    return [msgspec.json.encode(rule) for rule in rules]

"""ClusterRoles that gather the rules of others: kept up to date whenever a ClusterRole changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from kubewright_apiserver.label_selectors import label_predicate, selector_text
from kubewright_apiserver.patch import apply
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.store import Row, Stale, Store

__all__ = ["AGGREGATOR", "CLUSTER_ROLES", "aggregated_rules", "follow_cluster_roles"]

CLUSTER_ROLES: Final = "rbac.authorization.k8s.io/clusterroles"
AGGREGATOR: Final = "clusterrole-aggregation-controller"
"""Who owns the rules of roles that gather them."""

Object = dict[str, Any]


def aggregated_rules(role: Object, roles: Iterable[Object]) -> list[Object]:
    """The rules of all those roles that a role gathers, each once; ``roles`` are in order of name."""
    found: dict[bytes, Object] = {}
    listed = list(roles)
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        matches = label_predicate(selector_text(selector))
        for other in listed:
            metadata = other["metadata"]
            if metadata["name"] == role["metadata"]["name"]:
                continue
            if matches is None or matches(metadata.get("labels") or {}):
                for rule in other.get("rules") or ():
                    found.setdefault(orjson.dumps(rule, option=orjson.OPT_SORT_KEYS), rule)
    return list(found.values())


async def follow_cluster_roles(store: Store, behaviour: Behaviour, now: str) -> None:
    """Give every role that gathers rules those that it has to have now."""
    table = store.table(CLUSTER_ROLES)
    # A role may gather those of another that gathers: what changed may change more, but not for ever.
    for _ in range(len(table)):
        stale = [row for row in table.list().rows if _is_stale(row, table.list().rows)]
        if not stale:
            return
        for row in stale:
            rules = aggregated_rules(row.obj, [other.obj for other in table.list().rows])
            await _gather(store, behaviour, row, rules, now)


def _is_stale(row: Row, rows: Iterable[Row]) -> bool:
    if not row.obj.get("aggregationRule"):
        return False
    return aggregated_rules(row.obj, (other.obj for other in rows)) != (row.obj.get("rules") or [])


async def _gather(store: Store, behaviour: Behaviour, row: Row, rules: list[Object], now: str) -> None:
    live: Object = orjson.loads(row.value)
    intent = {"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {"name": row.key}, "rules": rules}
    obj = apply(
        live,
        intent,
        endpoint=behaviour.endpoint(""),
        manager=AGGREGATOR,
        force=True,
        now=now,
        finish=behaviour.finished,
    )
    try:
        await store.put(CLUSTER_ROLES, row.key, behaviour.to_storage(obj), expected=row.rev)
    except Stale:
        # Whoever was quicker sees to it.
        return

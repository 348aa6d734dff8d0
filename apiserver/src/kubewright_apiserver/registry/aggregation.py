"""ClusterRoles that gather the rules of others, as every cluster has them from its first moment.

Keeping them up to date is a control loop's work, here as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from kubewright_apiserver.label_selectors import label_predicate, selector_text

__all__ = ["AGGREGATOR", "aggregated_rules"]

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

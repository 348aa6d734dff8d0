"""Defaults of the group apps."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from kubewright_apiserver.defaulting.essentials import default_claim
from kubewright_apiserver.defaulting.parts import Default, Key, annotations_without, part, set_missing
from kubewright_apiserver.defaulting.pod import default_pod_template
from kubewright_apiserver.status import bad_request

__all__ = ["DEFAULTS", "TEMPLATE_GENERATION"]

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
"""The annotation of a DaemonSet that counts the changes of its template."""

_ROLLBACK: Final = "deprecated.deployment.rollback.to"
_INT64: Final = 2**63
_NUMBER: Final = re.compile(r"[+-]?[0-9]+\Z", re.ASCII)


def _deployment(deployment: dict[str, Any]) -> None:
    spec = part(deployment, "spec")
    strategy = part(spec, "strategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        set_missing(part(strategy, "rollingUpdate"), {"maxUnavailable": "25%", "maxSurge": "25%"})
    set_missing(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    default_pod_template(part(spec, "template"))
    _read_number(deployment, "Deployment", _ROLLBACK, f"failed to parse annotation[{_ROLLBACK}]={{}} as int64: ")


def _read_number(obj: dict[str, Any], kind: str, name: str, prefix: str) -> None:
    """Write an annotation that kube-apiserver reads as a number as it writes it back."""
    metadata = obj.get("metadata") or {}
    text = (metadata.get("annotations") or {}).get(name)
    if text is None:
        return
    if not text and prefix:
        annotations_without(metadata, frozenset((name,)))
        return
    why = "" if _NUMBER.match(text) else "invalid syntax"
    if not why and not -_INT64 <= int(text) < _INT64:
        why = "value out of range"
    if why:
        text = f"{prefix.format(text)}strconv.ParseInt: parsing {json.dumps(text)}: {why}"
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {text}')
    metadata["annotations"][name] = str(int(text))


def _daemon_set(daemon_set: dict[str, Any]) -> None:
    spec = part(daemon_set, "spec")
    strategy = part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        set_missing(part(strategy, "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0})
    set_missing(spec, {"revisionHistoryLimit": 10})
    default_pod_template(part(spec, "template"))
    _read_number(daemon_set, "DaemonSet", TEMPLATE_GENERATION, "")
    part(part(daemon_set, "metadata"), "annotations").setdefault(TEMPLATE_GENERATION, "0")


def _stateful_set(stateful_set: dict[str, Any]) -> None:
    spec = part(stateful_set, "spec")
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        part(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        set_missing(strategy["rollingUpdate"], {"partition": 0})
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    for name in ("whenDeleted", "whenScaled"):
        if not retention.get(name):
            retention[name] = "Retain"
    set_missing(spec, {"replicas": 1, "revisionHistoryLimit": 10})
    default_pod_template(part(spec, "template"))
    for claim in spec.get("volumeClaimTemplates") or ():
        default_claim(claim)
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"


def _replica_set(replica_set: dict[str, Any]) -> None:
    spec = part(replica_set, "spec")
    set_missing(spec, {"replicas": 1})
    default_pod_template(part(spec, "template"))


DEFAULTS: Final[dict[Key, Default]] = {
    ("apps", "v1", "DaemonSet"): _daemon_set,
    ("apps", "v1", "Deployment"): _deployment,
    ("apps", "v1", "ReplicaSet"): _replica_set,
    ("apps", "v1", "StatefulSet"): _stateful_set,
}

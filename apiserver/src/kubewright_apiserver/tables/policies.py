"""The rows of who may do what, of what checks requests, and of certificates."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.tables.ages import age_of, human_duration
from kubewright_apiserver.tables.texts import NONE, UNSET, condition_status, labels_text, part

__all__ = [
    "binding_cells",
    "flow_schema_cells",
    "mutating_policy_cells",
    "pod_certificate_request_cells",
    "policy_binding_cells",
    "priority_level_cells",
    "signing_request_cells",
    "trust_bundle_cells",
    "validating_policy_cells",
    "webhooks_cells",
]

_ISSUED: Final = ("Issued", "Denied", "Failed")


def binding_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a RoleBinding or a ClusterRoleBinding."""
    role = part(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in obj.get("subjects") or ():
        name = one.get("name", "")
        is_account = one.get("kind") == "ServiceAccount"
        subjects.setdefault(one.get("kind", ""), []).append(
            f"{one.get('namespace', '')}/{name}" if is_account else name
        )
    told = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    role_name = f"{role.get('kind', '')}/{role.get('name', '')}"
    return [obj["metadata"].get("name", ""), role_name, age_of(obj, now), *told]


def webhooks_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a configuration of webhooks."""
    return [obj["metadata"].get("name", ""), len(obj.get("webhooks") or ()), age_of(obj, now)]


def validating_policy_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ValidatingAdmissionPolicy."""
    return _policy(obj, "validations", now)


def mutating_policy_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a MutatingAdmissionPolicy."""
    return _policy(obj, "mutations", now)


def _policy(obj: dict[str, Any], rules: str, now: float) -> list[Any]:
    spec = part(obj, "spec")
    kind = spec.get("paramKind")
    told = UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"
    return [obj["metadata"].get("name", ""), len(spec.get(rules) or ()), told, age_of(obj, now)]


def policy_binding_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of the binding of an admission policy."""
    spec = part(obj, "spec")
    parameter, told = spec.get("paramRef") or {}, UNSET
    if parameter.get("name"):
        told = f"{parameter.get('namespace') or '*'}/{parameter['name']}"
    elif parameter.get("selector") is not None:
        told = _go_selector(parameter["selector"])
    return [obj["metadata"].get("name", ""), spec.get("policyName", ""), told, age_of(obj, now)]


def _go_selector(selector: dict[str, Any]) -> str:
    """A label selector as Go prints the type."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def signing_request_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a CertificateSigningRequest."""
    spec, seconds = part(obj, "spec"), part(obj, "spec").get("expirationSeconds")
    return [
        obj["metadata"].get("name", ""),
        age_of(obj, now),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        _signing_status(part(obj, "status")),
    ]


def _signing_status(status: dict[str, Any]) -> str:
    types = [one["type"] for one in status.get("conditions") or ()]
    told = [next((type for type in ("Denied", "Approved") if type in types), "Pending")]
    told += ["Failed"] if "Failed" in types else []
    return ",".join([*told, *(["Issued"] if status.get("certificate") else [])])


def trust_bundle_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a ClusterTrustBundle."""
    return [obj["metadata"].get("name", ""), part(obj, "spec").get("signerName") or NONE]


def pod_certificate_request_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PodCertificateRequest."""
    spec = part(obj, "spec")
    told = [spec.get(name, "") for name in ("podName", "serviceAccountName", "nodeName", "signerName")]
    states = [one["type"] for one in part(obj, "status").get("conditions") or () if one["type"] in _ISSUED]
    state = states[-1] if states else "Pending"
    return [obj["metadata"].get("name", ""), *told, state, labels_text(spec.get("unverifiedUserAnnotations"))]


def flow_schema_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a FlowSchema."""
    spec = part(obj, "spec")
    method = spec.get("distinguisherMethod")
    return [
        obj["metadata"].get("name", ""),
        part(spec, "priorityLevelConfiguration").get("name", ""),
        spec.get("matchingPrecedence", 0),
        NONE if method is None else method.get("type", ""),
        age_of(obj, now),
        condition_status(part(obj, "status").get("conditions"), "Dangling") or "?",
    ]


def priority_level_cells(obj: dict[str, Any], now: float) -> list[Any]:
    """The cells of a PriorityLevelConfiguration."""
    spec = part(obj, "spec")
    limited, queuing = spec.get("limited"), part(spec, "limited", "limitResponse").get("queuing")
    shares = NONE if limited is None else limited.get("nominalConcurrencyShares", 0)
    names = ("queues", "handSize", "queueLengthLimit")
    queues = [NONE if queuing is None else queuing.get(name, 0) for name in names]
    return [obj["metadata"].get("name", ""), spec.get("type", ""), shares, *queues, age_of(obj, now)]

"""FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.metadata import created_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain
from kubewright_apiserver.validation.rules import Errors, Object, named, named_required

__all__ = [
    "created_flow_schema",
    "created_priority_level",
    "updated_flow_schema",
    "updated_flow_status",
    "updated_priority_level",
]

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS: Final = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_ZERO_SHARES: Final = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
_SHARES: Final = "must be a non-negative integer"
_RULES: Final[Object] = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _groups(*names: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


_MANDATORY_SCHEMAS: Final[dict[str, Any]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": _groups("system:masters"), **_RULES}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": _groups("system:unauthenticated", "system:authenticated"), **_RULES}],
    },
}
_MANDATORY_LEVELS: Final[dict[str, Any]] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}


def created_flow_schema(obj: Object) -> Errors:
    """The errors of a new FlowSchema."""
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    errors = created_metadata(obj, False, dns_subdomain) + _schema(spec, name)
    fixed = _MANDATORY_SCHEMAS.get(name)
    if fixed is not None and not same("io.k8s.api.flowcontrol.v1.FlowSchemaSpec", spec, fixed):
        value = printed("flowcontrol.FlowSchemaSpec", spec)
        errors.append(invalid_field("spec", value, f"spec of '{name}' must equal the fixed value"))
    return errors + _conditions(obj)


def updated_flow_schema(obj: Object, old: Object) -> Errors:
    """The errors of a FlowSchema that is written over an old one."""
    return created_flow_schema(obj)


def updated_flow_status(obj: Object, old: Object) -> Errors:
    """The errors of a FlowSchema or PriorityLevelConfiguration whose status is written."""
    return _conditions(obj)


def _conditions(obj: Object) -> Errors:
    errors: Errors = []
    kinds = [condition.get("type", "") for condition in (obj.get("status") or {}).get("conditions") or ()]
    for index, kind in enumerate(kinds):
        at = f"status.conditions[{index}].type"
        if kind in kinds[:index]:
            errors.append(duplicate(at, kind))
        if not kind:
            errors.append(required(at))
    return errors


def _schema(spec: Object, name: str) -> Errors:
    precedence, at = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence"
    errors: Errors = []
    if precedence <= 0:
        errors.append(invalid_field(at, precedence, "must be a positive value"))
    if precedence > 10000:
        errors.append(invalid_field(at, precedence, "must not be greater than 10000"))
    if precedence == 1 and name != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(invalid_field(at, precedence, detail))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        value = printed("flowcontrol.FlowDistinguisherMethod", method)
        errors.append(not_supported("spec.distinguisherMethod.type", value, ("ByNamespace", "ByUser")))
    level, at = (spec.get("priorityLevelConfiguration") or {}).get("name"), "spec.priorityLevelConfiguration.name"
    errors += named(dns_subdomain, at, level) if level else [required(at, "must reference a priority level")]
    for index, rule in enumerate(spec.get("rules") or ()):
        errors += _rule(rule, f"spec.rules[{index}]")
    return errors


def _rule(rule: Object, path: str) -> Errors:
    subjects = rule.get("subjects") or ()
    errors = [] if subjects else [required(f"{path}.subjects", "subjects must contain at least one value")]
    for index, subject in enumerate(subjects):
        errors += _subject(subject, f"{path}.subjects[{index}]")
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(path, detail))
    for index, one in enumerate(rule.get("resourceRules") or ()):
        errors += _resource_rule(one, f"{path}.resourceRules[{index}]")
    for index, one in enumerate(rule.get("nonResourceRules") or ()):
        errors += _url_rule(one, f"{path}.nonResourceRules[{index}]")
    return errors


def _subject(subject: Object, path: str) -> Errors:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        return [not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))]
    field = _SUBJECTS[kind]
    found, at = subject.get(field), f"{path}.{field}"
    if found is None:
        errors = [required(at, f"{field} is required when subject kind is '{kind}'")]
    elif kind == "ServiceAccount":
        errors = _account(found, at)
    else:
        errors = [] if found.get("name") else [required(f"{at}.name")]
    others = [(name, other) for other, name in _SUBJECTS.items() if other != kind and subject.get(name) is not None]
    order = ["serviceAccount", "user", "group"]
    return errors + [
        forbidden_field(f"{path}.{name}", f"{name} is forbidden when subject kind is not '{other}'")
        for name, other in sorted(others, key=lambda pair: order.index(pair[0]))
    ]


def _account(account: Object, path: str) -> Errors:
    name, namespace = account.get("name"), account.get("namespace")
    errors = [] if name == "*" else named_required(dns_subdomain, f"{path}.name", name)
    if not namespace:
        return [*errors, required(f"{path}.namespace", "must specify namespace for service account")]
    return errors + named(dns_label, f"{path}.namespace", namespace)


def _verbs(verbs: Sequence[str], path: str) -> Errors:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return _alone(verbs, path, "verbs")
    return [] if {*verbs} <= {*_VERBS} else [not_supported(path, [*verbs], _VERBS)]


def _alone(values: Sequence[str], path: str, told: str) -> Errors:
    if "*" not in values or len(values) == 1:
        return []
    return [invalid_field(path, [*values], f"if '*' is present, must not specify other {told}")]


def _resource_rule(rule: Object, path: str) -> Errors:
    errors = _verbs(rule.get("verbs") or (), f"{path}.verbs")
    for name, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(name) or ()
        if values:
            errors += _alone(values, f"{path}.{name}", many)
        else:
            errors.append(required(f"{path}.{name}", f"resource rules must supply at least one {one}"))
    namespaces, at = rule.get("namespaces") or (), f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*errors, required(at, detail)]
    if "*" in namespaces:
        return errors + _alone(namespaces, at, "namespaces")
    intro = "each member of this list must be '*' or a DNS-1123 label; "
    for index, namespace in enumerate(namespaces):
        messages = dns_label(namespace)
        errors += [invalid_field(f"{at}[{index}]", namespace, intro + message) for message in messages]
    return errors


def _url_rule(rule: Object, path: str) -> Errors:
    errors = _verbs(rule.get("verbs") or (), f"{path}.verbs")
    urls, at = rule.get("nonResourceURLs") or (), f"{path}.nonResourceURLs"
    if not urls:
        return [*errors, required(at, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return errors + _alone(urls, at, "non-resource URLs")
    for index, url in enumerate(urls):
        errors += [invalid_field(f"{at}[{index}]", url, detail) for detail in _url_problem(url)]
    return errors


def _url_problem(url: str) -> Sequence[str]:
    if not url:
        return ["must not be empty"]
    if not url.startswith("/"):
        return ["must start with slash"]
    if " " in url:
        return ["must not contain white-space"]
    if "//" in url:
        return ["must not contain double slash"]
    stars = url.count("*")
    return ["wildcard can only do suffix matching"] if stars > 1 or (stars and not url.endswith("/*")) else []


def created_priority_level(obj: Object) -> Errors:
    """The errors of a new PriorityLevelConfiguration."""
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    errors = created_metadata(obj, False, dns_subdomain)
    if _ZERO_SHARES in (obj["metadata"].get("annotations") or {}):
        errors.append(forbidden_field("metadata.annotations", f"annotation '{_ZERO_SHARES}' is forbidden"))
    return errors + _level(spec, name) + _mandatory_level(spec, name) + _conditions(obj)


def updated_priority_level(obj: Object, old: Object) -> Errors:
    """The errors of a PriorityLevelConfiguration that is written over an old one."""
    return created_priority_level(obj)


def _mandatory_level(spec: Object, name: str) -> Errors:
    fixed = _MANDATORY_LEVELS.get(name)
    if fixed is None:
        return []
    told = ""
    if name == "exempt":
        spec_without, told = (
            {key: value for key, value in spec.items() if key != "exempt"},
            " except the 'spec.exempt' field",
        )
    else:
        spec_without = spec
    if same("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", spec_without, fixed):
        return []
    value = printed("flowcontrol.PriorityLevelConfigurationSpec", spec)
    return [invalid_field("spec", value, f"spec of '{name}'{told} must equal the fixed value")]


def _level(spec: Object, name: str) -> Errors:
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    errors: Errors = []
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(invalid_field("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    if kind == "Exempt":
        if limited is not None:
            errors.append(forbidden_field("spec.limited", "must be nil if the type is not Limited"))
        return errors + (_shares(exempt, "spec.exempt") if exempt is not None else [])
    if kind != "Limited":
        known = ("Exempt", "Limited")
        return [*errors, not_supported("spec.type", kind, known) if kind else required("spec.type")]
    if exempt is not None:
        errors.append(forbidden_field("spec.exempt", "must be nil if the type is Limited"))
    if limited is None:
        return [*errors, required("spec.limited", "must not be empty when type is Limited")]
    return errors + _limited(limited, "spec.limited")


def _shares(level: Object, path: str) -> Errors:
    shares = level.get("nominalConcurrencyShares", 0)
    errors = [invalid_field(f"{path}.nominalConcurrencyShares", shares, _SHARES)] if shares < 0 else []
    return errors + _lendable(level, path)


def _lendable(level: Object, path: str) -> Errors:
    lent = level.get("lendablePercent", 0)
    if 0 <= lent <= 100:
        return []
    return [invalid_field(f"{path}.lendablePercent", lent, "must be between 0 and 100, inclusive")]


def _limited(level: Object, path: str) -> Errors:
    shares, borrowed = level.get("nominalConcurrencyShares", 0), level.get("borrowingLimitPercent")
    errors = [invalid_field(f"{path}.nominalConcurrencyShares", shares, _SHARES)] if shares < 0 else []
    errors += _response(level.get("limitResponse") or {}, f"{path}.limitResponse") + _lendable(level, path)
    if borrowed is not None and borrowed < 0:
        detail = f"if specified, {_SHARES}"
        errors.append(invalid_field(f"{path}.borrowingLimitPercent", borrowed, detail))
    return errors


def _response(response: Object, path: str) -> Errors:
    kind, queuing, at = response.get("type", ""), response.get("queuing"), f"{path}.queuing"
    if kind == "Reject":
        detail = "must be nil if limited.limitResponse.type is not Limited"
        return [] if queuing is None else [forbidden_field(at, detail)]
    if kind == "Queue":
        detail = "must not be empty if limited.limitResponse.type is Limited"
        return [required(at, detail)] if queuing is None else _queuing(queuing, at)
    return [not_supported(f"{path}.type", kind, ("Queue", "Reject")) if kind else required(f"{path}.type")]


def _queuing(queuing: Object, path: str) -> Errors:
    length, queues, hand = (queuing.get(name, 0) for name in ("queueLengthLimit", "queues", "handSize"))
    errors: Errors = []
    if length <= 0:
        errors.append(invalid_field(f"{path}.queueLengthLimit", length, "must be positive"))
    if queues <= 0:
        errors.append(invalid_field(f"{path}.queues", queues, "must be positive"))
    elif queues > 10_000_000:
        errors.append(invalid_field(f"{path}.queues", queues, "must not be greater than 10000000"))
    at = f"{path}.handSize"
    if hand <= 0:
        errors.append(invalid_field(at, hand, "must be positive"))
    elif hand > queues:
        errors.append(invalid_field(at, hand, f"should not be greater than queues ({queues})"))
    elif math.ceil(math.log2(queues) * hand) > 60:
        told = f"required entropy bits of deckSize {queues} and handSize {hand}"
        errors.append(invalid_field(at, hand, f"{told} should not be greater than 60"))
    return errors

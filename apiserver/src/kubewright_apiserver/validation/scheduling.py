"""Where pods may run: tolerations, node and pod affinity, topology spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.labels import selector_errors
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, label_value
from kubewright_apiserver.validation.rules import Errors, Object, enumerated_if_set, named, positive, qualified_errors

__all__ = ["affinity", "node_selector", "node_selector_term", "taint_effect", "tolerations", "topology_spread"]

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WITHOUT_SELECTOR: Final = "must not be specified when labelSelector is not set"
_IN_BOTH: Final = "exists in both matchLabelKeys and labelSelector"


def taint_effect(effect: str, path: str) -> Errors:
    """The error of what a taint does."""
    return enumerated_if_set(path, effect, _EFFECTS)


def tolerations(found: Sequence[Object], path: str) -> Errors:
    """The errors of the taints that a pod bears."""
    errors: Errors = []
    for index, toleration in enumerate(found):
        at, key, effect = f"{path}[{index}]", toleration.get("key"), toleration.get("effect", "")
        operator = toleration.get("operator", "")
        if key:
            errors += qualified_errors(f"{at}.key", key)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid_field(f"{at}.operator", operator, detail))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid_field(f"{at}.effect", effect, detail))
        errors += _operator(operator, toleration.get("value", ""), f"{at}.operator")
        if effect:
            errors += taint_effect(effect, f"{at}.effect")
    return errors


def _operator(operator: str, value: str, path: str) -> Errors:
    if operator in ("Equal", ""):
        messages = label_value(value)
        return [invalid_field(path, value, ";".join(messages))] if messages else []
    if operator == "Exists":
        return [invalid_field(path, value, "value must be empty when `operator` is 'Exists'")] if value else []
    known = ("Equal", "Exists", "Lt", "Gt") if operator in ("Lt", "Gt") else ("Equal", "Exists")
    return [not_supported(path, operator, known)]


def affinity(found: Object, path: str) -> Errors:
    """The errors of what a pod is drawn to and kept from."""
    errors: Errors = []
    if nodes := found.get("nodeAffinity"):
        errors += _node_affinity(nodes, f"{path}.nodeAffinity")
    for name in ("podAffinity", "podAntiAffinity"):
        if pods := found.get(name):
            errors += _pod_affinity(pods, f"{path}.{name}")
    return errors


def _node_affinity(found: Object, path: str) -> Errors:
    errors: Errors = []
    if (selector := found.get(_REQUIRED)) is not None:
        errors += node_selector(selector, f"{path}.{_REQUIRED}")
    for index, term in enumerate(found.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        errors += _weight(term, at)
        errors += node_selector_term(term.get("preference") or {}, f"{at}.preference", any_value=True)
    return errors


def _weight(term: Object, path: str) -> Errors:
    weight = term.get("weight", 0)
    return [] if 0 < weight <= 100 else [invalid_field(f"{path}.weight", weight, "must be in the range 1-100")]


def node_selector(selector: Object, path: str) -> Errors:
    """The errors of a selector of nodes."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    errors: Errors = []
    for index, term in enumerate(terms):
        errors += node_selector_term(term, f"{path}.nodeSelectorTerms[{index}]")
    return errors


def node_selector_term(term: Object, path: str, *, any_value: bool = False) -> Errors:
    """The errors of one term of a selector of nodes; preferences may name any values."""
    errors: Errors = []
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _node_requirement(requirement, f"{path}.matchExpressions[{index}]", any_value)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        errors += _field_requirement(requirement, f"{path}.matchFields[{index}]")
    return errors


def _node_requirement(requirement: Object, path: str, any_value: bool) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden_field(f"{path}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", detail))
    else:
        errors.append(invalid_field(f"{path}.operator", operator, "not a valid selector operator"))
    errors += qualified_errors(f"{path}.key", requirement.get("key", ""))
    for index, value in enumerate(() if any_value else values):
        errors += named(label_value, f"{path}.values[{index}]", value)
    return errors


def _field_requirement(requirement: Object, path: str) -> Errors:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    errors: Errors = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid_field(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", detail))
    if requirement.get("key") != "metadata.name":
        detail = "not a valid field selector key"
        return [*errors, invalid_field(f"{path}.key", requirement.get("key", ""), detail)]
    for index, value in enumerate(values):
        errors += named(dns_subdomain, f"{path}.values[{index}]", value)
    return errors


def _pod_affinity(found: Object, path: str) -> Errors:
    errors: Errors = []
    for index, term in enumerate(found.get(_REQUIRED) or ()):
        errors += _pod_term(term, f"{path}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(found.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}]"
        errors += _weight(weighted, at) + _pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")
    return errors


def _pod_term(term: Object, path: str) -> Errors:
    selector = term.get("labelSelector")
    errors = selector_errors(selector, f"{path}.labelSelector")
    errors += selector_errors(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        errors += named(dns_label, f"{path}.namespace", namespace)
    errors += _label_keys(path, term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or (), selector)
    key = term.get("topologyKey", "")
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + qualified_errors(f"{path}.topologyKey", key)


def _label_keys(path: str, matching: Sequence[str], mismatching: Sequence[str], selector: Object | None) -> Errors:
    if not matching and not mismatching:
        return []
    errors = _keys(matching, f"{path}.matchLabelKeys", selector)
    errors += _keys(mismatching, f"{path}.mismatchLabelKeys", selector)
    seen = {*((selector or {}).get("matchLabels") or ())}
    for requirement in (selector or {}).get("matchExpressions") or ():
        key = requirement.get("key", "")
        if key in matching and key in seen:
            errors.append(invalid_field(f"{path}[{[*matching].index(key)}]", key, _IN_BOTH))
        seen.add(key)
    for index, key in enumerate(matching):
        if key in mismatching:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid_field(f"{path}.matchLabelKeys[{index}]", key, detail))
    return errors


def _keys(keys: Sequence[str], path: str, selector: Object | None) -> Errors:
    if keys and selector is None:
        return [forbidden_field(path, _WITHOUT_SELECTOR)]
    errors: Errors = []
    for index, key in enumerate(keys):
        errors += qualified_errors(f"{path}[{index}]", key)
    return errors


def topology_spread(constraints: Sequence[Object], path: str) -> Errors:
    """The errors of how pods are spread."""
    errors: Errors = []
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        errors += positive(f"{at}.maxSkew", constraint.get("maxSkew", 0))
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        errors += enumerated_if_set(f"{at}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        pairs = [(other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in constraints]
        if (key, action) in pairs[index + 1 :]:
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        errors += _spread_options(constraint, at, action)
        selector = constraint.get("labelSelector")
        errors += _label_keys(at, constraint.get("matchLabelKeys") or (), (), selector)
        errors += selector_errors(selector, f"{at}.labelSelector")
    return errors


def _spread_options(constraint: Object, path: str, action: str) -> Errors:
    errors: Errors = []
    if (domains := constraint.get("minDomains")) is not None:
        errors += positive(f"{path}.minDomains", domains)
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            errors.append(invalid_field(f"{path}.minDomains", domains, detail))
    for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        errors += enumerated_if_set(f"{path}.{name}", constraint.get(name), ("Honor", "Ignore"))
    return errors

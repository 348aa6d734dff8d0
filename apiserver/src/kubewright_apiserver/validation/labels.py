"""Labels and label selectors: what is wrong with them, and whether a selector selects."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import compact, struct
from kubewright_apiserver.status import Printed, forbidden_field, invalid_field, required
from kubewright_apiserver.validation.names import label_value, qualified_name
from kubewright_apiserver.validation.rules import Errors, Object, qualified_errors

__all__ = [
    "is_empty",
    "label_errors",
    "printed_selector",
    "same_selector",
    "selector_errors",
    "selector_requirement",
    "selects",
]

_REQUIREMENT_FIELDS: Final = ("key", "operator", "values")


def label_errors(labels: dict[str, str], path: str) -> Errors:
    """The errors of labels, all told of the map and not of one key."""
    errors: Errors = []
    for key, value in labels.items():
        if messages := qualified_name(key):
            errors += [invalid_field(path, key, message) for message in messages]
        if messages := label_value(value):
            errors += [invalid_field(path, value, message) for message in messages]
    return errors


def selector_errors(selector: Object | None, path: str) -> Errors:
    """The errors of a label selector."""
    if not selector:
        return []
    errors = label_errors(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += selector_requirement(requirement, f"{path}.matchExpressions[{index}]")
    return errors


def selector_requirement(requirement: Object, path: str, *, any_operator: bool = False) -> Errors:
    """The errors of one expression of a label selector."""
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    errors: Errors = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden_field(f"{path}.values", detail))
    elif not any_operator:
        errors.append(invalid_field(f"{path}.operator", operator, "not a valid selector operator"))
    errors += qualified_errors(f"{path}.key", requirement.get("key", ""))
    for index, value in enumerate(values):
        errors += [invalid_field(f"{path}.values[{index}]", value, message) for message in label_value(value)]
    return errors


def is_empty(selector: Object | None) -> bool:
    """Whether a selector says nothing."""
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def selects(selector: Object, labels: dict[str, str]) -> bool:
    """Whether a selector, which must be a valid one, selects these labels."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_meets(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _meets(requirement: Object, labels: dict[str, str]) -> bool:
    key: str = requirement["key"]
    operator: str = requirement["operator"]
    values: list[str] = requirement.get("values") or []
    if operator in ("In", "NotIn"):
        return (labels.get(key) in values) is (operator == "In")
    return (key in labels) is (operator == "Exists")


def same_selector(left: Object | None, right: Object | None) -> bool:
    """Whether two selectors are the same to Kubernetes, for which no list and an empty one are."""
    return _plain(left) == _plain(right)


def _plain(selector: Object | None) -> object:
    if selector is None:
        return None
    expressions = [
        (requirement.get("key"), requirement.get("operator"), list(requirement.get("values") or ()))
        for requirement in selector.get("matchExpressions") or ()
    ]
    return (selector.get("matchLabels") or {}, expressions)


def printed_selector(selector: Object | None) -> Printed:
    """A selector as Go prints it."""
    if selector is None:
        return Printed("null")
    printed: Object = {}
    if labels := selector.get("matchLabels"):
        printed["matchLabels"] = dict(sorted(labels.items()))
    if expressions := selector.get("matchExpressions"):
        printed["matchExpressions"] = [struct(requirement, _REQUIREMENT_FIELDS) for requirement in expressions]
    return compact(printed)

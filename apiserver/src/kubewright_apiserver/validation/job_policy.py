"""When a Job fails or succeeds early: its policies for failed pods and for success."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import (
    OMITTED,
    duplicate,
    invalid_field,
    not_supported,
    required,
    too_long,
    too_many,
)
from kubewright_apiserver.validation.rules import Errors, Object, non_negative, qualified_errors

__all__ = ["failure_policy", "indexes_problem", "overlap_problem", "success_policy"]

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_STATES: Final = ("False", "True", "Unknown")


def _valid(values: Sequence[str]) -> str:
    listed = " ".join(f'"{value}"' for value in values)
    return f"valid values: [{listed}]"


def failure_policy(spec: Object, path: str) -> Errors:
    """The errors of what a Job does about failed pods."""
    rules, at = spec["podFailurePolicy"].get("rules") or (), f"{path}.rules"
    errors = [too_many(at, len(rules), 20)] if len(rules) > 20 else []
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {
        container.get("name", "") for field in ("containers", "initContainers") for container in pod.get(field) or ()
    }
    for index, rule in enumerate(rules):
        errors += _rule(rule, f"{at}[{index}]", names, spec)
    return errors


def _rule(rule: Object, path: str, names: set[str], spec: Object) -> Errors:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    errors = _action(rule.get("action", ""), f"{path}.action", spec)
    if codes is not None:
        errors += _exit_codes(codes, f"{path}.onExitCodes", names)
    if conditions:
        errors += _pod_conditions(conditions, f"{path}.onPodConditions")
    if codes is not None and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(invalid_field(path, OMITTED, detail))
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(invalid_field(path, OMITTED, detail))
    return errors


def _action(action: str, path: str, spec: Object) -> Errors:
    if not action:
        return [required(path, _valid(_ACTIONS))]
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        return [invalid_field(path, action, "requires the backoffLimitPerIndex to be set")]
    return [] if action in _ACTIONS else [not_supported(path, action, _ACTIONS)]


def _pod_conditions(conditions: Sequence[Object], path: str) -> Errors:
    errors = [too_many(path, len(conditions), 20)] if len(conditions) > 20 else []
    for index, pattern in enumerate(conditions):
        at, state = f"{path}[{index}]", pattern.get("status", "")
        errors += qualified_errors(f"{at}.type", pattern.get("type", ""))
        if not state:
            errors.append(required(f"{at}.status", _valid(_STATES)))
        elif state not in _STATES:
            errors.append(not_supported(f"{at}.status", state, _STATES))
    return errors


def _exit_codes(codes: Object, path: str, names: set[str]) -> Errors:
    operator, values, name = codes.get("operator", ""), codes.get("values") or [], codes.get("containerName")
    errors: Errors = []
    if not operator:
        errors.append(required(f"{path}.operator", _valid(("In", "NotIn"))))
    elif operator not in ("In", "NotIn"):
        errors.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid_field(f"{path}.containerName", name, detail))
    if not values:
        errors.append(invalid_field(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > 255:
        errors.append(too_many(f"{path}.values", len(values), 255))
    for index, value in enumerate(values):
        at = f"{path}.values[{index}]"
        if operator == "In" and value == 0:
            errors.append(invalid_field(at, value, "must not be 0 for the In operator"))
        if value in values[:index]:
            errors.append(duplicate(at, value))
    if values != sorted(values):
        errors.append(invalid_field(f"{path}.values", values, "must be ordered"))
    return errors


def success_policy(spec: Object, path: str) -> Errors:
    """The errors of when a Job is done before all its pods are."""
    rules, at = spec["successPolicy"].get("rules") or (), f"{path}.rules"
    errors: Errors = []
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(at, detail))
    if len(rules) > 20:
        errors.append(too_many(at, len(rules), 20))
    for index, rule in enumerate(rules):
        errors += _success_rule(rule, f"{at}[{index}]", spec.get("completions") or 0)
    return errors


def _success_rule(rule: Object, path: str, completions: int) -> Errors:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: Errors = []
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if len(indexes) > 64 * 1024:
            errors.append(too_long(at, 64 * 1024))
        total, problem = _count_indexes(indexes, completions)
        if problem:
            errors.append(invalid_field(at, indexes, f"error parsing succeededIndexes: {problem}"))
    if count is not None:
        at, told = f"{path}.succeededCount", "must be less than or equal to"
        errors += non_negative(at, count)
        if count > completions:
            detail = f"{told} {completions} (the number of specified completions)"
            errors.append(invalid_field(at, count, detail))
        if indexes is not None and count > total:
            detail = f"{told} {total} (the number of indexes in the specified succeededIndexes field)"
            errors.append(invalid_field(at, count, detail))
    return errors


def indexes_problem(indexes: str, completions: int) -> str:
    """Why a text does not list indexes of a Job, empty if it does."""
    return _count_indexes(indexes, completions)[1]


def _count_indexes(indexes: str, completions: int) -> tuple[int, str]:
    total, last = 0, None
    for interval in indexes.split(",") if indexes else ():
        first, end, problem = _interval(interval, completions)
        if problem:
            return 0, problem
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total, last = total + end - first + 1, end
    return total, ""


def _interval(text: str, completions: int) -> tuple[int, int, str]:
    parts = text.split("-")
    if len(parts) > 2:
        told = "violates the requirement that an index interval can have at most two parts separated by '-'"
        return 0, 0, f'the fragment "{text}" {told}'
    numbers = []
    for part in parts:
        if not re.fullmatch("[+-]?[0-9]+", part):
            return 0, 0, f'cannot convert string to integer for index: "{part}"'
        if int(part) >= completions:
            return 0, 0, f'too large index: "{part}"'
        numbers.append(int(part))
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        return 0, 0, f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}"
    return numbers[0], numbers[-1], ""


def overlap_problem(completed: str, failed: str, completions: int) -> str:
    """Where completed and failed indexes overlap, empty if they do not."""
    if not completed or not failed:
        return ""
    done, lost = (_intervals(text, completions) for text in (completed, failed))
    while done and lost:
        (first, end), (other_first, other_end) = done[0], lost[0]
        if first <= other_end and other_first <= end:
            return f"failedIndexes and completedIndexes overlap at index: {max(first, other_first)}"
        (done if first <= other_first else lost).pop(0)
    return ""


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = (_interval(part, completions) for part in text.split(","))
    return [(first, end) for first, end, problem in found if not problem]

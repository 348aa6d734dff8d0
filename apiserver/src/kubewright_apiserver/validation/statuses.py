"""What the status of controllers may say: counts that are not negative and fit together, conditions with a reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import duplicate, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.metadata import updated_metadata
from kubewright_apiserver.validation.rules import Errors, Object, non_negative, qualified_errors

__all__ = [
    "condition_errors",
    "updated_daemon_set_status",
    "updated_deployment_status",
    "updated_replica_set_status",
    "updated_stateful_set_status",
]

_REASON: Final = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_TEXT: Final = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or"
    f" 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)
_TOO_MANY: Final = "cannot be greater than status.replicas"


def _counts(status: Object, *names: str) -> Errors:
    errors: Errors = []
    for name in names:
        errors += non_negative(f"status.{name}", status.get(name))
    return errors


def _at_most(status: Object, most: str, detail: str, *names: str) -> Errors:
    limit = status.get(most, 0)
    return [
        invalid_field(f"status.{name}", status.get(name, 0), detail) for name in names if status.get(name, 0) > limit
    ]


def _collisions(obj: Object, old: Object) -> Errors:
    new_count, old_count = ((holder.get("status") or {}).get("collisionCount") for holder in (obj, old))
    if old_count is None or (new_count is not None and new_count >= old_count):
        return []
    return [invalid_field("status.collisionCount", new_count or 0, "cannot be decremented")]


def updated_replica_set_status(obj: Object, old: Object) -> Errors:
    """The errors of a ReplicaSet or ReplicationController whose status is written."""
    status = obj.get("status") or {}
    counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")
    errors = updated_metadata(obj, old) + _counts(status, *counts, "terminatingReplicas")
    errors += _at_most(status, "replicas", _TOO_MANY, *counts[1:4])
    return errors + _at_most(status, "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")


def updated_deployment_status(obj: Object, old: Object) -> Errors:
    """The errors of a Deployment whose status is written."""
    status = obj.get("status") or {}
    counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors = updated_metadata(obj, old) + _counts(status, "observedGeneration", "replicas", *counts)
    errors += _counts(status, "unavailableReplicas", "terminatingReplicas", "collisionCount")
    errors += _at_most(status, "replicas", _TOO_MANY, *counts)
    errors += _at_most(status, "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")
    return errors + _collisions(obj, old)


def updated_stateful_set_status(obj: Object, old: Object) -> Errors:
    """The errors of a StatefulSet whose status is written."""
    status = obj.get("status") or {}
    counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    errors = _counts(status, "replicas", *counts, "observedGeneration", "collisionCount")
    errors += _at_most(status, "replicas", _TOO_MANY, *counts)
    errors += _at_most(status, "readyReplicas", "cannot be greater than status.readyReplicas", "availableReplicas")
    return errors + updated_metadata(obj, old) + _collisions(obj, old)


def updated_daemon_set_status(obj: Object, old: Object) -> Errors:
    """The errors of a DaemonSet whose status is written."""
    names = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )
    return updated_metadata(obj, old) + _counts(obj.get("status") or {}, *names) + _collisions(obj, old)


def condition_errors(conditions: Sequence[Object], path: str) -> Errors:
    """The errors of conditions in the form that newer kinds share."""
    errors: Errors = []
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        at, kind = f"{path}[{index}]", condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{at}.type", kind))
        seen.add(kind)
        errors += _condition(condition, at)
    return errors


def printed_condition(condition: Object) -> Object:
    """A condition as Go prints it."""
    text = {name: condition.get(name, "") for name in ("type", "status")}
    generation = {"observedGeneration": condition["observedGeneration"]} if condition.get("observedGeneration") else {}
    rest = {name: condition.get(name, "") for name in ("reason", "message")}
    return {**text, **generation, "lastTransitionTime": condition.get("lastTransitionTime"), **rest}


def _condition(condition: Object, path: str) -> Errors:
    errors = qualified_errors(f"{path}.type", condition.get("type", ""))
    state, generation = condition.get("status", ""), condition.get("observedGeneration", 0)
    if state not in ("True", "False", "Unknown"):
        errors.append(not_supported(f"{path}.status", state, ("False", "True", "Unknown")))
    if generation < 0:
        detail = "must be greater than or equal to zero"
        errors.append(invalid_field(f"{path}.observedGeneration", generation, detail))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    errors += _reason(condition.get("reason", ""), f"{path}.reason")
    if len(condition.get("message", "").encode()) > 32 * 1024:
        errors.append(too_long(f"{path}.message", 32 * 1024))
    return errors


def _reason(reason: str, path: str) -> Errors:
    if not reason:
        return [required(path)]
    errors = [] if re.fullmatch(_REASON, reason) else [invalid_field(path, reason, _REASON_TEXT)]
    return [*errors, too_long(path, 1024)] if len(reason) > 1024 else errors

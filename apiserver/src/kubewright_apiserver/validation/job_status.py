"""A Job's status: what is finished stays finished, and its counts fit its spec."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import OMITTED, FieldError, duplicate, invalid_field, required
from kubewright_apiserver.validation.job_policy import indexes_problem, overlap_problem
from kubewright_apiserver.validation.metadata import updated_metadata
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, non_negative

__all__ = ["updated_job_status"]

_CONDITIONS: Final = "status.conditions"


def _is_true(status: Object, kind: str) -> bool:
    return _has(status, kind, "True")


def _has(status: Object, kind: str, state: str) -> bool:
    conditions = status.get("conditions") or ()
    return any(condition.get("type") == kind and condition.get("status") == state for condition in conditions)


def _is_finished(status: Object) -> bool:
    return _is_true(status, "Complete") or _is_true(status, "Failed")


class _Change:
    """The status before and after, and what of it changed; rules mostly look at what changed only."""

    def __init__(self, job: Object, old: Object) -> None:
        self.spec: Object = job["spec"]
        self.new: Object = job.get("status") or {}
        self.old: Object = old.get("status") or {}

    def moved(self, *kinds: str) -> bool:
        """Whether one of these conditions became true or ceased to be; ``Finished`` is two of them."""
        return any(
            _is_finished(self.new) != _is_finished(self.old)
            if kind == "Finished"
            else _is_true(self.new, kind) != _is_true(self.old, kind)
            for kind in kinds
        )

    def changed(self, *names: str) -> bool:
        """Whether one of these fields is not what it was."""
        return any((self.new.get(name) or None) != (self.old.get(name) or None) for name in names)


def updated_job_status(job: Object, old: Object) -> Errors:
    """The errors of a Job whose status is written."""
    change = _Change(job, old)
    errors = updated_metadata(job, old) + _counts(change.new)
    errors += _completion(change) + _finishing(change) + _indexes(change) + _consistency(change)
    return errors + _transitions(change)


def _counts(status: Object) -> Errors:
    errors: Errors = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += non_negative(f"status.{name}", status.get(name))
    seen: set[str] = set()
    for part in ("succeeded", "failed"):
        for index, uid in enumerate((status.get("uncountedTerminatedPods") or {}).get(part) or ()):
            at = f"status.uncountedTerminatedPods.{part}[{index}]"
            if not uid:
                errors.append(invalid_field(at, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)
    return errors


def _completion(change: _Change) -> Errors:
    status, complete = change.new, _is_true(change.new, "Complete")
    end, start, at = status.get("completionTime"), status.get("startTime"), "status.completionTime"
    errors: Errors = []
    if change.moved("Complete", "Failed") and complete and _is_true(status, "Failed"):
        errors.append(_contradiction("cannot set Complete=True and Failed=true conditions"))
    if change.moved("Complete", "FailureTarget") and complete and _is_true(status, "FailureTarget"):
        errors.append(_contradiction("cannot set Complete=True and FailureTarget=true conditions"))
    if change.moved("Complete") or change.changed("completionTime"):
        if end is not None and not complete:
            detail = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid_field(at, end, detail))
        if end is None and complete:
            errors.append(required(at, "completionTime is required for Complete jobs"))
    if change.changed("startTime", "completionTime") and start is not None and end is not None and end < start:
        errors.append(invalid_field(at, end, "must be equal to or after `startTime`"))
    return errors


def _contradiction(detail: str) -> FieldError:
    return invalid_field(_CONDITIONS, OMITTED, detail)


def _finishing(change: _Change) -> Errors:
    status, finished = change.new, _is_finished(change.new)
    errors: Errors = []
    failed_alone = _is_true(status, "Failed") and not _is_true(status, "FailureTarget")
    if failed_alone and (change.moved("Failed") or change.changed("failedIndexes")):
        errors.append(_contradiction("cannot set Failed=True condition without the FailureTarget=true condition"))
    complete_alone = _is_true(status, "Complete") and not _is_true(status, "SuccessCriteriaMet")
    if complete_alone and change.moved("Complete", "SuccessCriteriaMet"):
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(_contradiction(detail))
    if (change.moved("Finished") or change.changed("active")) and finished and status.get("active", 0) > 0:
        errors.append(invalid_field("status.active", status["active"], "active>0 is invalid for finished job"))
    return errors + (_finished(change) if finished else [])


def _finished(change: _Change) -> Errors:
    status = change.new
    errors: Errors = []
    empty = change.spec.get("suspend") and change.spec.get("completions") == 0
    if status.get("startTime") is None and not empty and (change.moved("Finished") or change.changed("startTime")):
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods") or {}
    if not (uncounted.get("failed") or uncounted.get("succeeded")):
        return errors
    if change.moved("Finished") or change.changed("uncountedTerminatedPods"):
        value = printed("batch.UncountedTerminatedPods", uncounted)
        errors.append(invalid_field("status.uncountedTerminatedPods", value, "must be empty for finished job"))
    return errors


def _indexes(change: _Change) -> Errors:
    status, completions = change.new, change.spec.get("completions")
    done, lost = status.get("completedIndexes", ""), status.get("failedIndexes")
    limited = change.spec.get("backoffLimitPerIndex") is not None
    errors: Errors = []
    if change.changed("completedIndexes") and completions is not None:
        errors += _readable("completedIndexes", done, completions)
    if change.changed("failedIndexes") and completions is not None and limited and lost is not None:
        errors += _readable("failedIndexes", lost, completions)
    if change.changed("completedIndexes") and done and change.spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid_field("status.completedIndexes", done, detail))
    if change.changed("failedIndexes") and not limited and lost is not None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid_field("status.failedIndexes", lost, detail))
    if change.changed("failedIndexes", "completedIndexes") and completions is not None and lost is not None:
        problem = overlap_problem(done, lost, completions)
        errors += [invalid_field("status.failedIndexes", lost, problem)] if problem else []
    return errors


def _readable(name: str, indexes: str, completions: int) -> Errors:
    problem = indexes_problem(indexes, completions)
    return [invalid_field(f"status.{name}", indexes, f"error parsing {name}: {problem}")] if problem else []


def _consistency(change: _Change) -> Errors:
    status = change.new
    ending, ready = status.get("terminating") or 0, status.get("ready")
    errors: Errors = []
    if (change.moved("Finished") or change.changed("terminating")) and _is_finished(status) and ending > 0:
        errors.append(invalid_field("status.terminating", ending, "terminating>0 is invalid for finished job"))
    if ready is not None and change.changed("ready", "active") and ready > status.get("active", 0):
        errors.append(invalid_field("status.ready", ready, "cannot set more ready pods than active"))
    if _is_true(status, "SuccessCriteriaMet"):
        errors += [
            _contradiction(f"cannot set SuccessCriteriaMet=True and {kind}=true conditions")
            for kind in ("Failed", "FailureTarget")
            if _is_true(status, kind)
        ]
    elif change.spec.get("successPolicy") is not None and _is_true(status, "Complete"):
        detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(_contradiction(detail))
    return errors


def _transitions(change: _Change) -> Errors:
    new, old, spec = change.new, change.old, change.spec
    errors = [
        _contradiction(f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if _is_true(old, kind) and not _is_true(new, kind)
    ]
    if new.get("failed", 0) < old.get("failed", 0):
        errors.append(invalid_field("status.failed", new.get("failed", 0), "cannot decrease the failed counter"))
    scales = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not scales and new.get("succeeded", 0) < old.get("succeeded", 0):
        detail = "cannot decrease the succeeded counter"
        errors.append(invalid_field("status.succeeded", new.get("succeeded", 0), detail))
    end = new.get("completionTime")
    if end is not None and old.get("completionTime") is not None and change.changed("completionTime"):
        errors.append(invalid_field("status.completionTime", end, IMMUTABLE))
    resumes = _is_true(old, "Suspended") and _has(new, "Suspended", "False")
    if old.get("startTime") is not None and change.changed("startTime") and not resumes and not spec.get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        errors.append(invalid_field("status.startTime", new.get("startTime"), detail))
    return errors + _criteria(new, old)


def _criteria(new: Object, old: Object) -> Errors:
    before, after = _is_true(old, "SuccessCriteriaMet"), _is_true(new, "SuccessCriteriaMet")
    if before and not after:
        return [_contradiction("cannot disable the SuccessCriteriaMet=True condition")]
    if after and not before and _is_true(old, "Complete"):
        detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        return [_contradiction(detail)]
    return []

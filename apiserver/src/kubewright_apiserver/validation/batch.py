"""Jobs and CronJobs: work that ends."""

from __future__ import annotations

import re
from typing import Any, Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.cron import is_time_zone, schedule_problem
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.job_policy import failure_policy, success_policy
from kubewright_apiserver.validation.labels import printed_selector, same_selector, selector_errors, selects
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain
from kubewright_apiserver.validation.pod import pod_template
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, enumerated, immutable, named, non_negative

__all__ = ["created_cron_job", "created_job", "domain_prefixed_path", "updated_cron_job", "updated_job"]

_NOT_SELECTED: Final = "`selector` does not match template `labels`"
_TEMPLATE: Final = "io.k8s.api.core.v1.PodTemplateSpec"
_POD_SPEC: Final = "io.k8s.api.core.v1.PodSpec"
_UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
_COUNTS: Final = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MANY: Final = 100_000
_HTTP_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def created_job(job: Object) -> Errors:
    """The errors of a new Job."""
    spec, name = job["spec"], job["metadata"].get("name", "")
    errors = created_metadata(job, True, dns_subdomain) + _generated_selector(job)
    errors += _selected_job(spec, "spec")
    if spec.get("completionMode") == "Indexed" and (spec.get("completions") or 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if dns_label(last):
            detail = f"will not able to create pod with invalid DNS label: {last}"
            errors.append(invalid_field("metadata.name", name, detail))
    return errors


def updated_job(job: Object, old: Object) -> Errors:
    """The errors of a Job that is written over an old one."""
    spec, before = job["spec"], old["spec"]
    errors = created_job(job) + updated_metadata(job, old) + _selected_job(spec, "spec")
    errors += _completions(spec, before)
    if not same_selector(spec.get("selector"), before.get("selector")):
        errors.append(invalid_field("spec.selector", printed_selector(spec.get("selector")), IMMUTABLE))
    errors += _kept_template(spec, before, old.get("status") or {})
    for name, go_type in _FIXED:
        if spec.get(name) != before.get(name):
            value = printed(go_type, spec.get(name)) if go_type else spec.get(name)
            errors.append(invalid_field(f"spec.{name}", value, IMMUTABLE))
    return errors


_FIXED: Final = (
    ("completionMode", ""),
    ("podFailurePolicy", "*batch.PodFailurePolicy"),
    ("backoffLimitPerIndex", ""),
    ("managedBy", ""),
    ("successPolicy", "*batch.SuccessPolicy"),
)


def _generated_selector(job: Object) -> Errors:
    spec, metadata = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    errors = [] if uid else [required("metadata.uid")]
    wanted = dict.fromkeys(_UID_LABELS, uid) | dict.fromkeys(_NAME_LABELS, name)
    for key in (_UID_LABELS[0], _NAME_LABELS[0], _UID_LABELS[1], _NAME_LABELS[1]):
        errors += _has_label(labels, key, wanted[key])
    if not selector_errors(selector, "") and not selects(selector, wanted):
        errors.append(invalid_field("spec.selector", printed_selector(selector), "`selector` not auto-generated"))
    return errors


def _has_label(labels: dict[str, str], key: str, value: str) -> Errors:
    at = f"spec.template.metadata.labels[{key}]"
    if key not in labels:
        return [required(at, f"must be '{value}'")]
    return [] if labels[key] == value else [invalid_field(at, labels, f"must be '{value}'")]


def _selected_job(spec: Object, path: str) -> Errors:
    selector = spec.get("selector")
    errors = _job(spec, path)
    wrong = [required(f"{path}.selector")] if selector is None else selector_errors(selector, f"{path}.selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is None or (not wrong and not selects(selector, labels or {})):
        wrong.append(invalid_field(f"{path}.template.metadata.labels", labels, _NOT_SELECTED))
    return errors + wrong


def _job(spec: Object, path: str) -> Errors:
    errors: Errors = []
    for name in _COUNTS:
        errors += non_negative(f"{path}.{name}", spec.get(name))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        errors += domain_prefixed_path(manager, f"{path}.managedBy")
        if len(manager.encode()) > 63:
            errors.append(too_long(f"{path}.managedBy", 63))
    errors += _completion_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        errors += failure_policy(spec, f"{path}.podFailurePolicy")
    if (policy := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") == "Indexed":
            errors += success_policy(spec, f"{path}.successPolicy")
        else:
            detail = "requires indexed completion mode"
            errors.append(invalid_field(f"{path}.successPolicy", printed("batch.SuccessPolicy", policy), detail))
    errors += _replacement(spec, f"{path}.podReplacementPolicy")
    errors += pod_template(spec.get("template") or {}, f"{path}.template")
    return errors + _ending(spec, f"{path}.template.spec.restartPolicy")


def domain_prefixed_path(text: str, path: str) -> Errors:
    """The errors of a domain, a slash and a path."""
    if not text:
        return [required(path)]
    host, _, rest = text.partition("/")
    if not host or not rest:
        return [invalid_field(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = named(dns_subdomain, path, host)
    if not re.fullmatch(_HTTP_PATH, rest):
        errors.append(invalid_field(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')"))
    return errors


def _completion_mode(spec: Object, path: str) -> Errors:
    mode = spec.get("completionMode")
    errors: Errors = []
    if mode not in (None, "NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        return _indexed(spec, path)
    if mode in (None, "NonIndexed"):
        errors += [
            invalid_field(f"{path}.{name}", spec[name], "requires indexed completion mode")
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(name) is not None
        ]
    return errors


def _indexed(spec: Object, path: str) -> Errors:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed = spec.get("maxFailedIndexes")
    errors: Errors = []
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if parallelism > _MANY:
        detail = f"must be less than or equal to {_MANY} when completion mode is Indexed"
        errors.append(invalid_field(f"{path}.parallelism", parallelism, detail))
    if failed is not None and completions is not None and failed > completions:
        errors.append(invalid_field(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions"))
    if failed is not None and failed > _MANY:
        errors.append(invalid_field(f"{path}.maxFailedIndexes", failed, f"must be less than or equal to {_MANY}"))
    if (completions or 0) > _MANY and spec.get("backoffLimitPerIndex") is not None:
        errors += _very_many(failed, parallelism, path)
    return errors


def _very_many(failed: int | None, parallelism: int, path: str) -> Errors:
    most = 10_000
    told = (
        f"must be less than or equal to {most} when completions are above {_MANY} and used with backoff limit per index"
    )
    errors: Errors = []
    if failed is None:
        detail = f"must be specified when completions is above {_MANY}"
        errors.append(required(f"{path}.maxFailedIndexes", detail))
    if parallelism > most:
        errors.append(invalid_field(f"{path}.parallelism", parallelism, told))
    if failed is not None and failed > most:
        errors.append(invalid_field(f"{path}.maxFailedIndexes", failed, told))
    return errors


def _replacement(spec: Object, path: str) -> Errors:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return []
    known = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy in known else [not_supported(path, policy, known)]


def _ending(spec: Object, path: str) -> Errors:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        return [invalid_field(path, policy, detail)]
    return []


def _completions(spec: Object, old: Object) -> Errors:
    new_count, old_count = spec.get("completions"), old.get("completions")
    if spec.get("completionMode") != "Indexed":
        return immutable("spec.completions", new_count, old_count)
    if new_count in (None, old_count) or new_count == spec.get("parallelism"):
        return []
    detail = "can only be modified in tandem with spec.parallelism"
    return [invalid_field("spec.completions", new_count, detail)]


def _kept_template(spec: Object, old: Object, status: Object) -> Errors:
    """The errors of a changed template; while a Job is suspended its places and resources may change."""
    template, before = spec.get("template") or {}, old.get("template") or {}
    if same(_TEMPLATE, template, before):
        return []
    if not old.get("suspend") or not _is_at_rest(status):
        return [invalid_field("spec.template", printed("core.PodTemplateSpec", template), IMMUTABLE)]
    new_pod, old_pod = (
        template.get("spec") or {},
        _with_new_places(template.get("spec") or {}, before.get("spec") or {}),
    )
    for field in ("containers", "initContainers"):
        old_pod = _with_new_resources(new_pod, old_pod, field)
    if same(_POD_SPEC, new_pod, old_pod):
        return []
    return [invalid_field("spec.template.spec", printed("core.PodSpec", new_pod), IMMUTABLE)]


def _is_at_rest(status: Object) -> bool:
    suspended = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )
    return (status.get("startTime") is None or suspended) and not status.get("active")


def _with_new_places(new: Object, old: Object) -> Object:
    kept: dict[str, Any] = {**old}
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        kept[name] = new.get(name)
    rest = {name: part for name, part in (old.get("affinity") or {}).items() if name != "nodeAffinity"}
    affinity = new.get("affinity")
    if affinity is None:
        kept["affinity"] = rest or None
    else:
        kept["affinity"] = rest | {name: part for name, part in affinity.items() if name == "nodeAffinity"}
    return kept


def _with_new_resources(new: Object, old: Object, field: str) -> Object:
    after, before = new.get(field) or (), old.get(field) or ()
    if len(after) != len(before) or not before:
        return old
    containers = [
        {**was, "resources": container.get("resources")} if was.get("name") == container.get("name") else was
        for container, was in zip(after, before, strict=True)
    ]
    return {**old, field: containers}


def created_cron_job(obj: Object) -> Errors:
    """The errors of a new CronJob."""
    name = obj["metadata"].get("name", "")
    errors = created_metadata(obj, True, dns_subdomain) + _cron_job(obj["spec"], None)
    if len(name.encode()) > 52:
        errors.append(invalid_field("metadata.name", name, "must be no more than 52 characters"))
    return errors


def updated_cron_job(obj: Object, old: Object) -> Errors:
    """The errors of a CronJob that is written over an old one."""
    return updated_metadata(obj, old) + _cron_job(obj["spec"], old["spec"])


def _cron_job(spec: Object, old: Object | None) -> Errors:
    errors = _schedule(spec, old)
    errors += non_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    zone = spec.get("timeZone")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        errors += _time_zone(zone, "spec.timeZone")
    errors += enumerated("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"))
    errors += _job_template((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")
    errors += non_negative("spec.successfulJobsHistoryLimit", spec.get("successfulJobsHistoryLimit"))
    return errors + non_negative("spec.failedJobsHistoryLimit", spec.get("failedJobsHistoryLimit"))


def _schedule(spec: Object, old: Object | None) -> Errors:
    at, schedule = "spec.schedule", spec.get("schedule", "")
    if not schedule:
        return [required(at)]
    problem = schedule_problem(schedule)
    errors = [invalid_field(at, schedule, problem)] if problem else []
    if "TZ" not in schedule:
        return errors
    if old is None or "TZ" not in old.get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid_field(at, schedule, detail))
    elif spec.get("timeZone") is not None:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.append(invalid_field(at, schedule, detail))
    return errors


def _time_zone(zone: str, path: str) -> Errors:
    if not zone:
        return [invalid_field(path, zone, "timeZone must be nil or non-empty string")]
    unknown = invalid_field(path, zone, f"unknown time zone {zone}")
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not re.fullmatch(r"[A-Za-z.\-_0-9+]{1,14}", part):
            return [unknown]
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors = [invalid_field(path, zone, detail)]
        return errors if zone == "Local" else [*errors, unknown]
    return [] if is_time_zone(zone) else [unknown]


def _job_template(spec: Object, path: str) -> Errors:
    errors = _job(spec, path)
    if (selector := spec.get("selector")) is not None:
        detail = "`selector` will be auto-generated"
        errors.append(invalid_field(f"{path}.selector", printed_selector(selector), detail))
    if spec.get("manualSelector"):
        errors.append(not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    return errors

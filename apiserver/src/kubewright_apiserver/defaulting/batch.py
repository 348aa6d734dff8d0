"""Defaults of the group batch."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.defaulting.parts import Default, Key, part, set_missing
from kubewright_apiserver.defaulting.pod import default_pod_template

__all__ = ["DEFAULTS"]

_NO_LIMIT: Final = 2**31 - 1


def _job(job: dict[str, Any]) -> None:
    spec = part(job, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    template = part(spec, "template")
    set_missing(
        spec,
        {
            "parallelism": 1,
            "backoffLimit": 6 if spec.get("backoffLimitPerIndex") is None else _NO_LIMIT,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed",
            "manualSelector": False,
        },
    )
    labels = (template.get("metadata") or {}).get("labels")
    metadata = part(job, "metadata")
    if labels and not metadata.get("labels"):
        # The very same map, as in kube-apiserver: labels that the template gets on creation are the Job's too.
        metadata["labels"] = labels
    _failure_policy(spec)
    default_pod_template(template)


def _cron_job(cron_job: dict[str, Any]) -> None:
    spec = part(cron_job, "spec")
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    set_missing(spec, {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1})
    job = part(part(spec, "jobTemplate"), "spec")
    _failure_policy(job)
    default_pod_template(part(job, "template"))


def _failure_policy(spec: dict[str, Any]) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


DEFAULTS: Final[dict[Key, Default]] = {("batch", "v1", "CronJob"): _cron_job, ("batch", "v1", "Job"): _job}

"""Controllers of pods that run for good: ReplicationController, ReplicaSet, Deployment, DaemonSet, StatefulSet."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import FieldError, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.claim import claim_spec
from kubewright_apiserver.validation.equality import same
from kubewright_apiserver.validation.labels import (
    is_empty,
    printed_selector,
    same_selector,
    selector_errors,
    selects,
)
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, long_name
from kubewright_apiserver.validation.percentage import at_most_all, number_or_percent, number_or_percentage
from kubewright_apiserver.validation.pod import pod_template, template_metadata
from kubewright_apiserver.validation.rules import (
    IMMUTABLE,
    Errors,
    Object,
    dns_label_errors,
    immutable,
    non_negative,
)

__all__ = [
    "created_daemon_set",
    "created_deployment",
    "created_pod_template",
    "created_replica_set",
    "created_replication_controller",
    "created_revision",
    "created_stateful_set",
    "updated_daemon_set",
    "updated_deployment",
    "updated_pod_template",
    "updated_replica_set",
    "updated_replication_controller",
    "updated_revision",
    "updated_stateful_set",
]

_NOT_SELECTED: Final = "`selector` does not match template `labels`"
_STATEFUL_SET_SPEC: Final = "io.k8s.api.apps.v1.StatefulSetSpec"
_CHANGEABLE: Final = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_FIXED_STATEFUL_SET: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',"
    " 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def created_pod_template(obj: Object) -> Errors:
    """The errors of a new PodTemplate."""
    return created_metadata(obj, True, dns_subdomain) + pod_template(obj.get("template") or {}, "template")


def updated_pod_template(obj: Object, old: Object) -> Errors:
    """The errors of a PodTemplate that is written over an old one."""
    return updated_metadata(obj, old) + pod_template(obj.get("template") or {}, "template")


def created_replication_controller(obj: Object) -> Errors:
    """The errors of a new ReplicationController, whose ``generateName`` no rule looks at."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "generateName"}
    return created_metadata({"metadata": metadata}, True, long_name) + _replication(obj["spec"])


def updated_replication_controller(obj: Object, old: Object) -> Errors:
    """The errors of a ReplicationController that is written over an old one."""
    return updated_metadata(obj, old) + _replication(obj["spec"])


def _replication(spec: Object) -> Errors:
    errors = non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    selector = spec.get("selector") or {}
    if not selector:
        errors.append(required("spec.selector"))
    errors += _replicas(spec, "spec") if spec.get("replicas") is not None else [required("spec.replicas")]
    template = spec.get("template")
    if template is None:
        return [*errors, required("spec.template")]
    return errors + _selected_template(template, {"matchLabels": selector}, "spec.template", "ReplicationController")


def _replicas(spec: Object, path: str) -> Errors:
    return non_negative(f"{path}.replicas", spec.get("replicas"))


def _selected_template(template: Object, selector: Object | None, path: str, told: str) -> Errors:
    """The errors of a template whose pods a selector must find and that never end."""
    return _unselected(template, selector, path) + pod_template(template, path) + _runs_forever(template, path, told)


def _unselected(template: Object, selector: Object | None, path: str) -> Errors:
    labels = (template.get("metadata") or {}).get("labels")
    if selector is not None and (is_empty(selector) or selects(selector, labels or {})):
        return []
    return [invalid_field(f"{path}.metadata.labels", labels, _NOT_SELECTED)]


def _runs_forever(template: Object, path: str, told: str) -> Errors:
    spec = template.get("spec") or {}
    errors: Errors = []
    if spec.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{path}.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {told} is not Supported"
        errors.append(forbidden_field(f"{path}.spec.activeDeadlineSeconds", detail))
    return errors


def _selector(spec: Object, path: str, told: str) -> Errors:
    selector = spec.get("selector")
    if selector is None:
        return [required(f"{path}.selector")]
    errors = selector_errors(selector, f"{path}.selector")
    if is_empty(selector):
        detail = f"empty selector is invalid for {told}"
        errors.append(invalid_field(f"{path}.selector", printed_selector(selector), detail))
    return errors


def _template_of(spec: Object, told: str) -> Errors:
    selector = spec.get("selector")
    if selector_errors(selector, ""):
        return [invalid_field("spec.selector", printed_selector(selector), "invalid label selector")]
    return _selected_template(spec.get("template") or {}, selector, "spec.template", told)


def _fixed_selector(spec: Object, old: Object) -> Errors:
    if same_selector(spec.get("selector"), old.get("selector")):
        return []
    return [invalid_field("spec.selector", printed_selector(spec.get("selector")), IMMUTABLE)]


def created_replica_set(obj: Object) -> Errors:
    """The errors of a new ReplicaSet."""
    return created_metadata(obj, True, dns_subdomain) + _replica_set(obj["spec"])


def updated_replica_set(obj: Object, old: Object) -> Errors:
    """The errors of a ReplicaSet that is written over an old one."""
    return updated_metadata(obj, old) + _replica_set(obj["spec"]) + _fixed_selector(obj["spec"], old["spec"])


def _replica_set(spec: Object) -> Errors:
    errors = _replicas(spec, "spec") + non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    return errors + _selector(spec, "spec", "deployment") + _template_of(spec, "ReplicaSet")


def created_deployment(obj: Object) -> Errors:
    """The errors of a new Deployment."""
    return created_metadata(obj, True, dns_subdomain) + _deployment(obj["spec"])


def updated_deployment(obj: Object, old: Object) -> Errors:
    """The errors of a Deployment that is written over an old one."""
    return updated_metadata(obj, old) + _deployment(obj["spec"]) + _fixed_selector(obj["spec"], old["spec"])


def _deployment(spec: Object) -> Errors:
    errors = _replicas(spec, "spec") + _selector(spec, "spec", "deployment") + _template_of(spec, "ReplicaSet")
    errors += _deployment_strategy(spec.get("strategy") or {}, "spec.strategy")
    ready, deadline = spec.get("minReadySeconds", 0), spec.get("progressDeadlineSeconds")
    errors += non_negative("spec.minReadySeconds", ready)
    errors += non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    if deadline is not None:
        errors += non_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= ready:
            detail = "must be greater than minReadySeconds"
            errors.append(invalid_field("spec.progressDeadlineSeconds", deadline, detail))
    return errors


def _deployment_strategy(strategy: Object, path: str) -> Errors:
    kind, rolling, at = strategy.get("type"), strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if kind == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden_field(at, detail)]
    if kind != "RollingUpdate":
        value = printed("apps.DeploymentStrategy", strategy)
        return [not_supported(path, value, ("Recreate", "RollingUpdate"))]
    if rolling is None:
        return [required(at, "this should be defaulted and never be nil")]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = number_or_percent(unavailable, f"{at}.maxUnavailable") + number_or_percent(surge, f"{at}.maxSurge")
    if number_or_percentage(unavailable) == 0 and number_or_percentage(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid_field(f"{at}.maxUnavailable", unavailable, detail))
    return errors + at_most_all(unavailable, f"{at}.maxUnavailable")


def created_daemon_set(obj: Object) -> Errors:
    """The errors of a new DaemonSet."""
    return created_metadata(obj, True, dns_subdomain) + _daemon_set(obj["spec"])


def updated_daemon_set(obj: Object, old: Object) -> Errors:
    """The errors of a DaemonSet that is written over an old one."""
    return updated_metadata(obj, old) + _fixed_selector(obj["spec"], old["spec"]) + _daemon_set(obj["spec"])


def _daemon_set(spec: Object) -> Errors:
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = selector_errors(selector, "spec.selector") or _unselected(template, selector, "spec.template")
    if selector is not None and is_empty(selector):
        detail = "empty selector is invalid for daemonset"
        errors.append(invalid_field("spec.selector", printed_selector(selector), detail))
    errors += pod_template(template, "spec.template") + _runs_forever(template, "spec.template", "DaemonSet")
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += _daemon_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    return errors + non_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))


def _daemon_strategy(strategy: Object, path: str) -> Errors:
    kind, rolling, at = strategy.get("type"), strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if kind == "OnDelete":
        return []
    if kind != "RollingUpdate":
        value = printed("apps.DaemonSetUpdateStrategy", strategy)
        return [not_supported(path, value, ("RollingUpdate", "OnDelete"))]
    if rolling is None:
        return [required(at)]
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors = number_or_percent(unavailable, f"{at}.maxUnavailable") + number_or_percent(surge, f"{at}.maxSurge")
    errors += at_most_all(unavailable, f"{at}.maxUnavailable") + at_most_all(surge, f"{at}.maxSurge")
    both = bool(number_or_percentage(unavailable)), bool(number_or_percentage(surge))
    if all(both):
        detail = "may not be set when maxUnavailable is non-zero"
        errors.append(invalid_field(f"{at}.maxSurge", surge, detail))
    elif not any(both):
        errors.append(required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def created_stateful_set(obj: Object) -> Errors:
    """The errors of a new StatefulSet."""
    spec = obj["spec"]
    claims: Errors = []
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        claims += claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    service = spec.get("serviceName")
    named = dns_label_errors("spec.serviceName", service) if service else []
    return created_metadata(obj, True, dns_label) + _stateful_set(spec, claims, named)


def updated_stateful_set(obj: Object, old: Object) -> Errors:
    """The errors of a StatefulSet that is written over an old one."""
    errors = updated_metadata(obj, old) + _stateful_set(obj["spec"], [], [])
    kept = {**obj["spec"], **{name: old["spec"].get(name) for name in _CHANGEABLE}}
    if not same(_STATEFUL_SET_SPEC, kept, old["spec"]):
        errors.append(forbidden_field("spec", _FIXED_STATEFUL_SET))
    return errors


def _stateful_set(spec: Object, claims: list[FieldError], service: list[FieldError]) -> Errors:
    errors = _management(spec.get("podManagementPolicy"))
    errors += _stateful_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    if (retention := spec.get("persistentVolumeClaimRetentionPolicy")) is not None:
        for name in ("whenDeleted", "whenScaled"):
            at, value = f"spec.persistentVolumeClaimRetentionPolicy.{name}", retention.get(name, "")
            if value not in ("Retain", "Delete"):
                errors.append(not_supported(at, value, ("Retain", "Delete")))
    errors += claims + _replicas(spec, "spec")
    errors += non_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    errors += non_negative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    errors += service + _selector(spec, "spec", "statefulset")
    selector = spec.get("selector")
    if selector_errors(selector, ""):
        errors.append(invalid_field("spec.selector", printed_selector(selector), ""))
    else:
        errors += _stateful_template(spec, selector)
    return errors + _runs_forever(spec.get("template") or {}, "spec.template", "StatefulSet")


def _management(policy: str | None) -> Errors:
    at = "spec.podManagementPolicy"
    if not policy:
        return [required(at)]
    if policy in ("OrderedReady", "Parallel"):
        return []
    return [invalid_field(at, policy, "must be 'OrderedReady' or 'Parallel'")]


def _stateful_template(spec: Object, selector: Object | None) -> Errors:
    """The errors of the template, with the volumes that its claims give it, and without names that each pod gets."""
    template = spec.get("template") or {}
    pod = {name: value for name, value in (template.get("spec") or {}).items() if name not in ("hostname", "subdomain")}
    names = [(claim.get("metadata") or {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    if names:
        made = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
        pod["volumes"] = made + [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    template = {**template, "spec": pod}
    errors = _unselected(template, selector, "spec.template") + pod_template(template, "spec.template")
    # kube-apiserver looks at the metadata twice, and says so twice in the causes.
    return errors + template_metadata(template, "spec.template")


def _stateful_strategy(strategy: Object, path: str) -> Errors:
    kind, rolling, at = strategy.get("type"), strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if not kind:
        return [required(path)]
    if kind == "OnDelete":
        value = printed("apps.RollingUpdateStatefulSetStrategy", rolling)
        detail = "only allowed for updateStrategy 'RollingUpdate'"
        return [] if rolling is None else [invalid_field(at, value, detail)]
    if kind != "RollingUpdate":
        value = printed("apps.StatefulSetUpdateStrategy", strategy)
        return [invalid_field(path, value, "must be 'RollingUpdate' or 'OnDelete'")]
    if rolling is None:
        return []
    errors = non_negative(f"{at}.partition", rolling.get("partition"))
    if (unavailable := rolling.get("maxUnavailable")) is not None:
        errors += number_or_percent(unavailable, f"{at}.maxUnavailable")
        if number_or_percentage(unavailable) == 0:
            errors.append(invalid_field(f"{at}.maxUnavailable", unavailable, "cannot be 0"))
        errors += at_most_all(unavailable, f"{at}.maxUnavailable")
    return errors


def created_revision(obj: Object) -> Errors:
    """The errors of a new ControllerRevision."""
    errors, data = _revision(obj), obj.get("data")
    if isinstance(data, dict):
        return errors
    return [*errors, required("data", "data is mandatory" if data is None else "data must be a valid JSON object")]


def updated_revision(obj: Object, old: Object) -> Errors:
    """The errors of a ControllerRevision that is written over an old one."""
    return updated_metadata(obj, old) + _revision(obj) + immutable("data", obj.get("data"), old.get("data"))


def _revision(obj: Object) -> Errors:
    return created_metadata(obj, True, dns_subdomain) + non_negative("revision", obj.get("revision"))

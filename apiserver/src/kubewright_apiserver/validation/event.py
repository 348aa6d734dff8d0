"""Events, in both groups that serve them; the fields have other names in each, the errors those of the core group."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.schema.goprint import printed
from kubewright_apiserver.status import Printed, invalid_field, required
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import dns_subdomain
from kubewright_apiserver.validation.rules import IMMUTABLE, Errors, Object, named, qualified_errors

__all__ = ["created_core_event", "created_event", "updated_core_event", "updated_event"]

_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_UNSET: Final = "needs to be unset"
_FIXED: Final = (
    ("involvedObject", "core.ObjectReference"),
    ("reason", ""),
    ("message", ""),
    ("source", "core.EventSource"),
    ("firstTimestamp", "time"),
    ("lastTimestamp", "time"),
    ("count", 0),
    ("reason", ""),
    ("type", ""),
    ("eventTime", "time"),
    ("action", ""),
    ("related", "*core.ObjectReference"),
    ("reportingComponent", ""),
    ("reportingInstance", ""),
)


def _as_core(event: Object) -> Object:
    return {_CORE_NAMES.get(name, name): value for name, value in event.items()}


def created_core_event(event: Object) -> Errors:
    """The errors of a new Event of the core group."""
    return _legacy(event, "reportingComponent")


def updated_core_event(event: Object, old: Object) -> Errors:
    """The errors of an Event of the core group that is written over an old one."""
    return _legacy(event, "reportingComponent")


def created_event(event: Object) -> Errors:
    """The errors of a new Event of the group events.k8s.io."""
    core = _as_core(event)
    errors = _legacy(core, "reportingController") + created_metadata(event, True, dns_subdomain) + _series(core)
    if not core.get("eventTime"):
        errors.append(required("eventTime"))
    kind = core.get("type", "")
    if kind not in ("Normal", "Warning"):
        errors.append(invalid_field("type", "", f"has invalid value: {kind}"))
    errors += [
        invalid_field(name, "", _UNSET) for name in ("firstTimestamp", "lastTimestamp", "count") if core.get(name)
    ]
    source = core.get("source") or {}
    return [*errors, invalid_field("source", "", _UNSET)] if source.get("component") or source.get("host") else errors


def updated_event(event: Object, old: Object) -> Errors:
    """The errors of an Event of the group events.k8s.io that is written over an old one."""
    core, before = _as_core(event), _as_core(old)
    errors = _legacy(core, "reportingController") + updated_metadata(event, old)
    if core.get("series") != before.get("series"):
        errors += _series(core)
    for name, form in _FIXED:
        new, was = _value(core.get(name), form), _value(before.get(name), form)
        if new != was:
            told = "reportingController" if name == "reportingComponent" else name
            errors.append(invalid_field(told, new, IMMUTABLE))
    return errors


def _value(value: Any, form: str | int) -> Any:
    if isinstance(form, str) and "core." in form:
        return printed(form, value)
    if form == "time":
        return Printed("null") if value is None else value
    return form if value is None else value


def _series(event: Object) -> Errors:
    series = event.get("series")
    if series is None:
        return []
    errors: Errors = []
    if series.get("count", 0) < 2:
        errors.append(invalid_field("series.count", "", "should be at least 2"))
    return errors if series.get("lastObservedTime") else [*errors, required("series.lastObservedTime")]


def _legacy(event: Object, controller: str) -> Errors:
    namespace = event["metadata"].get("namespace", "")
    errors = _stamped(event, namespace, controller) if event.get("eventTime") else _unstamped(event, namespace)
    return errors + named(dns_subdomain, "namespace", namespace)


def _about(event: Object) -> str:
    about: str = (event.get("involvedObject") or {}).get("namespace", "")
    return about


def _unstamped(event: Object, namespace: str) -> Errors:
    about = _about(event)
    if namespace == about or (not about and namespace in ("", "default")):
        return []
    return [invalid_field("involvedObject.namespace", about, "does not match event.namespace")]


def _stamped(event: Object, namespace: str, controller: str) -> Errors:
    errors: Errors = []
    if not _about(event) and namespace not in ("default", "kube-system"):
        errors.append(invalid_field("involvedObject.namespace", "", "does not match event.namespace"))
    name = event.get("reportingComponent", "")
    if not name:
        errors.append(required(controller))
    errors += qualified_errors(controller, name)
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field, "")
        if not text:
            errors.append(required(field))
        errors += _at_most(field, text, 128)
    return errors + _at_most("message", event.get("message", ""), 1024)


def _at_most(field: str, text: str, most: int) -> Errors:
    if len(text.encode()) <= most:
        return []
    return [invalid_field(field, "", f"can have at most {most} characters")]

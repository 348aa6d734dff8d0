"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field, required
from kubewright_apiserver.validation.names import http_header_name, port_name, port_number
from kubewright_apiserver.validation.rules import Errors, Object, enumerated_if_set, named, non_negative

__all__ = ["lifecycle", "port_number_or_name", "probes"]

_COUNTS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_OF_PROBE: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_OF_LIFECYCLE: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_SCHEMES: Final = ("HTTP", "HTTPS")


def probes(container: Object, path: str) -> Errors:
    """The errors of a container's liveness, readiness and startup probes."""
    errors: Errors = []
    if probe := container.get("livenessProbe"):
        errors += _probe(probe, f"{path}.livenessProbe") + _once(probe, f"{path}.livenessProbe")
    if probe := container.get("readinessProbe"):
        errors += _probe(probe, f"{path}.readinessProbe")
        if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
            at = f"{path}.readinessProbe.terminationGracePeriodSeconds"
            errors.append(invalid_field(at, grace, "must not be set for readinessProbes"))
    if probe := container.get("startupProbe"):
        errors += _probe(probe, f"{path}.startupProbe") + _once(probe, f"{path}.startupProbe")
    return errors


def _once(probe: Object, path: str) -> Errors:
    threshold = probe.get("successThreshold", 0)
    return [] if threshold == 1 else [invalid_field(f"{path}.successThreshold", threshold, "must be 1")]


def _probe(probe: Object, path: str) -> Errors:
    errors = _handler(probe, path, _OF_PROBE, None)
    for name in _COUNTS:
        if probe.get(name, 0) < 0:
            errors += non_negative(f"{path}.{name}", probe[name])
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        errors.append(invalid_field(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    return errors


def lifecycle(hooks: Object, path: str, grace: int | None) -> Errors:
    """The errors of what is done after a container's start and before its stop."""
    errors: Errors = []
    for name in ("postStart", "preStop"):
        if (hook := hooks.get(name)) is not None:
            errors += _handler(hook, f"{path}.{name}", _OF_LIFECYCLE, grace)
    return errors


def _handler(handler: Object, path: str, kinds: Sequence[str], grace: int | None) -> Errors:
    present = [kind for kind in kinds if handler.get(kind) is not None]
    if not present:
        return [required(path, "must specify a handler type")]
    first, *others = present
    errors = _action(first, handler[first], f"{path}.{first}", grace)
    return errors + [forbidden_field(f"{path}.{kind}", "may not specify more than 1 handler type") for kind in others]


def _action(kind: str, action: Object, path: str, grace: int | None) -> Errors:
    if kind == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if kind == "httpGet":
        return _http_get(action, path)
    if kind == "sleep":
        return _sleep(action.get("seconds", 0), path, grace)
    return port_number_or_name(action.get("port", 0), f"{path}.port")


def _http_get(action: Object, path: str) -> Errors:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += port_number_or_name(action.get("port", 0), f"{path}.port")
    errors += enumerated_if_set(f"{path}.scheme", action.get("scheme", ""), _SCHEMES)
    for header in action.get("httpHeaders") or ():
        errors += named(http_header_name, f"{path}.httpHeaders", header.get("name", ""))
    return errors


def _sleep(seconds: int, path: str, grace: int | None) -> Errors:
    if grace is None or 0 <= seconds <= grace:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [invalid_field(path, seconds, detail)]


def port_number_or_name(port: int | str, path: str) -> Errors:
    """The errors of a port told by its number or its name."""
    messages = port_name(port) if isinstance(port, str) else port_number(port)
    return [invalid_field(path, port, message) for message in messages]

"""``AuditLog``: who asked what and was answered what, one line of JSON for each stage; bodies only if a policy says."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from kubewright_apiserver.access.attributes import Attributes
from kubewright_apiserver.access.rbac import Decision
from kubewright_apiserver.access.user import User
from kubewright_apiserver.body import read_apply_body, read_body
from kubewright_apiserver.status import Refusal

__all__ = ["AuditLog", "Trail", "check_policy"]

Object = dict[str, Any]

_log = logging.getLogger("kubewright_apiserver")
_EVERYTHING: Final[Object] = {"rules": [{"level": "Metadata"}]}
_LEVELS: Final = ("None", "Metadata", "Request", "RequestResponse")
_STAGES: Final = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")
_LONGEST_AGENT: Final = 1024
_TOLD_OF_STATUS: Final = ("status", "message", "reason", "details")


class _Told(NamedTuple):
    """How much is told of a request."""

    level: str = "None"
    stages: tuple[str, ...] = ()
    has_managers: bool = True
    """Whether objects are shown with their managedFields."""

    def reaches(self, level: str) -> bool:
        return _LEVELS.index(self.level) >= _LEVELS.index(level)


class AuditLog:
    """Writes what kube-apiserver writes to a file, or to standard output for the path ``-``.

    ``policy`` is an audit Policy as it is written in YAML: the first of its rules that fits a request decides at which
    level it is written, and which stages are left out. Without a policy everything is written at the level Metadata,
    which shows no bodies. Raises ``ValueError`` for a policy that says something else.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        policy: Mapping[str, Any] | None,
        now: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._policy = policy if policy is not None else _EVERYTHING
        check_policy(self._policy)
        self._now = now
        self._new_id = new_id
        self._is_failing = False
        self._file: int | None = None
        self._is_own = str(path) != "-"
        if self._is_own:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        else:
            self._file = sys.stdout.fileno()

    def begin(self, target: str, attributes: Attributes, agent: str, address: str, audit_id: str = "") -> Trail:
        """The trail of a request that has just come; ``audit_id`` is how the client wants it to be known."""
        return Trail(self, target, attributes, agent, address, audit_id or self._new_id())

    def told_of(self, user: User | None, attributes: Attributes) -> _Told:
        """How much is written of a request."""
        policy = self._policy
        for rule in policy.get("rules") or ():
            if not _fits(rule, user, attributes):
                continue
            if rule["level"] == "None":
                break
            omitted = [*(rule.get("omitStages") or ()), *(policy.get("omitStages") or ())]
            without = rule.get("omitManagedFields")
            has_managers = not (policy.get("omitManagedFields") if without is None else without)
            return _Told(rule["level"], tuple(stage for stage in _STAGES if stage not in omitted), has_managers)
        return _Told()

    def write(self, event: Object) -> None:
        """Add a line. One that cannot be written is told in the server's log, once, and stops nobody."""
        if self._file is None:
            return
        try:
            os.write(self._file, _line(event))
            self._is_failing = False
        except OSError as error:
            if not self._is_failing:
                _log.error("the audit log cannot be written, lines are missing: %s", error)
            self._is_failing = True

    def timestamp(self) -> str:
        """The time as events tell it."""
        return f"{self._now():%Y-%m-%dT%H:%M:%S.%f}Z"

    def close(self) -> None:
        """Write no more."""
        if self._is_own and self._file is not None:
            os.close(self._file)
        self._file = None


class Trail:
    """What is told of one request, while it goes through the server."""

    def __init__(
        self, log: AuditLog, target: str, attributes: Attributes, agent: str, address: str, audit_id: str
    ) -> None:
        self.audit_id: str = audit_id
        self._log = log
        self._attributes = attributes
        self._received = log.timestamp()
        self._told = _Told()
        self._objects: Object = {}
        self._annotations: dict[str, str] = {}
        self._user: User | None = None
        self._acting: Object = {}
        shown = agent if len(agent) <= _LONGEST_AGENT else f"{agent[:_LONGEST_AGENT]}...TRUNCATED"
        self._asked: Object = {"sourceIPs": [address], **({"userAgent": shown} if shown else {})}
        self._target = target
        self._name = attributes.name

    def authenticated(self, user: User) -> None:
        """Tell that the request was received, from whom."""
        self._user = user
        self._told = self._log.told_of(user, self._attributes)
        self._write("RequestReceived", self._received)

    def sent(self, body: bytes, content_type: str) -> None:
        """Remember the object in the body, if the policy wants to know."""
        if body and self._told.reaches("Request"):
            found = _object_in(body, content_type)
            if found is not None:
                self._objects["requestObject"] = self._without_managers(found)

    def acting_as(self, user: User, constraint: str) -> None:
        """Remember whom the asker acts as, and by which limited right."""
        self._acting = {"impersonatedUser": _shown(user)}
        if constraint:
            self._acting["authenticationMetadata"] = {"impersonationConstraint": constraint}

    def decided(self, decision: Decision) -> None:
        """Remember what authorization said."""
        self.annotate("authorization.k8s.io/decision", "allow" if decision.allowed else "forbid")
        self.annotate("authorization.k8s.io/reason", decision.reason)

    def annotate(self, key: str, value: str) -> None:
        """Remember something that is not in any other field."""
        self._annotations[key] = value

    def started(self, code: int) -> None:
        """Tell that a stream has begun."""
        self._write("ResponseStarted", code=code)

    def refused(self, status: Object) -> None:
        """Tell that nobody could tell who asks; nothing more is told then."""
        self._told = self._log.told_of(None, self._attributes)
        self._write("ResponseStarted", code=status["code"], status=status)
        self._told = _Told()

    def completed(self, code: int, answered: Object | None = None) -> None:
        """Tell the answer: its code, and the object in it, of which a Status is always told."""
        status = answered if answered is not None and answered.get("kind") == "Status" else None
        if answered is not None and status is None:
            if self._attributes.verb == "create" and not self._attributes.subresource:
                self._name = self._name or (answered.get("metadata") or {}).get("name", "")
            if self._told.reaches("RequestResponse"):
                self._objects["responseObject"] = self._without_managers(answered)
        elif status is not None and self._told.reaches("RequestResponse"):
            self._objects["responseObject"] = status
        self._write("ResponseComplete", code=code, status=status)

    def _without_managers(self, obj: Any) -> Any:
        """An object or a list of them, without who manages them if that is not told."""
        if self._told.has_managers or not isinstance(obj, dict):
            return obj
        shown = dict(obj)
        if isinstance(obj.get("metadata"), dict):
            shown["metadata"] = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        if isinstance(obj.get("items"), list):
            shown["items"] = [self._without_managers(item) for item in obj["items"]]
        return shown

    def _write(self, stage: str, time: str = "", code: int = 0, status: Object | None = None) -> None:
        if stage not in self._told.stages:
            return
        event: Object = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": self._told.level}
        event |= {"auditID": self.audit_id, "stage": stage, "requestURI": self._target, "verb": self._attributes.verb}
        event["user"] = _shown(self._user) if self._user is not None else {}
        event |= {**self._acting, **self._asked}
        if self._attributes.is_resource:
            event["objectRef"] = self._object()
        if code:
            told = {name: status[name] for name in _TOLD_OF_STATUS if name in status} if status is not None else {}
            event["responseStatus"] = {"metadata": {}, **told, "code": code}
            event |= self._objects
        event |= {"requestReceivedTimestamp": self._received, "stageTimestamp": time or self._log.timestamp()}
        if self._annotations:
            event["annotations"] = {key: self._annotations[key] for key in sorted(self._annotations)}
        self._log.write(event)

    def _object(self) -> Object:
        asked = self._attributes
        told = {
            "resource": asked.resource,
            "namespace": asked.namespace,
            "name": self._name,
            "apiGroup": asked.group,
            "apiVersion": asked.version,
            "subresource": asked.subresource,
        }
        return {name: value for name, value in told.items() if value}


def _line(event: Object) -> bytes:
    try:
        return orjson.dumps(event) + b"\n"
    except TypeError:
        # A text with lone surrogates, which is no UTF-8.
        return json.dumps(event, ensure_ascii=False).encode(errors="replace") + b"\n"


def _shown(user: User) -> Object:
    told = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    return {name: value for name, value in told.items() if value}


def _object_in(body: bytes, content_type: str) -> Any:
    """The object that was sent, or the patch; None if it is nothing that can be read, of protobuf only what it is."""
    media = content_type.partition(";")[0].strip()
    try:
        if media.endswith("patch+json"):
            return orjson.loads(body)
        return (read_apply_body(body) if media.endswith("patch+yaml") else read_body(body, content_type, "")).value
    except (Refusal, ValueError, RecursionError):
        return None


def check_policy(policy: Mapping[str, Any]) -> None:
    """Raise ``ValueError``, which names the field, for an audit Policy that means nothing."""
    for index, rule in enumerate(policy.get("rules") or ()):
        if rule.get("level") not in _LEVELS:
            raise ValueError(f"audit policy: rules[{index}].level must be one of {', '.join(_LEVELS)}")
        _check_stages(rule, f"rules[{index}].")
    _check_stages(policy, "")


def _check_stages(holder: Mapping[str, Any], path: str) -> None:
    if any(stage not in _STAGES for stage in holder.get("omitStages") or ()):
        raise ValueError(f"audit policy: {path}omitStages must be of {', '.join(_STAGES)}")


def _fits(rule: Mapping[str, Any], user: User | None, asked: Attributes) -> bool:
    """Whether a rule of the policy is about a request."""
    users, groups, verbs = rule.get("users"), rule.get("userGroups"), rule.get("verbs")
    if users and (user is None or user.name not in users):
        return False
    if groups and (user is None or not set(groups) & set(user.groups)):
        return False
    if verbs and asked.verb not in verbs:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return asked.is_resource and _fits_resource(rule, asked)
    urls = rule.get("nonResourceURLs")
    return not urls or (not asked.is_resource and any(_is_path(asked.path, url) for url in urls))


def _is_path(path: str, url: str) -> bool:
    return url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _fits_resource(rule: Mapping[str, Any], asked: Attributes) -> bool:
    namespaces, resources = rule.get("namespaces"), rule.get("resources")
    if namespaces and asked.namespace not in namespaces:
        return False
    return not resources or any(_is_among(asked, entry) for entry in resources)


def _is_among(asked: Attributes, entry: Mapping[str, Any]) -> bool:
    if entry.get("group", "") not in (asked.group, "*"):
        return False
    resources: Iterable[str] | None = entry.get("resources")
    names = entry.get("resourceNames")
    if not resources:
        return True
    if names and asked.name not in names:
        return False
    fitting = {"*", asked.part, f"{asked.resource}/*"}
    if asked.subresource:
        fitting.add(f"*/{asked.subresource}")
    return any(resource in fitting for resource in resources)

"""``apply`` and ``track``: server-side apply, and the ownership of fields after every other write.

Called by the verbs between decoding and admission; objects go in and out as the server would answer them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from kubewright_apiserver.patch.conflicts import Conflicts
from kubewright_apiserver.patch.endpoint import Endpoint
from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.lastapplied import fields_last_applied, refresh_last_applied
from kubewright_apiserver.patch.managers import Identity, Managed, Managers, decode, encode, is_wipe
from kubewright_apiserver.patch.ownership import Ownership
from kubewright_apiserver.patch.typed import TypedError, check, described

__all__ = ["apply", "track"]

_BEFORE_FIRST_APPLY: Final = "before-first-apply"
_SELF: Final = Identity("current-operation", "")
_UNOWNED: Final = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
_NOT_TYPED: Final = "failed to convert new object ({}) to smd typed"
_UNCONVERTIBLE: Final = (
    "failed to convert {} object ({}) to proper version: "
    "request to convert CR to an invalid group/version: autoscaling/v1"
)
_NEVER_OWNED: Final = FieldSet.of_paths(
    ("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in _UNOWNED)
)


def track(live: dict[str, Any] | None, new: dict[str, Any], *, endpoint: Endpoint, manager: str, now: str) -> None:
    """Sets ``new["metadata"]["managedFields"]`` in place to what holds after a create, an update or a patch.

    ``live`` is the object before, None when there is none; both are in the endpoint's version, decoded and defaulted.
    ``managedFields`` that come with ``new`` are heeded: valid ones replace what was known, ``[]`` or ``[{}]`` wipes it.
    """
    metadata = new["metadata"]
    managers = _known(live, metadata.get("managedFields"), endpoint)
    metadata.pop("managedFields", None)
    if managers.sets or live is None or not live["metadata"].get("uid"):
        before = endpoint.new() if live is None else _bare(live)
        try:
            managers = _updated(before, new, managers, endpoint=endpoint, manager=manager, now=now)
        except (TypedError, ValueError):
            return
    if managers.sets:
        metadata["managedFields"] = encode(managers)


def apply(
    live: dict[str, Any] | None,
    intent: dict[str, Any],
    *,
    endpoint: Endpoint,
    manager: str,
    force: bool,
    now: str,
    finish: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """The object with the intent applied, ``metadata.managedFields`` included.

    ``live`` is the object before, in the endpoint's version, None when there is none. ``finish`` makes of the merged
    object what the server decodes of it, with defaults; it may change its argument, which nobody else has.

    Raises ``Conflicts`` if others own what would change, and ``TypedError`` if the intent does not fit the type.
    """
    try:
        managers = decode(live["metadata"].get("managedFields") if live else None)
    except ValueError as error:
        raise TypedError(f"failed to decode managed fields: {error}") from error
    applying = _Applying(live, intent, endpoint=endpoint, manager=manager, now=now)
    try:
        merged, managers = applying.attempt(managers.copy(), force=force)
    except Conflicts as conflicts:
        if manager != "kubectl" or live is None:
            raise
        _raise_unless_last_applied(conflicts, live, endpoint)
        merged, managers = applying.attempt(managers.copy(), force=True)
    result = _copy(merged)
    if merged is not applying.base:
        result = finish(result)
    if manager == "kubectl":
        refresh_last_applied(result, intent)
    if managers.sets:
        result["metadata"]["managedFields"] = encode(managers)
    return result


def _known(live: dict[str, Any] | None, sent: Any, endpoint: Endpoint) -> Managers:
    """The managers to start from: those sent with the new object if they make sense, else those of the live one."""
    if not endpoint.subresource:
        # An empty list in a custom resource is lost in decoding, so it wipes nothing.
        if is_wipe(sent) and (sent or endpoint.is_builtin):
            return Managers()
        managers = _decoded(sent)
        if managers.sets:
            return managers
    return _decoded(live["metadata"].get("managedFields") if live else None)


def _decoded(entries: Any) -> Managers:
    try:
        return decode(entries)
    except ValueError:
        return Managers()


def _updated(
    live: dict[str, Any], new: dict[str, Any], managers: Managers, *, endpoint: Endpoint, manager: str, now: str
) -> Managers:
    if not endpoint.is_builtin:
        _check(endpoint, new, _NOT_TYPED, allow_duplicates=True)
        _check(endpoint, live, "failed to convert live object ({}) to smd typed", allow_duplicates=True)
    ownership = Ownership(endpoint, managers)
    ownership.update(live, new, _SELF)
    _strip(managers, _SELF)
    taken = managers.sets.pop(_SELF, None)
    if taken is not None:
        identity = endpoint.identity(manager, "Update")
        held = managers.sets.get(identity)
        fields = taken.fields.union(held.fields) if held else taken.fields
        managers.sets[identity] = Managed(fields, taken.api_version, False)
        managers.times[identity] = now
    managers.cap()
    return managers


class _Applying:
    """One intent, which may have to be tried twice."""

    def __init__(
        self, live: dict[str, Any] | None, intent: dict[str, Any], *, endpoint: Endpoint, manager: str, now: str
    ) -> None:
        self.base = endpoint.new() if live is None else _bare(live)
        self._exists = live is not None
        self._intent = intent
        self._endpoint = endpoint
        self._identity = endpoint.identity(manager, "Apply")
        self._now = now

    def attempt(self, managers: Managers, *, force: bool) -> tuple[dict[str, Any], Managers]:
        """The merged object, which is ``base`` if nothing changed, and its managers."""
        if self._exists and not managers.sets:
            managers = self._found()
        _check(self._endpoint, self._intent, "failed to create typed patch object ({})")
        if not self._endpoint.is_builtin:
            _check(self._endpoint, self.base, "failed to create typed live object ({})", allow_duplicates=True)
        merged = Ownership(self._endpoint, managers).apply(self.base, self._intent, self._identity, force=force)
        _strip(managers, self._identity)
        if merged is not self.base:
            if self._endpoint.is_custom_scale:
                raise TypedError(_UNCONVERTIBLE.format("new", described(self._intent)))
            managers.times[self._identity] = self._now
        return merged, managers

    def _owned_by_nobody(self) -> Managers:
        try:
            return _updated(
                self._endpoint.new(), self.base, Managers(),
                endpoint=self._endpoint, manager=_BEFORE_FIRST_APPLY, now=self._now,
            )  # fmt: skip
        except ValueError:
            # Built-in kinds are not checked before, because nearly all of them are right.
            _check(self._endpoint, self.base, _NOT_TYPED, allow_duplicates=True)
            raise

    def _found(self) -> Managers:
        """The managers of an object that nobody tracked so far: one that owns all that is there."""
        try:
            if self._endpoint.is_custom_scale:
                raise TypedError(_UNCONVERTIBLE.format("live", "/; autoscaling/v1, Kind=Scale"))
            return self._owned_by_nobody()
        except TypedError as error:
            raise TypedError(f"failed to create manager for existing fields: {error}") from error


def _raise_unless_last_applied(conflicts: Conflicts, live: dict[str, Any], endpoint: Endpoint) -> None:
    """Lets pass conflicts about fields that are as kubectl last applied them, from the client's side."""
    allowed = fields_last_applied(live, endpoint)
    if allowed is None:
        raise conflicts
    owned = {owner: fields.difference(allowed) for owner, fields in conflicts.owned.items()}
    rest = {owner: fields for owner, fields in owned.items() if fields}
    if rest:
        raise Conflicts(rest)


def _check(endpoint: Endpoint, obj: dict[str, Any], text: str, *, allow_duplicates: bool = False) -> None:
    try:
        check(endpoint.shape, obj, allow_duplicates=allow_duplicates)
    except TypedError as error:
        raise TypedError(f"{text.format(described(obj))}: {error}") from error


def _strip(managers: Managers, identity: Identity) -> None:
    managed = managers.sets.get(identity)
    if managed is not None:
        managers.own(identity, managed.fields.difference(_NEVER_OWNED))
        managers.drop_empty()


def _bare(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _copy(obj: dict[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = orjson.loads(orjson.dumps(obj))
    return copied

"""Who owns which fields of an object: ``metadata.managedFields`` read, kept and written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import orjson

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.patch.element_json import as_json_object
from kubewright_apiserver.patch.fieldset import FieldSet, decoded
from kubewright_apiserver.patch.typed import equal

__all__ = ["Identity", "Managed", "Managers", "decode", "encode", "is_wipe", "keep_times", "problem_of"]

_EPOCH: Final = "1970-01-01T00:00:00Z"
_MOST_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"


class Identity(NamedTuple):
    """What tells managers apart; appliers are the same whatever version they use, so theirs is empty."""

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def text(self) -> str:
        """What managers are sorted by."""
        named = zip(("manager", "operation", "apiVersion", "subresource"), self, strict=True)
        return as_json_object({name: value for name, value in named if value})

    @property
    def printed(self) -> str:
        """The manager as the message of a conflict names it."""
        where = f" with subresource {go_quoted(self.subresource)}" if self.subresource else ""
        version = f" using {self.api_version}" if self.operation == "Update" else ""
        return f"{go_quoted(self.manager)}{where}{version}"


class Managed(NamedTuple):
    """What one manager owns, told in one version of the type."""

    fields: FieldSet
    api_version: str
    is_applied: bool


class Managers:
    """All managers of an object, what they own, and when they last changed it."""

    __slots__ = ("sets", "times")

    def __init__(self) -> None:
        self.sets: dict[Identity, Managed] = {}
        self.times: dict[Identity, str | None] = {}

    def copy(self) -> Managers:
        """Another one with the same content."""
        result = Managers()
        result.sets, result.times = dict(self.sets), dict(self.times)
        return result

    def own(self, identity: Identity, fields: FieldSet) -> None:
        """Replaces what a manager owns."""
        self.sets[identity] = self.sets[identity]._replace(fields=fields)

    def drop_empty(self) -> None:
        """Forgets managers that own nothing."""
        for identity in [identity for identity, managed in self.sets.items() if not managed.fields]:
            del self.sets[identity]

    def cap(self) -> None:
        """Folds the oldest of more than ten updaters into one that stands for all ancient changes of its version."""
        updaters = [identity for identity, managed in self.sets.items() if not managed.is_applied]
        surplus = len(updaters) - _MOST_UPDATERS
        if surplus <= 0:
            return
        updaters.sort(key=lambda identity: (self.times.get(identity) or _EPOCH, identity.text))
        firsts: dict[str, Identity] = {}
        for identity in updaters:
            if surplus <= 0:
                break
            version = self.sets[identity].api_version
            if version in firsts:
                self._fold(identity, firsts[version], Identity(_ANCIENT, "Update", version))
                surplus -= 1
            else:
                firsts[version] = identity

    def _fold(self, identity: Identity, first: Identity, bucket: Identity) -> None:
        if bucket not in self.sets:
            self.sets[bucket] = self.sets.pop(first)
        managed = self.sets[identity]
        self.sets[bucket] = managed._replace(fields=managed.fields.union(self.sets[bucket].fields))
        del self.sets[identity]
        self.times[bucket] = self.times.get(identity)


def decode(entries: Any) -> Managers:
    """The managers that ``metadata.managedFields`` says; none for None.

    Raises ``ValueError`` with what is wrong with an entry.
    """
    managers = Managers()
    for place, entry in enumerate(entries or ()):
        _check(place, entry)
        is_applied = entry["operation"] == "Apply"
        version = entry["apiVersion"]
        identity = Identity(
            entry.get("manager") or "",
            entry["operation"],
            "" if is_applied else version,
            entry.get("subresource") or "",
        )
        fields = decoded(orjson.dumps(entry.get("fieldsV1")))
        managers.sets[identity] = Managed(fields, version, is_applied)
        managers.times[identity] = _in_utc(entry.get("time"))
    return managers


def _check(place: int, entry: Any) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"expected an object in managed fields entry {place}")
    if entry.get("operation") not in ("Apply", "Update"):
        raise ValueError("operation must be `Apply` or `Update`")
    if not entry.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if not kind:
        raise ValueError(f"missing fieldsType in managed fields entry {place}")
    if kind != "FieldsV1":
        raise ValueError(f"invalid fieldsType {go_quoted(kind)} in managed fields entry {place}")


def _in_utc(time: str | None) -> str | None:
    if time is None or (len(time) == len(_EPOCH) and time[-1] == "Z"):
        return time
    return datetime.fromisoformat(time).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def problem_of(entries: Any) -> str | None:
    """What is wrong with ``metadata.managedFields``, or None."""
    try:
        decode(entries)
    except ValueError as error:
        return str(error)
    return None


def is_wipe(entries: Any) -> bool:
    """Whether somebody sent ``managedFields`` to have them forgotten: an empty list, or one with one empty entry."""
    if not isinstance(entries, list) or len(entries) > 1:
        return False
    return all(isinstance(entry, dict) and all(value in ("", None) for value in entry.values()) for entry in entries)


def encode(managers: Managers) -> list[dict[str, Any]]:
    """A fresh ``metadata.managedFields``: appliers first, then by time, manager, version and subresource."""
    entries = [_entry(identity, managed, managers.times.get(identity)) for identity, managed in managers.sets.items()]
    entries.sort(key=_by_order)
    return entries


def _entry(identity: Identity, managed: Managed, time: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": identity.manager} if identity.manager else {}
    entry["operation"] = "Apply" if managed.is_applied else identity.operation
    entry["apiVersion"] = managed.api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = managed.fields.to_fields_v1()
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def _by_order(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        entry["operation"],
        entry.get("time", _EPOCH),
        entry.get("manager", ""),
        entry["apiVersion"],
        entry.get("subresource", ""),
    )


def keep_times(old: dict[str, Any], new: dict[str, Any], *, is_custom: bool) -> None:
    """Gives the managed fields of ``new`` the times of ``old``, in place, if the objects differ in nothing else.

    For the end of an update, when defaults and admission had their say: a write that changes nothing then stays one.
    The order of ``fieldsV1`` is a difference, except in custom resources.
    """
    before, after = old["metadata"].get("managedFields") or [], new["metadata"].get("managedFields") or []
    if len(before) != len(after) or before == after:
        return
    option = orjson.OPT_SORT_KEYS if is_custom else None
    is_same = all(_timeless(one, option) == _timeless(other, option) for one, other in zip(before, after, strict=True))
    if is_same and _are_equal(_without_managers(old), _without_managers(new)):
        pairs = zip(before, after, strict=True)
        new["metadata"]["managedFields"] = [{**one, "fieldsV1": other["fieldsV1"]} for one, other in pairs]


def _timeless(entry: dict[str, Any], option: int | None) -> tuple[dict[str, Any], bytes]:
    return {**entry, "time": None, "fieldsV1": None}, orjson.dumps(entry.get("fieldsV1"), option=option)


def _are_equal(old: dict[str, Any], new: dict[str, Any]) -> bool:
    # Python's own comparison is much faster, and says no to nearly all that are different.
    return old == new and equal(old, new)


def _without_managers(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": None}}

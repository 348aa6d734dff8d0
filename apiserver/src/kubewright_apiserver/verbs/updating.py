"""update: a new state in place of the one that is there, and the loop that every change of an object goes through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson

from kubewright_apiserver.access import check_escalation
from kubewright_apiserver.patch import equal, keep_times
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.status import (
    conflict,
    invalid,
    invalid_field,
    not_found,
)
from kubewright_apiserver.store import Row, Stale
from kubewright_apiserver.validation import refusal
from kubewright_apiserver.verbs.admission import admit_update, validate_update
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.charging import charge
from kubewright_apiserver.verbs.creating import decoded, stored_new, tracked
from kubewright_apiserver.verbs.metadata import check_place, merge_owners, read_version, wipe
from kubewright_apiserver.verbs.parts import other_uid
from kubewright_apiserver.verbs.rendering import internal_at, object_at, rendered, shown_stored
from kubewright_apiserver.verbs.storing import put_object

__all__ = ["MODIFIED", "change_object", "update_object"]

MODIFIED: Final = "the object has been modified; please apply your changes to the latest version and try again"

Transform = Callable[[dict[str, Any] | None], dict[str, Any]]


async def update_object(call: Call) -> Reply:
    """Put the body in place of the object, if that is still the one the body was made from."""
    call.check_write_options("UpdateOptions")
    behaviour = behaviour_of(call.served)
    sent = decoded(call, behaviour)
    check_place(call, sent, name=call.address.name)
    merge_owners(call, sent["metadata"])

    def replaced(live: dict[str, Any] | None) -> dict[str, Any]:
        obj = _copied(sent)
        tracked(call, behaviour, live, obj)
        return obj

    return await change_object(call, replaced, creates=behaviour.strategy.creates_on_update)


def _copied(obj: dict[str, Any]) -> dict[str, Any]:
    """A copy whose metadata may be changed."""
    return {**obj, "metadata": dict(obj["metadata"])}


async def change_object(call: Call, transform: Transform, *, creates: bool = False, insists: bool = False) -> Reply:
    """Make a new state from the current one and store it; again from the newer one if somebody was quicker.

    ``transform`` gets the live object, or None where ``creates`` allows there to be none. ``insists`` makes a
    version in the result no precondition of its own (patches that do not mention it).
    """
    table = call.engine.table(call.served)
    while True:
        row = table.get(call.key)
        if row is None:
            if not creates:
                raise not_found(*call.conflict_name())
            return await _created(call, transform)
        obj = transform(object_at(row, call.served))
        is_conditional = _check_version(call, obj, row, insists=insists)
        try:
            return await _stored(call, row, obj)
        except Stale:
            if is_conditional:
                raise conflict(*call.conflict_name(), MODIFIED) from None


async def _created(call: Call, transform: Transform) -> Reply:
    behaviour = behaviour_of(call.served)
    obj = transform(None)
    obj["metadata"].pop("resourceVersion", None)
    uid = obj["metadata"].get("uid")
    if uid and call.method == "PUT":
        raise other_uid(call, uid, "")
    check_place(call, obj, name=call.address.name)
    wipe(obj["metadata"])
    return await stored_new(call, behaviour, obj)


def _check_version(call: Call, obj: dict[str, Any], row: Row, *, insists: bool) -> bool:
    """Refuse a version other than the stored one; tell whether the version was a condition."""
    metadata = obj["metadata"]
    uid = metadata.get("uid")
    if call.method == "PUT" and uid and uid != (found := _uid(row)):
        raise other_uid(call, uid, found)
    version = read_version(metadata.get("resourceVersion", ""))
    if not version:
        if not behaviour_of(call.served).strategy.updates_unconditionally:
            error = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(call.served.group, call.served.plural, call.address.name, [error])
        metadata["resourceVersion"] = str(row.rev)
        return False
    if version != row.rev:
        raise conflict(*call.conflict_name(), MODIFIED)
    return not insists


class _Metadata(msgspec.Struct):
    uid: str


class _Identified(msgspec.Struct):
    metadata: _Metadata


def _uid(row: Row) -> str:
    """The uid in a row, of which nothing else is decoded."""
    return msgspec.json.decode(row.value, type=_Identified).metadata.uid


async def _stored(call: Call, row: Row, obj: dict[str, Any]) -> Reply:
    behaviour = behaviour_of(call.served)
    live, obj = internal_at(row, call.served), behaviour.internal(obj)
    admit_update(call, obj, live)
    check_escalation(call.engine.access.authorizer, call.user, call.address, obj, live)
    keep_times(live, obj, is_custom=call.served.crd is not None)
    with behaviour.allocating(obj, live, call):
        return await _put(call, behaviour, row, live, obj)


async def _put(call: Call, behaviour: Behaviour, row: Row, live: dict[str, Any], obj: dict[str, Any]) -> Reply:
    prepared(call, behaviour, live, obj)
    await charge(call, obj, live)
    obj = behaviour.to_storage(obj)
    # Decoded for this once: what a row keeps decoded is several times as large as its bytes.
    if _is_same(orjson.loads(row.value), obj, is_custom=call.served.crd is not None):
        return Reply(200, rendered(row, call.served, call.accept))
    if _is_over(obj):
        if not call.is_dry_run:
            await call.engine.store.delete(row.table, row.key, orjson.loads(row.value), expected=row.rev)
            behaviour.forget(obj, call)
            if behaviour.has_consequences:
                await behaviour.follow(None, live, call)
        obj["metadata"]["resourceVersion"] = str(row.rev)
        return Reply(200, shown_stored(obj, call.served, call.accept))
    if call.is_dry_run:
        obj["metadata"]["resourceVersion"] = str(row.rev)
        return Reply(200, shown_stored(obj, call.served, call.accept))
    stored = await put_object(call, row.table, row.key, obj, expected=row.rev)
    if behaviour.has_consequences:
        await behaviour.follow(obj, live, call)
    return Reply(200, rendered(stored, call.served, call.accept))


def prepared(call: Call, behaviour: Behaviour, live: dict[str, Any], obj: dict[str, Any]) -> None:
    """Keep what an update cannot change, let the kind's strategy and admission have their say, and validate."""
    metadata, was = obj["metadata"], live["metadata"]
    uid = metadata.get("uid")
    _carry(metadata, was, "generation")
    behaviour.prepare_update(obj, live, call)
    metadata["uid"] = uid or was["uid"]
    _carry(metadata, was, "creationTimestamp")
    if "deletionTimestamp" in was:
        metadata["deletionTimestamp"] = was["deletionTimestamp"]
        metadata.setdefault("deletionGracePeriodSeconds", was.get("deletionGracePeriodSeconds"))
    errors = behaviour.validate_update(obj, live, call.address.subresource)
    if errors:
        raise refusal(call.served.group, call.served.kind, metadata.get("name", ""), errors)
    call.warnings += behaviour.warnings(obj, live, call.address.subresource)
    validate_update(call, obj, live)


def _carry(metadata: dict[str, Any], was: dict[str, Any], key: str) -> None:
    if key in was:
        metadata[key] = was[key]
    else:
        metadata.pop(key, None)


def _is_same(stored: dict[str, Any], obj: dict[str, Any], *, is_custom: bool) -> bool:
    """Whether storing an object would change nothing. The order of managed fields counts, but not of a custom one."""
    if stored != obj or not equal(stored, obj):
        return False
    return is_custom or _managed(stored) == _managed(obj)


def _managed(obj: dict[str, Any]) -> bytes:
    return orjson.dumps([entry.get("fieldsV1") for entry in obj["metadata"].get("managedFields", ())])


def _is_over(obj: dict[str, Any]) -> bool:
    """Whether an object that is being deleted lost its last finalizer, and its time is over."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers") or _namespace_finalizers(obj):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def _namespace_finalizers(obj: dict[str, Any]) -> bool:
    return obj.get("kind") == "Namespace" and bool((obj.get("spec") or {}).get("finalizers"))

"""create: from a body to a stored object."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.access import check_escalation
from kubewright_apiserver.body import body_format, read_body
from kubewright_apiserver.patch import track
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.status import Refusal, already_exists, forbidden
from kubewright_apiserver.store import Row, Stale
from kubewright_apiserver.validation import refusal
from kubewright_apiserver.verbs.admission import admit_create, default_account_awaited, validate_create
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.charging import charge
from kubewright_apiserver.verbs.metadata import check_new, check_place, merge_owners, name_generated, stamp, wipe
from kubewright_apiserver.verbs.rendering import rendered, shown_stored
from kubewright_apiserver.verbs.reviewing import is_review, reviewed
from kubewright_apiserver.verbs.storing import put_object

__all__ = ["create_object", "decoded", "stored_new", "tracked"]

_NAME_ATTEMPTS: Final = 8


async def create_object(call: Call) -> Reply:
    """Store the object in the body under its name, or under a name made from its prefix."""
    body_format(call.headers.get("content-type", ""))
    call.check_write_options("CreateOptions")
    behaviour = behaviour_of(call.served)
    obj = decoded(call, behaviour)
    check_place(call, obj, name="")
    if "create" not in call.served.verbs:
        why = "create not allowed while custom resource definition is terminating"
        raise forbidden(call.served.group, call.served.plural, obj["metadata"].get("name", ""), why)
    version = wipe(obj["metadata"])
    merge_owners(call, obj["metadata"])
    tracked(call, behaviour, None, obj)
    if is_review(call):
        return reviewed(call, behaviour, obj)
    return await stored_new(call, behaviour, obj, version)


def tracked(call: Call, behaviour: Behaviour, live: dict[str, Any] | None, obj: dict[str, Any]) -> None:
    """Let the call's manager own what it changed."""
    endpoint = behaviour.endpoint(call.address.subresource)
    view = behaviour.viewed(obj)
    track(live, view, endpoint=endpoint, manager=call.manager, now=call.engine.timestamp())
    if view is obj:
        return
    obj["metadata"].pop("managedFields", None)
    if "managedFields" in view["metadata"]:
        obj["metadata"]["managedFields"] = view["metadata"]["managedFields"]


def decoded(call: Call, behaviour: Behaviour) -> dict[str, Any]:
    """The object in the body: known fields of the right types, defaults filled in."""
    body = read_body(
        call.body, call.headers.get("content-type", ""), call.served.kind, is_custom=call.served.crd is not None
    )
    return behaviour.decode(body, call)


async def stored_new(call: Call, behaviour: Behaviour, obj: dict[str, Any], version: str = "") -> Reply:
    """Admit, stamp, validate and store an object that is new; ``version`` is what it said of itself.

    Only storing asks for that, so a dry run tells it again.
    """
    obj = behaviour.internal(obj)
    await default_account_awaited(call, obj)
    admit_create(call, obj)
    check_escalation(call.engine.access.authorizer, call.user, call.address, obj, None)
    metadata = obj["metadata"]
    is_generated = name_generated(call.engine, metadata)
    stamp(call.engine, metadata, has_generation=behaviour.strategy.generation > 0)
    with behaviour.allocating(obj, None, call):
        behaviour.prepare_create(obj, call)
        errors = behaviour.validate_create(obj)
        if errors:
            raise refusal(call.served.group, call.served.kind, metadata.get("name", ""), errors)
        call.warnings += behaviour.warnings(obj, None)
        validate_create(call, obj)
        if call.is_dry_run and version:
            metadata["resourceVersion"] = version
        elif version:
            check_new(version)
        await charge(call, obj, None)
        return await _put_new(call, behaviour, obj, is_generated=is_generated)


async def _put_new(call: Call, behaviour: Behaviour, obj: dict[str, Any], *, is_generated: bool) -> Reply:
    """Store a new object; under another name if a generated one is taken."""
    metadata, table = obj["metadata"], call.engine.table(call.served)
    for _ in range(_NAME_ATTEMPTS):
        key = key_of(call, metadata["name"])
        if call.is_dry_run and table.get(key) is None:
            return Reply(201, shown_stored(behaviour.to_storage(obj), call.served, call.accept))
        try:
            row = await put_object(call, table.name, key, behaviour.to_storage(obj), expected=0)
        except Stale as stale:
            if not is_generated:
                raise _taken(call, metadata, stale.current) from None
            metadata["name"] = ""
            name_generated(call.engine, metadata)
        else:
            if behaviour.has_consequences:
                await behaviour.follow(obj, None, call)
            return Reply(201, rendered(row, call.served, call.accept))
    raise _not_unique(call, metadata["name"])


def _not_unique(call: Call, name: str) -> Refusal:
    """409: also the name that was made, or that stood beside a prefix for one, is taken."""
    refusal = already_exists(call.served.group, call.served.plural, name)
    message = f"{refusal.message}, the server was not able to generate a unique name for the object"
    details = {**(refusal.details or {}), "retryAfterSeconds": 1}
    return Refusal(refusal.code, refusal.reason, message, details=details, headers=[("Retry-After", "1")])


def _taken(call: Call, metadata: dict[str, Any], current: Row | None) -> Refusal:
    """409: the name is taken, perhaps by an object that is about to go."""
    if metadata.get("generateName"):
        return _not_unique(call, metadata["name"])
    refusal = already_exists(call.served.group, call.served.plural, metadata["name"])
    if current is None or "deletionTimestamp" not in current.obj["metadata"]:
        return refusal
    message = f"object is being deleted: {refusal.message}"
    return Refusal(refusal.code, refusal.reason, message, details=refusal.details)


def key_of(call: Call, name: str) -> str:
    """The key of an object of that name in the call's namespace."""
    return f"{call.address.namespace}/{name}" if call.served.namespaced else name

"""create: from a body to a stored object."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.body import read_body
from kubewright_apiserver.patch import track
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.status import already_exists, invalid
from kubewright_apiserver.store import Stale
from kubewright_apiserver.verbs.admission import admit_create
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.metadata import check_place, merge_owners, name_generated, stamp, wipe
from kubewright_apiserver.verbs.rendering import rendered, shown

__all__ = ["create_object", "decoded", "stored_new"]

_NAME_ATTEMPTS: Final = 8


async def create_object(call: Call) -> Reply:
    """Store the object in the body under its name, or under a name made from its prefix."""
    call.check_write_options("CreateOptions")
    behaviour = behaviour_of(call.served)
    obj = decoded(call, behaviour)
    check_place(call, obj, name="")
    wipe(obj["metadata"])
    merge_owners(call, obj["metadata"])
    endpoint = behaviour.endpoint("")
    track(None, obj, endpoint=endpoint, manager=call.manager, now=call.engine.timestamp())
    return await stored_new(call, behaviour, obj)


def decoded(call: Call, behaviour: Behaviour) -> dict[str, Any]:
    """The object in the body: known fields of the right types, defaults filled in."""
    body = read_body(
        call.body, call.headers.get("content-type", ""), call.served.kind, is_custom=call.served.crd is not None
    )
    return behaviour.decode(body, call)


async def stored_new(call: Call, behaviour: Behaviour, obj: dict[str, Any]) -> Reply:
    """Admit, stamp, validate and store an object that is new."""
    admit_create(call, obj)
    metadata = obj["metadata"]
    is_generated = name_generated(call.engine, metadata)
    stamp(call.engine, metadata, has_generation=behaviour.strategy.generation > 0)
    with behaviour.allocating(obj, None, call):
        behaviour.prepare_create(obj, call)
        errors = behaviour.validate_create(obj)
        if errors:
            raise invalid(call.served.group, call.served.kind, metadata.get("name", ""), errors)
        call.warnings += behaviour.warnings(obj, None)
        return await _put_new(call, behaviour, obj, is_generated=is_generated)


async def _put_new(call: Call, behaviour: Behaviour, obj: dict[str, Any], *, is_generated: bool) -> Reply:
    """Store a new object; under another name if a generated one is taken."""
    metadata, table = obj["metadata"], call.engine.table(call.served)
    for _ in range(_NAME_ATTEMPTS):
        key = key_of(call, metadata["name"])
        if call.is_dry_run and table.get(key) is None:
            return Reply(201, shown(behaviour.to_storage(obj), call.accept))
        try:
            row = await call.engine.store.put(table.name, key, behaviour.to_storage(obj), expected=0)
        except Stale:
            if not is_generated:
                break
            metadata["name"] = ""
            name_generated(call.engine, metadata)
        else:
            return Reply(201, rendered(row, call.served, call.accept))
    raise already_exists(call.served.group, call.served.plural, metadata["name"])


def key_of(call: Call, name: str) -> str:
    """The key of an object of that name in the call's namespace."""
    return f"{call.address.namespace}/{name}" if call.served.namespaced else name

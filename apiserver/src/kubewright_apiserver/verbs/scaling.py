"""scale: how many replicas an object has and wants, in one form for every kind that can be scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from kubewright_apiserver.body import patch_format, read_body
from kubewright_apiserver.label_selectors import selector_text
from kubewright_apiserver.patch import Endpoint, Versions, entries_of_parent, entries_of_scale, track
from kubewright_apiserver.registry.scale import read_scale, write_scale
from kubewright_apiserver.schema.decoding import Decoded, decode, decode_patched, normalise, normalise_leniently
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.status import conflict, invalid, invalid_field, not_found
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.metadata import check_place
from kubewright_apiserver.verbs.patching import (
    applied_to,
    check_existence,
    check_patch_options,
    intent_in,
    patched_object,
)
from kubewright_apiserver.verbs.rendering import object_at
from kubewright_apiserver.verbs.updating import change_object

__all__ = ["get_scale", "patch_scale", "update_scale"]

_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_IDENTITY: Final = Identity("autoscaling", "v1", "Scale")
_TYPE: Final = {"kind": "Scale", "apiVersion": "autoscaling/v1"}
_BUILT_IN: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
}


def _paths(call: Call) -> dict[str, Any]:
    if call.served.crd is None:
        return _BUILT_IN
    versions = call.served.crd["spec"]["versions"]
    found: dict[str, Any] = next(one for one in versions if one["name"] == call.served.version)
    scale: dict[str, Any] = found["subresources"]["scale"]
    return scale


def _scale_of(call: Call, obj: dict[str, Any], *, for_update: bool = False) -> dict[str, Any]:
    scale = read_scale(obj, _paths(call), for_update=for_update)
    if call.served.crd is None:
        scale["status"]["selector"] = selector_text(obj["spec"].get("selector"))
    if for_update:
        entries = entries_of_scale(obj["metadata"].get("managedFields"), _replicas_paths(call))
        if entries:
            scale["metadata"]["managedFields"] = entries
    return scale


def _replicas_paths(call: Call) -> dict[str, tuple[str, ...]]:
    path = tuple(_paths(call)["specReplicasPath"].strip(".").split("."))
    return {call.served.api_version: path}


async def get_scale(call: Call) -> Reply:
    """The scale of the object at the call's address."""
    row = call.engine.table(call.served).get(call.key)
    if row is None:
        raise not_found(*call.conflict_name())
    return Reply(200, _scale_of(call, object_at(row, call.served)))


async def update_scale(call: Call) -> Reply:
    """Put a number of replicas in place of the one that is there."""
    call.check_write_options("UpdateOptions")
    body = read_body(call.body, call.headers.get("content-type", ""), "Scale")
    sent = {**_TYPE, "metadata": {}, **decode(body, node_of_builtin(_SCALE), _IDENTITY).value}
    check_place(call, sent, name=call.address.name)
    return await _changed(call, lambda before: _tracked(call, before, _copied(sent)))


async def patch_scale(call: Call) -> Reply:
    """Change the scale by a patch."""
    kind = patch_format(call.headers.get("content-type", ""), is_custom=call.served.crd is not None)
    check_patch_options(call, kind)
    if kind == "apply":
        check_existence(call)
        intent = intent_in(call, "autoscaling", "v1", "Scale")

        def applied(before: dict[str, Any]) -> dict[str, Any]:
            return applied_to(call, before, intent, _endpoint(call), _finished)

        return await _changed(call, applied)

    def patched(before: dict[str, Any]) -> dict[str, Any]:
        after = patched_object(call, kind, node_of_builtin(_SCALE), _copied(before), _decoded)
        return _tracked(call, before, {**_TYPE, **after})

    return await _changed(call, patched)


def _finished(document: dict[str, Any]) -> dict[str, Any]:
    return {**_TYPE, **normalise(document, node_of_builtin(_SCALE))}


def _decoded(document: Any, call: Call, is_strategic: bool) -> Decoded:
    if is_strategic:
        return normalise_leniently(document, node_of_builtin(_SCALE))
    return decode_patched(document, node_of_builtin(_SCALE), _IDENTITY)


def _tracked(call: Call, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The scale with its managers, after a write that is no apply."""
    after["metadata"].setdefault("uid", before["metadata"]["uid"])
    track(before, after, endpoint=_endpoint(call), manager=call.manager, now=call.engine.timestamp())
    return after


async def _changed(call: Call, transform: Callable[[dict[str, Any]], dict[str, Any]]) -> Reply:
    """Write the replicas of a scale that a transformation makes of the current one into the object."""

    def scaled(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        after = transform(_scale_of(call, live, for_update=True))
        check_place(call, after, name=call.address.name)
        _check(call, after, live)
        write_scale(live, after, _paths(call))
        metadata = live["metadata"]
        entries = entries_of_parent(
            metadata.pop("managedFields", None),
            after["metadata"].get("managedFields"),
            api_version=call.served.api_version,
            paths=_replicas_paths(call),
        )
        if entries:
            metadata["managedFields"] = entries
        metadata["resourceVersion"] = after["metadata"].get("resourceVersion") or metadata["resourceVersion"]
        metadata["uid"] = after["metadata"].get("uid") or metadata["uid"]
        return live

    whole = call.without_subresource()
    whole.admitted_as = "scale"
    reply = await change_object(whole, scaled, insists=True)
    obj = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
    return Reply(200, _scale_of(call, obj))


def _copied(scale: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = orjson.loads(orjson.dumps(scale))
    return copy


def _check(call: Call, scale: dict[str, Any], live: dict[str, Any]) -> None:
    uid, known = scale["metadata"].get("uid"), live["metadata"]["uid"]
    if uid and uid != known and call.method == "PATCH":
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {known}"
        raise conflict(call.served.group, f"{call.served.plural}/scale", call.address.name, why)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0 and call.served.crd is None:
        error = invalid_field("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("autoscaling", "Scale", call.address.name, [error])


def _endpoint(call: Call) -> Endpoint:
    node = node_of_builtin(_SCALE)
    versions = Versions(
        node=lambda version: node if version == "autoscaling/v1" else None, convert=lambda obj, version: None
    )
    return Endpoint(
        versions=versions,
        api_version="autoscaling/v1",
        kind="Scale",
        subresource="scale",
        is_custom_scale=call.served.crd is not None,
    )

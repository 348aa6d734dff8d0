"""scale: how many replicas an object has and wants, in one form for every kind that can be scaled."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.body import patch_format, read_apply_body, read_body
from kubewright_apiserver.patch import (
    Endpoint,
    Versions,
    apply_merge_patch,
    entries_of_parent,
    entries_of_scale,
    track,
)
from kubewright_apiserver.registry.scale import read_scale, write_scale
from kubewright_apiserver.schema.decoding import decode, normalise
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.status import invalid, invalid_field, not_found
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.patching import patcher
from kubewright_apiserver.verbs.rendering import object_at
from kubewright_apiserver.verbs.updating import change_object

__all__ = ["get_scale", "patch_scale", "update_scale"]

_SCALE: Final = "io.k8s.api.autoscaling.v1.Scale"
_IDENTITY: Final = Identity("autoscaling", "v1", "Scale")
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


def _scale_of(call: Call, obj: dict[str, Any], *, with_managers: bool = False) -> dict[str, Any]:
    scale = read_scale(obj, _paths(call))
    if call.served.crd is None:
        scale["status"]["selector"] = _selector(obj["spec"].get("selector"))
    if with_managers:
        entries = entries_of_scale(obj["metadata"].get("managedFields"), _replicas_paths(call))
        if entries:
            scale["metadata"]["managedFields"] = entries
    return scale


def _selector(selector: dict[str, Any] | None) -> str:
    if not selector:
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        parts.append(_expression(one))
    return ",".join(sorted(parts))


def _expression(one: dict[str, Any]) -> str:
    values = ",".join(sorted(one.get("values") or ()))
    forms = {"In": f"{one['key']} in ({values})", "NotIn": f"{one['key']} notin ({values})"}
    forms |= {"Exists": one["key"], "DoesNotExist": f"!{one['key']}"}
    return forms[one["operator"]]


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
    sent = decode(body, node_of_builtin(_SCALE), _IDENTITY).value
    return await _changed(call, lambda _: sent)


async def patch_scale(call: Call) -> Reply:
    """Change the scale by a patch."""
    call.check_write_options("PatchOptions")
    kind = patch_format(call.headers.get("content-type", ""), is_custom=call.served.crd is not None)
    if kind == "apply":
        intent = read_apply_body(call.body).value
        return await _changed(call, lambda scale: apply_merge_patch(scale, {"spec": intent.get("spec", {})}))
    # Read anew for each attempt: applying a strategic patch uses it up.
    return await _changed(call, lambda scale: patcher(call, kind, node_of_builtin(_SCALE))[0](scale))


async def _changed(call: Call, transform: Any) -> Reply:
    """Write the replicas of a scale that a transformation makes of the current one into the object."""

    def scaled(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        before = _scale_of(call, live, with_managers=True)
        after = normalise(transform(_copied(before)), node_of_builtin(_SCALE))
        _check(call, after)
        after = {"kind": "Scale", "apiVersion": "autoscaling/v1", **after}
        after["metadata"].setdefault("uid", live["metadata"]["uid"])
        track(before, after, endpoint=_endpoint(call), manager=call.manager, now=call.engine.timestamp())
        write_scale(live, after, _paths(call))
        entries = entries_of_parent(
            live["metadata"].get("managedFields"),
            after["metadata"].get("managedFields"),
            api_version=call.served.api_version,
            paths=_replicas_paths(call),
        )
        live["metadata"]["managedFields"] = entries
        version = after["metadata"].get("resourceVersion")
        if version:
            live["metadata"]["resourceVersion"] = version
        return live

    reply = await change_object(call.without_subresource(), scaled, insists=True)
    obj = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
    return Reply(200, _scale_of(call, obj))


def _copied(scale: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = orjson.loads(orjson.dumps(scale))
    return copy


def _check(call: Call, scale: dict[str, Any]) -> None:
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
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

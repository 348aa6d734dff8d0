"""patch: JSON, merge and strategic patches of what is there, and server-side apply of an intent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubewright_apiserver.body import patch_format, read_apply_body
from kubewright_apiserver.patch import (
    Conflicts,
    TypedError,
    apply,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    read_json_patch,
    read_merge_patch,
    read_strategic_patch,
    rejected,
    rejected_text,
)
from kubewright_apiserver.patch.printed import as_text
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.strictness import strict_message, warnings_of
from kubewright_apiserver.status import (
    FieldError,
    Refusal,
    bad_request,
    forbidden_field,
    internal_error,
    invalid,
    required,
)
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.metadata import check_place, merge_owners
from kubewright_apiserver.verbs.updating import change_object, tracked

__all__ = ["patch_object", "patcher"]


async def patch_object(call: Call) -> Reply:
    """Change the object at the call's address by the patch in the body."""
    kind = patch_format(call.headers.get("content-type", ""), is_custom=call.served.crd is not None)
    _check_options(call, kind)
    behaviour = behaviour_of(call.served)
    if kind == "apply":
        return await _apply(call, behaviour)

    def changed(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        # Read anew for each attempt: applying a strategic patch uses it up.
        patched, repeated = patcher(call, kind, call.served.node)
        obj = _decoded(call, behaviour, patched(live), repeated, is_strategic=kind == "strategic")
        check_place(call, obj, name=call.address.name)
        merge_owners(call, obj["metadata"])
        tracked(call, behaviour, live, obj)
        return obj

    return await change_object(call, changed, insists=True)


def _decoded(
    call: Call, behaviour: Behaviour, document: Any, repeated: list[str], *, is_strategic: bool
) -> dict[str, Any]:
    """The object that the patch made; unknown and repeated fields are refused or warned of."""
    try:
        decoded = behaviour.decode_patched(document, call, is_strategic=is_strategic)
    except Undecodable as error:
        raise _rejected(call, document, str(error), is_strategic=is_strategic) from None
    told = [*repeated, *decoded.strict]
    if told and call.field_validation == "Strict":
        raise _rejected(call, document, strict_message(told), is_strategic=is_strategic)
    if told and call.field_validation == "Warn":
        call.warnings += warnings_of(told)
    return decoded.value


def _rejected(call: Call, document: Any, why: str, *, is_strategic: bool) -> Refusal:
    """422: of a strategic patch the patch is shown, of others what they made."""
    if is_strategic:
        return rejected_text(as_text(read_strategic_patch(call.body)[0]), why)
    return rejected(document, why)


def _check_options(call: Call, kind: str) -> None:
    errors: list[FieldError] = []
    if kind == "apply" and not call.parameter("fieldManager"):
        errors.append(required("fieldManager", "is required for apply patch"))
    if kind != "apply" and call.parameter("force"):
        errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
    if errors:
        raise invalid("meta.k8s.io", "PatchOptions", "", errors)
    call.check_write_options("PatchOptions")


def patcher(call: Call, kind: str, node: Node) -> tuple[Callable[[dict[str, Any]], Any], list[str]]:
    """What makes the patched object of the live one, and the texts of fields that come twice in the patch."""
    is_checked, is_custom = call.field_validation != "Ignore", call.served.crd is not None
    if kind == "json":
        operations, told = read_json_patch(call.body, is_checked=is_checked, is_custom=is_custom)
        return (lambda live: apply_json_patch(live, operations)), told
    if kind == "merge":
        patch, told = read_merge_patch(call.body, is_checked=is_checked, is_custom=is_custom)
        return (lambda live: apply_merge_patch(live, patch)), told
    strategic, told = read_strategic_patch(call.body, is_checked=is_checked)
    return (lambda live: apply_strategic_patch(live, strategic, node)), told


async def _apply(call: Call, behaviour: Behaviour) -> Reply:
    intent = _intent_in(call)

    def applied(live: dict[str, Any] | None) -> dict[str, Any]:
        try:
            obj = apply(
                live,
                intent,
                endpoint=behaviour.endpoint(call.address.subresource),
                manager=call.manager,
                force=call.flag("force"),
                now=call.engine.timestamp(),
                finish=behaviour.finished,
            )
        except Conflicts as conflicts:
            details = {"causes": conflicts.causes}
            raise Refusal(409, "Conflict", str(conflicts), details=details) from None
        except TypedError as error:
            raise internal_error(str(error)) from None
        merge_owners(call, obj["metadata"])
        return obj

    creates = not call.address.subresource
    return await change_object(call, applied, creates=creates, insists=True)


def _intent_in(call: Call) -> dict[str, Any]:
    intent: dict[str, Any] = read_apply_body(call.body).value
    group, _, version = intent.get("apiVersion", "").rpartition("/")
    kind = intent.get("kind", "")
    if (group, version, kind) != (call.served.group, call.served.version, call.served.kind):
        raise bad_request(f"invalid object type: {group}/{version}, Kind={kind}")
    metadata = intent.setdefault("metadata", {})
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    name = metadata.get("name", "")
    if name and name != call.address.name:
        raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.address.name})")
    metadata["name"] = call.address.name
    return intent

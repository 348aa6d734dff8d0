"""patch: JSON, merge and strategic patches of what is there, and server-side apply of an intent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubewright_apiserver.body import patch_format, read_apply_body
from kubewright_apiserver.golang import go_text
from kubewright_apiserver.patch import (
    Conflicts,
    Endpoint,
    TypedError,
    apply,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_patch,
    described,
    read_json_patch,
    read_merge_patch,
    read_strategic_patch,
    rejected,
    rejected_text,
    sorted_json,
)
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.schema.decoding import Decoded, refuse_repeated_keys
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.strictness import strict_message, warnings_of
from kubewright_apiserver.status import (
    FieldError,
    Refusal,
    bad_request,
    conflict,
    forbidden_field,
    internal_error,
    not_found,
    required,
)
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.creating import tracked
from kubewright_apiserver.verbs.metadata import check_place, merge_owners
from kubewright_apiserver.verbs.updating import change_object

__all__ = [
    "applied_to",
    "check_existence",
    "check_patch_options",
    "intent_in",
    "patch_object",
    "patched_object",
    "patcher",
]


async def patch_object(call: Call) -> Reply:
    """Change the object at the call's address by the patch in the body."""
    kind = patch_format(call.headers.get("content-type", ""), is_custom=call.served.crd is not None)
    check_patch_options(call, kind)
    behaviour = behaviour_of(call.served)
    if kind == "apply":
        return await _apply(call, behaviour)

    def changed(live: dict[str, Any] | None) -> dict[str, Any]:
        assert live is not None
        # Read anew for each attempt: applying a strategic patch uses it up.
        obj = patched_object(call, kind, call.served.node, live, behaviour.decode_patched)
        check_place(call, obj, name=call.address.name)
        merge_owners(call, obj["metadata"])
        tracked(call, behaviour, live, obj)
        return obj

    return await change_object(call, changed, insists=True)


Decoding = Callable[[Any, Call, bool], Decoded]
"""What reads what a patch made; the last argument is true for strategic patches."""


def patched_object(call: Call, kind: str, node: Node, live: dict[str, Any], decode: Decoding) -> dict[str, Any]:
    """The object that the call's patch makes of another; unknown and repeated fields are refused or warned of."""
    patch, repeated = patcher(call, kind, node)
    document, is_strategic = patch(live), kind == "strategic"
    try:
        decoded = decode(document, call, is_strategic)
    except Undecodable as error:
        raise _rejected(call, document, str(error), is_strategic=is_strategic) from None
    told = [*repeated, *decoded.strict]
    if told and call.field_validation == "Strict":
        # Patched once more, for decoding may have pruned it.
        shown = document if is_strategic else patch(live)
        raise _rejected(call, shown, strict_message(told), is_strategic=is_strategic)
    if told and call.field_validation == "Warn":
        call.warnings += warnings_of(told)
    return decoded.value


def _rejected(call: Call, document: Any, why: str, *, is_strategic: bool) -> Refusal:
    """422: of a strategic patch the patch is shown, of others what they made."""
    if is_strategic:
        return rejected_text(go_text(read_strategic_patch(call.body)[0]), why)
    return rejected_text(sorted_json(document), why) if call.served.crd is not None else rejected(document, why)


def check_patch_options(call: Call, kind: str) -> None:
    """Refuse options that a kind of patch does not have, or lacks."""
    errors: list[FieldError] = []
    if kind == "apply" and not call.parameter("fieldManager"):
        errors.append(required("fieldManager", "is required for apply patch"))
    if kind != "apply" and "force" in call.query:
        errors.append(forbidden_field("force", "may not be specified for non-apply patch"))
    call.check_write_options("PatchOptions", errors)


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


def check_existence(call: Call) -> None:
    """Refuse to apply to a part of what is not there."""
    if call.address.subresource and call.engine.table(call.served).get(call.key) is None:
        raise not_found(*call.conflict_name())


async def _apply(call: Call, behaviour: Behaviour) -> Reply:
    check_existence(call)
    intent = intent_in(call, call.served.group, call.served.version, call.served.kind)

    def applied(live: dict[str, Any] | None) -> dict[str, Any]:
        endpoint = behaviour.endpoint(call.address.subresource)
        obj = applied_to(call, live, intent, endpoint, behaviour.finished)
        if live is None and obj["metadata"].get("uid"):
            why = f"the provided object specified uid {obj['metadata']['uid']}, and no existing object was found"
            raise conflict(*call.conflict_name(), f"uid mismatch: {why}")
        check_place(call, obj, name=call.address.name)
        merge_owners(call, obj["metadata"])
        return obj

    creates = not call.address.subresource
    return await change_object(call, applied, creates=creates, insists=True)


def applied_to(
    call: Call,
    live: dict[str, Any] | None,
    intent: dict[str, Any],
    endpoint: Endpoint,
    finish: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """The object with an intent applied by the call's manager."""
    try:
        return apply(
            live,
            intent,
            endpoint=endpoint,
            manager=call.manager,
            force=call.flag("force"),
            now=call.engine.timestamp(),
            finish=finish,
        )
    except Conflicts as conflicts:
        details = {"causes": conflicts.causes}
        raise Refusal(409, "Conflict", str(conflicts), details=details) from None
    except TypedError as error:
        raise internal_error(str(error)) from None
    except Undecodable as error:
        to = f"to proper version: unable to convert unstructured object to {call.served.api_version}"
        why = f"{to}, Kind={call.served.kind}: {error}"
        raise internal_error(f"failed to convert new object ({described(intent)}) {why}") from None


def _tell_repeated(call: Call, messages: Sequence[str]) -> None:
    """Refuse keys that come twice in the YAML of an intent, or warn of them."""
    if messages and call.field_validation == "Strict":
        raise refuse_repeated_keys(messages)
    if messages and call.field_validation == "Warn":
        call.warnings += messages


def _kind_of(intent: dict[str, Any]) -> tuple[str, str, str]:
    """Group, version and kind that an intent says; empty where it says nothing that can be understood."""
    api_version, kind = intent.get("apiVersion"), intent.get("kind")
    kind = kind if isinstance(kind, str) else ""
    if not isinstance(api_version, str):
        return "", "", kind
    if api_version.count("/") > 1:
        return "", "", ""
    group, _, version = api_version.rpartition("/")
    return group, version, kind


def intent_in(call: Call, group: str, version: str, kind: str) -> dict[str, Any]:
    """The intent in the body, which must be of that kind."""
    body = read_apply_body(call.body)
    _tell_repeated(call, body.yaml_duplicates)
    intent: dict[str, Any] = body.value
    said_group, said_version, said_kind = _kind_of(intent)
    if (said_group, said_version, said_kind) != (group, version, kind):
        raise bad_request(f"invalid object type: {said_group}/{said_version}, Kind={said_kind}")
    metadata = intent.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    return intent

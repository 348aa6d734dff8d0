"""From a body to an object as kube-apiserver has it in memory, and back to what it writes.

``decode`` is on the path of every write of a built-in kind; ``normalise`` of whatever else makes objects: patches,
defaults, admission.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kubewright_apiserver.body import Body, unrecognized
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.json_tree import MalformedJson, has_duplicates, read_tree
from kubewright_apiserver.protobuf import Decoder
from kubewright_apiserver.schema.conversion import convert_leniently
from kubewright_apiserver.schema.go_types import GoType, go_type_of
from kubewright_apiserver.schema.go_values import tree_of
from kubewright_apiserver.schema.identity import (
    Identity,
    check_version,
    definition_of,
    identity_in,
    unconvertible,
    with_defaults,
)
from kubewright_apiserver.schema.mismatch import Undecodable, read_strictly
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.quantity import canonical_quantity
from kubewright_apiserver.schema.strictness import duplicate_fields, strict_message, yaml_duplicates
from kubewright_apiserver.schema.typed import convert, written
from kubewright_apiserver.status import Refusal, bad_request, invalid, invalid_field

__all__ = [
    "Decoded",
    "check_types",
    "decode",
    "decode_custom",
    "decode_patched",
    "normalise",
    "normalise_leniently",
    "normalised_as",
    "read_message",
    "refuse",
    "refuse_repeated_keys",
    "refuse_strictly",
]

_TYPE: Final = frozenset(("apiVersion", "kind"))
_ODD_TYPE: Final = re.compile(
    r"json: cannot unmarshal (\w+) into Go struct field \w+\.TypeMeta\.(kind|apiVersion) of type string"
)
_MESSAGES: Final = Decoder(canonical_quantity)


class Decoded(NamedTuple):
    """An object, and what strict clients want to hear of it."""

    value: dict[str, Any]
    """The object in the form in which it is stored and answered."""
    strict: list[str]
    """Unknown and repeated fields: texts for ``refuse_strictly`` or ``warnings_of``."""


def decode(body: Body, node: Node, expected: Identity) -> Decoded:
    """The object of a built-in kind that a create or update brings.

    Guarantees: fields have the types that they have in Go, and only they are there.

    Raises ``Refusal`` (400) in kube-apiserver's words: for another kind or version, for a value of a wrong type.
    """
    identity: Identity | None = None
    try:
        said = identity_in(body.value)
        identity = with_defaults(said, expected)
        if identity != expected:
            _check_other(body, identity, expected)
        return _decoded(body, go_type_of(node.definition))
    except Undecodable as error:
        raise _undecodable(body, identity, expected, str(error)) from None
    except MalformedJson as error:
        raise unrecognized(body.sent, expected.kind, f"couldn't get version/kind; json parse error: {error}") from None


def _undecodable(body: Body, identity: Identity | None, expected: Identity, why: str) -> Refusal:
    if identity is None:
        return unrecognized(body.sent, expected.kind, why)
    repeated = _ODD_TYPE.fullmatch(why)
    if repeated is not None:
        # Of two such fields the real server has seen the first one long before.
        why = f"json: cannot unmarshal {repeated[1]} into Go struct field .{repeated[2]} of type string"
        return unrecognized(body.sent, expected.kind, f"couldn't get version/kind; json parse error: {why}")
    version = go_quoted(identity.version)
    return bad_request(f"{identity.kind} in version {version} cannot be handled as a {expected.kind}: {why}")


def refuse(identity: Identity, why: str) -> Refusal:
    """400: the answer to an object of the right kind that cannot be decoded."""
    of = f'{identity.kind} in version "{identity.version}" cannot be handled as a {identity.kind}'
    return bad_request(f"{of}: {why}")


def refuse_strictly(identity: Identity, errors: list[str]) -> Refusal:
    """400: the answer to a create or update with ``fieldValidation=Strict`` that has unknown or repeated fields."""
    return refuse(identity, strict_message(errors))


def refuse_repeated_keys(messages: Sequence[str]) -> Refusal:
    """400: the answer to an apply with ``fieldValidation=Strict`` whose YAML has keys twice in a map."""
    (error,) = yaml_duplicates(messages)
    return bad_request(f"error strict decoding YAML: error converting YAML to JSON: {error}")


def _check_other(body: Body, identity: Identity, expected: Identity) -> None:
    definition = definition_of(identity, expected)
    if definition:
        _decoded(body, go_type_of(definition))
    error = unconvertible(identity, expected)
    if error is not None:
        raise error
    check_version(identity, expected)


def decode_custom(body: Body, expected: Identity) -> Decoded:
    """The custom resource that a create or update brings, and its repeated fields; unknown ones are told by pruning.

    Raises ``Refusal``: 400 for what is no object of this version, 422 for another kind.
    """
    identity: Identity | None = None
    try:
        identity = identity_in(body.value)
        if body.huge:
            raise Undecodable(body.huge)
    except Undecodable as error:
        raise _undecodable(body, identity, expected, str(error)) from None
    value = body.value or {}
    if not value.get("kind"):
        sent = body.sent.decode(errors="replace")
        raise unrecognized(body.sent, expected.kind, f"Object 'Kind' is missing in '{sent}'")
    check_version(Identity(identity.group, identity.version, ""), expected)
    _check_kind(value, expected)
    if body.is_yaml:
        return Decoded(value, yaml_duplicates(body.yaml_duplicates))
    try:
        return Decoded(value, duplicate_fields(body.sent, value))
    except MalformedJson as error:
        raise unrecognized(body.sent, expected.kind, f"couldn't get version/kind; json parse error: {error}") from None


def _check_kind(value: dict[str, Any], expected: Identity) -> None:
    kind, metadata = value["kind"], value.get("metadata")
    if kind != expected.kind:
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        error = invalid_field("kind", kind, f"must be {expected.kind}")
        raise invalid(expected.group, kind, name if isinstance(name, str) else "", [error])


def _decoded(body: Body, go_type: GoType) -> Decoded:
    if body.message is not None:
        return Decoded(read_message(body, go_type), [])
    value = {} if body.value is None else body.value
    struct = _converted(value, go_type)
    if struct is not None and not body.yaml_duplicates and (body.is_yaml or not has_duplicates(body.sent, value)):
        return Decoded(written(struct), [])
    clean, strict = read_strictly(read_tree(body.json), go_type)
    return Decoded(written(convert(clean or {}, go_type)), yaml_duplicates(body.yaml_duplicates) + strict)


def read_message(body: Body, go_type: GoType) -> dict[str, Any]:
    """The object that a body in protobuf brings; nobody is told of unknown fields in it.

    Raises ``Undecodable``.
    """
    try:
        found = _MESSAGES.decode(go_type.definition, body.message or b"")
    except ValueError as error:
        raise Undecodable(str(error)) from None
    return _normalised({**body.value, **found}, go_type).value


def _converted(value: Any, go_type: GoType) -> Any:
    try:
        return convert(value, go_type)
    except (msgspec.ValidationError, RecursionError):
        return None


def decode_patched(value: Any, node: Node, expected: Identity) -> Decoded:
    """The object of a built-in kind that a JSON patch or merge patch made.

    Raises ``Undecodable``: such an error is the patch's, and its refusal quotes the patched object.
    """
    said = identity_in(value)
    if not said.version:
        # Read as of the internal version, whose fields have no names.
        return Decoded({"metadata": {}}, [f'unknown field "{name}"' for name in sorted(value) if name not in _TYPE])
    identity = with_defaults(said, expected)
    if identity != expected:
        definition = definition_of(identity, expected)
        if definition:
            _normalised(value, go_type_of(definition))
        error = unconvertible(identity, expected)
        if error is not None:
            raise error
    return _normalised(value, go_type_of(node.definition))


def normalise(obj: dict[str, Any], node: Node) -> dict[str, Any]:
    """An object of a built-in kind as Go writes it: fields in Go's order, maps sorted, quantities and times in their
    canonical form, without nulls, unknown fields, and values that are left out when empty; what is always written is
    there.

    Raises ``Undecodable``.
    """
    return _normalised(obj, go_type_of(node.definition)).value


def _normalised(value: Any, go_type: GoType) -> Decoded:
    struct = _converted(value, go_type)
    if struct is not None:
        return Decoded(written(struct), [])
    clean, strict = read_strictly(tree_of(value), go_type)
    return Decoded(written(convert(clean or {}, go_type)), strict)


def normalised_as(definition: str, value: Any, *, ignores_case: bool = False) -> dict[str, Any]:
    """A value of a built-in type as Go writes it; null is one that nobody has filled in.

    Raises ``Undecodable``.
    """
    go_type = go_type_of(definition)
    return _normalised(_named_exactly(value, go_type) if ignores_case else value, go_type).value


def _named_exactly(value: Any, go_type: GoType) -> Any:
    """The value with the names of fields in the case that the type has, for JSON that Go reads without strictness."""
    if isinstance(value, list) and go_type.item is not None:
        return [_named_exactly(item, go_type.item) for item in value]
    if not isinstance(value, dict) or go_type.kind != "struct":
        return value
    fields = go_type.fields
    known = {name.lower(): name for name in fields} | {name: name for name in fields}
    names = {name: known.get(name) or known.get(name.lower()) for name in value}
    return {exact: _named_exactly(value[name], fields[exact].type) for name, exact in names.items() if exact}


def normalise_leniently(obj: dict[str, Any], node: Node) -> Decoded:
    """The object of a built-in kind that a strategic merge patch made; unknown fields are told in their order.

    Raises ``Undecodable``, in other words than JSON's.
    """
    go_type = go_type_of(node.definition)
    struct = _converted(obj, go_type)
    if struct is not None:
        return Decoded(written(struct), [])
    clean, unknown = convert_leniently(obj, go_type)
    return Decoded(written(convert(clean, go_type)), unknown)


def check_types(obj: dict[str, Any], node: Node, kind: str, version: str) -> None:
    """Refuse (400) an object of a built-in kind with a value that Go cannot decode."""
    try:
        _normalised(obj, go_type_of(node.definition))
    except Undecodable as error:
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from None

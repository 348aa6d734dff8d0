"""Bodies of other kinds than the one that is served at an address: a Scale, a Binding, an Eviction."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.body import read_body
from kubewright_apiserver.schema.decoding import decode, refuse_strictly
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.schema.strictness import warnings_of
from kubewright_apiserver.status import Refusal, conflict
from kubewright_apiserver.verbs.call import Call

__all__ = ["SUCCESS", "other_uid", "read_part"]

SUCCESS: Final[dict[str, Any]] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}
"""What is said of a part that was created."""


def read_part(call: Call, definition: str, identity: Identity, older: str = "") -> dict[str, Any]:
    """The object of another kind in the body; unknown and repeated fields are refused or warned of.

    ``older`` is a version that is taken too, being the same.
    """
    body = read_body(call.body, call.headers.get("content-type", ""), identity.kind)
    if older and isinstance(body.value, dict) and body.value.get("apiVersion") == f"{identity.group}/{older}":
        identity = identity._replace(version=older)
    found = decode(body, node_of_builtin(definition), identity)
    if found.strict and call.field_validation == "Strict":
        raise refuse_strictly(identity, found.strict)
    if found.strict and call.field_validation == "Warn":
        call.warnings += warnings_of(found.strict)
    found.value.setdefault("metadata", {})
    return found.value


def other_uid(call: Call, wanted: str, found: str) -> Refusal:
    """409: the object is not the one that a client means; in the words of the storage."""
    group = f"{call.served.group}/" if call.served.crd is not None else ""
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{group}{call.served.plural}/{call.key}, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        f"{wanted}, UID in object meta: {found}"
    )
    return conflict(*call.conflict_name(), why)

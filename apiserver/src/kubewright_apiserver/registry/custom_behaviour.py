"""How custom resources behave: by the schema of their CRD."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kubewright_apiserver.body import Body
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.patch import Versions, sorted_json
from kubewright_apiserver.registry.behaviour import Behaviour, Request
from kubewright_apiserver.registry.custom import CustomVersion, custom_version
from kubewright_apiserver.registry.served import Served
from kubewright_apiserver.schema.decoding import Decoded, decode_custom, refuse, refuse_strictly
from kubewright_apiserver.schema.embedded import CoercionError
from kubewright_apiserver.schema.identity import Identity, identity_in
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.numbers import same, written_numbers
from kubewright_apiserver.schema.objectmeta import MetadataError, coerce_metadata
from kubewright_apiserver.schema.strictness import warnings_of
from kubewright_apiserver.status import FieldError, bad_request
from kubewright_apiserver.validation import Strategy
from kubewright_apiserver.validation.metadata import common_errors
from kubewright_apiserver.validation.names import qualified_name

__all__ = ["CustomBehaviour"]

_KEPT = ("apiVersion", "kind", "metadata")
_STANDARD_FINALIZERS = frozenset(("orphan", "foregroundDeletion", "kubernetes"))
_MOST_DROPPED = 100


class CustomBehaviour(Behaviour):
    """A custom resource at one version."""

    def __init__(self, served: Served) -> None:
        assert served.crd is not None
        self.served: Served = served
        self._version: CustomVersion = custom_version(served.crd, served.version)
        self._identity = Identity(served.group, served.version, served.kind)
        self.is_stored_as_served: bool = False
        resets: dict[str, tuple[tuple[str, ...], ...]] = (
            {"": (("status",),), "status": (("spec",), ("metadata",))} if self._version.has_status else {}
        )
        self.strategy: Strategy = Strategy(
            generation=1, updates_unconditionally=False, resets=resets, returns_deleted=False
        )

    def decode(self, body: Body, request: Request) -> dict[str, Any]:
        """The object in a body."""
        decoded = decode_custom(body, self._identity)
        try:
            obj, unknown = self._shaped(decoded.value)
        except Undecodable as error:
            raise refuse(self._identity, str(error)) from None
        told = [*decoded.strict, *unknown]
        if told and request.field_validation == "Strict":
            raise refuse_strictly(self._identity, told)
        if told and request.field_validation == "Warn":
            request.warnings += warnings_of(told)
        return obj

    def decode_patched(self, document: dict[str, Any], request: Request, is_strategic: bool = False) -> Decoded:
        """The object that a patch made, and what strict clients want to hear of it."""
        if not identity_in(document).kind:
            raise Undecodable(f"Object 'Kind' is missing in '{sorted_json(document)}'")
        obj, unknown = self._shaped(document)
        return Decoded(obj, unknown)

    def finished(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object that an apply made."""
        try:
            return self._shaped(document)[0]
        except Undecodable as error:
            raise bad_request(str(error)) from None

    def _shaped(self, document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The object with a proper metadata, pruned and filled in; and the unknown fields.

        Raises ``Undecodable`` for metadata that is none, its own or that of a resource inside.
        """
        try:
            metadata, dropped = coerce_metadata(document.get("metadata"))
            obj = {"apiVersion": self.served.api_version, "kind": self.served.kind, "metadata": metadata}
            obj |= {key: value for key, value in document.items() if key not in _KEPT}
            pruned = self._version.schema.prune(obj)
        except (CoercionError, MetadataError) as error:
            raise Undecodable(str(error)) from None
        self._version.schema.default(obj)
        unknown = [*(f"metadata.{path}" for path in sorted(dropped)[:_MOST_DROPPED]), *pruned]
        return obj, [f'unknown field "{path}"' for path in unknown]

    @cached_property
    def versions(self) -> Versions:
        """The versions of the CRD; conversion changes nothing but their name."""
        return Versions(node=self._node, convert=self._convert)

    def _node(self, api_version: str) -> Node | None:
        group, _, version = api_version.rpartition("/")
        if group != self.served.group:
            return None
        assert self.served.crd is not None
        names = [one["name"] for one in self.served.crd["spec"]["versions"]]
        return self.served.node if version in names else None

    def _convert(self, obj: dict[str, Any], api_version: str) -> dict[str, Any] | None:
        return {**obj, "apiVersion": api_version}

    def from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object at this version: by its schema now, which may have come later."""
        obj["apiVersion"] = self.served.api_version
        self._version.schema.prune_stored(obj)
        self._version.schema.default(obj)
        return obj

    def to_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it is stored."""
        stored = {key: written_numbers(obj[key]) for key in sorted(obj) if key not in _KEPT}
        version = self.served.storage_version or self.served.version
        head = {"apiVersion": f"{self.served.group}/{version}", "kind": self.served.kind, "metadata": obj["metadata"]}
        return head | stored

    def prepare_create(self, obj: dict[str, Any], call: Any) -> None:
        """A new object has no status, if that has a door of its own."""
        if self._version.has_status:
            obj.pop("status", None)

    def prepare_update(self, obj: dict[str, Any], live: dict[str, Any], call: Any) -> None:
        """Keep what this door does not change, and move the generation on."""
        if call.address.subresource == "status":
            self._keep_all_but_status(obj, live)
        elif self._version.has_status:
            _keep(obj, live, "status")
        if not same(_content(obj, self._version.has_status), _content(live, self._version.has_status)):
            metadata = obj["metadata"]
            metadata["generation"] = metadata.get("generation", 0) + 1

    def _keep_all_but_status(self, obj: dict[str, Any], live: dict[str, Any]) -> None:
        for key in {*obj, *live} - {"status", "metadata", "apiVersion", "kind"}:
            _keep(obj, live, key)
        managed = obj["metadata"].get("managedFields")
        version = obj["metadata"].get("resourceVersion")
        obj["metadata"] = {**live["metadata"]}
        if version is not None:
            obj["metadata"]["resourceVersion"] = version
        if managed is not None:
            obj["metadata"]["managedFields"] = managed
        else:
            obj["metadata"].pop("managedFields", None)

    def validate_create(self, obj: dict[str, Any]) -> list[FieldError]:
        """What is wrong with a new object."""
        return self._version.create_errors(obj)

    def validate_update(self, obj: dict[str, Any], live: dict[str, Any], subresource: str) -> list[FieldError]:
        """What is wrong with a change."""
        errors = common_errors(obj, live, self.served.namespaced)
        if subresource == "status":
            return errors + self._version.status_errors(obj, live)
        return errors + self._version.update_errors(obj, live)

    def warnings(self, obj: dict[str, Any], live: dict[str, Any] | None, subresource: str = "") -> list[str]:
        """What clients should be told of finalizers that somebody else may use too."""
        found = set(obj["metadata"].get("finalizers") or ())
        if not found or subresource:
            return []
        known = set(live["metadata"].get("finalizers") or ()) if live is not None else set()
        return [warning for name in sorted(found - known) for warning in _finalizer_warnings(name)]

    @property
    def deprecations(self) -> list[str]:
        """That this version will go, if it is said so."""
        told = self._version.deprecation_warning
        return [told] if told else []


def _finalizer_warnings(name: str) -> list[str]:
    shown = f"metadata.finalizers: {go_quoted(name)}"
    warnings = [f"{shown}: {wrong}" for wrong in qualified_name(name)]
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        conflicts = "to avoid accidental conflicts with other finalizer writers"
        warnings.append(f"{shown}: prefer a domain-qualified finalizer name{path} {conflicts}")
    return warnings


def _keep(obj: dict[str, Any], live: dict[str, Any], key: str) -> None:
    if key in live:
        obj[key] = live[key]
    else:
        obj.pop(key, None)


def _content(obj: dict[str, Any], has_status: bool) -> dict[str, Any]:
    """What a generation is counted of: all but metadata, and the status if that has a door of its own."""
    left_out = {"metadata", "apiVersion", "kind", *(("status",) if has_status else ())}
    return {key: value for key, value in obj.items() if key not in left_out}

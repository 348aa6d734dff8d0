"""How custom resources behave: by the schema of their CRD."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kubewright_apiserver.body import Body
from kubewright_apiserver.patch import Versions
from kubewright_apiserver.registry.behaviour import Behaviour, Request
from kubewright_apiserver.registry.custom import CustomVersion, custom_version
from kubewright_apiserver.registry.served import Served
from kubewright_apiserver.schema.decoding import Decoded, decode_custom, refuse_strictly
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.objectmeta import coerce_metadata
from kubewright_apiserver.schema.strictness import warnings_of
from kubewright_apiserver.status import FieldError
from kubewright_apiserver.validation import Strategy

__all__ = ["CustomBehaviour"]

_KEPT = ("apiVersion", "kind", "metadata")


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
        obj, unknown = self._shaped(decoded.value)
        told = [*decoded.strict, *unknown]
        if told and request.field_validation == "Strict":
            raise refuse_strictly(self._identity, told)
        if told and request.field_validation == "Warn":
            request.warnings += warnings_of(told)
        return obj

    def decode_patched(self, document: dict[str, Any], request: Request, *, is_strategic: bool = False) -> Decoded:
        """The object that a patch made, and what strict clients want to hear of it."""
        obj, unknown = self._shaped(document)
        return Decoded(obj, unknown)

    def finished(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object that an apply made."""
        return self._shaped(document)[0]

    def _shaped(self, document: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The object with a proper metadata, pruned and filled in; and the unknown fields."""
        metadata, dropped = coerce_metadata(document.get("metadata") or {})
        obj = {"apiVersion": self.served.api_version, "kind": self.served.kind, "metadata": metadata}
        obj |= {key: value for key, value in document.items() if key not in _KEPT}
        pruned = self._version.schema.prune(obj)
        self._version.schema.default(obj)
        return obj, [f'unknown field "{path}"' for path in (*pruned, *dropped)]

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
        """A stored object at this version: defaults that came later are filled in."""
        obj["apiVersion"] = self.served.api_version
        self._version.schema.default(obj)
        return obj

    def to_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it is stored."""
        stored = {key: obj[key] for key in sorted(obj) if key not in _KEPT}
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
        if _content(obj, self._version.has_status) != _content(live, self._version.has_status):
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
        if subresource == "status":
            return self._version.status_errors(obj, live)
        return self._version.update_errors(obj, live)

    @property
    def deprecations(self) -> list[str]:
        """That this version will go, if it is said so."""
        told = self._version.deprecation_warning
        return [told] if told else []


def _keep(obj: dict[str, Any], live: dict[str, Any], key: str) -> None:
    if key in live:
        obj[key] = live[key]
    else:
        obj.pop(key, None)


def _content(obj: dict[str, Any], has_status: bool) -> dict[str, Any]:
    """What a generation is counted of: all but metadata, and the status if that has a door of its own."""
    left_out = {"metadata", "apiVersion", "kind", *(("status",) if has_status else ())}
    return {key: value for key, value in obj.items() if key not in left_out}

"""How the objects of built-in kinds behave: Go's types, kube-apiserver's defaults, strategies and rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from kubewright_apiserver.body import Body
from kubewright_apiserver.defaulting import allocate_service, default, fill_printed, prepare_create, prepare_update
from kubewright_apiserver.patch import Versions
from kubewright_apiserver.registry.behaviour import Behaviour, Request
from kubewright_apiserver.registry.builtin import definition_of
from kubewright_apiserver.registry.conversion import converted
from kubewright_apiserver.registry.crd import (
    crd_errors,
    crd_status_errors,
    crd_warnings,
    default_crd,
    prepare_crd_create,
    prepare_crd_update,
)
from kubewright_apiserver.registry.crd_names import CLEANUP, terminating
from kubewright_apiserver.registry.served import Served
from kubewright_apiserver.schema.decoding import (
    Decoded,
    decode,
    decode_patched,
    normalise,
    normalise_leniently,
    refuse_strictly,
)
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import Node, node_of_builtin
from kubewright_apiserver.schema.strictness import warnings_of
from kubewright_apiserver.status import FieldError, bad_request
from kubewright_apiserver.validation import (
    Strategy,
    bumps_generation,
    strategy,
    validate_create,
    validate_subresource_update,
    validate_update,
)

__all__ = ["BuiltinBehaviour"]

_GRACE: Final = 30


class BuiltinBehaviour(Behaviour):
    """A built-in kind at one version."""

    def __init__(self, served: Served) -> None:
        self.served: Served = served
        self.strategy: Strategy = strategy(served.group, served.kind)
        self.is_stored_as_served: bool = (served.storage_group, served.storage_version) == (
            served.group,
            served.version,
        )
        self._identity = Identity(served.group, served.version, served.kind)
        self._named = (served.group, served.version, served.kind)
        self._is_service = (served.group, served.kind) == ("", "Service")
        self._is_namespace = (served.group, served.kind) == ("", "Namespace")
        self._is_crd = (served.group, served.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")

    def decode(self, body: Body, request: Request) -> dict[str, Any]:
        """The object in a body."""
        decoded = decode(body, self.served.node, self._identity)
        if decoded.strict and request.field_validation == "Strict":
            raise refuse_strictly(self._identity, decoded.strict)
        return self._finished(decoded, request)

    def decode_patched(self, document: dict[str, Any], request: Request, *, is_strategic: bool = False) -> Decoded:
        """The object that a patch made, and what strict clients want to hear of it."""
        if is_strategic:
            decoded = normalise_leniently(document, self.served.node)
        else:
            decoded = decode_patched(document, self.served.node, self._identity)
        return Decoded(self._defaulted(decoded.value), decoded.strict)

    def finished(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object that an apply made."""
        try:
            return self._defaulted(normalise(document, self.served.node))
        except Undecodable as error:
            raise bad_request(str(error)) from None

    def _finished(self, decoded: Decoded, request: Request) -> dict[str, Any]:
        if decoded.strict and request.field_validation == "Warn":
            request.warnings += warnings_of(decoded.strict)
        return self._defaulted(decoded.value)

    def _defaulted(self, value: dict[str, Any]) -> dict[str, Any]:
        obj = {"kind": self.served.kind, "apiVersion": self.served.api_version, **value}
        obj["kind"], obj["apiVersion"] = self.served.kind, self.served.api_version
        metadata = obj.get("metadata")
        obj["metadata"] = metadata if metadata is not None else {}
        if self._is_crd:
            default_crd(obj)
        else:
            default(*self._named, obj)
        fill_printed(*self._named, obj)
        return obj

    @cached_property
    def versions(self) -> Versions:
        """The versions of the kind that have a type; managers who wrote in others are forgotten."""
        return Versions(node=self._node, convert=lambda obj, version: None)

    def _node(self, api_version: str) -> Node | None:
        group, _, version = api_version.rpartition("/")
        try:
            return node_of_builtin(definition_of(group, version, self.served.kind))
        except KeyError:
            return None

    def from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object at this version."""
        if self.is_stored_as_served:
            return obj
        return self._written(converted(obj, self.served.api_version))

    def to_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it is stored: normalised, with Kubernetes' order of fields."""
        fill_printed(*self._named, obj)
        written = self._written(obj)
        return written if self.is_stored_as_served else self._in_stored_version(written)

    def _written(self, obj: dict[str, Any]) -> dict[str, Any]:
        value = normalise(obj, self.served.node)
        value.pop("kind", None)
        value.pop("apiVersion", None)
        return {"kind": self.served.kind, "apiVersion": self.served.api_version, **value}

    def _in_stored_version(self, obj: dict[str, Any]) -> dict[str, Any]:
        group, version = self.served.storage_group, self.served.storage_version
        named = (group, version, self.served.kind)
        stored = converted(obj, f"{group}/{version}" if group else version)
        default(*named, stored)
        fill_printed(*named, stored)
        return stored

    def prepare_create(self, obj: dict[str, Any], call: Any) -> None:
        """Do to a new object what its strategy does."""
        if self._is_crd:
            prepare_crd_create(obj)
        else:
            prepare_create(*self._named, obj, call.context())
        fill_printed(*self._named, obj)

    def prepare_update(self, obj: dict[str, Any], live: dict[str, Any], call: Any) -> None:
        """Do to a changed object what its strategy does, and move its generation on."""
        subresource = call.address.subresource
        if self._is_crd and not subresource:
            prepare_crd_update(obj, live)
        elif self._is_crd:
            obj["spec"] = live["spec"]
        else:
            prepare_update(*self._named, obj, live, call.context(), subresource=subresource)
        fill_printed(*self._named, obj)
        if subresource != "binding" and bumps_generation(self.strategy, self.served.node.definition, obj, live):
            metadata = obj["metadata"]
            metadata["generation"] = metadata.get("generation", 0) + 1

    def validate_create(self, obj: dict[str, Any]) -> list[FieldError]:
        """What is wrong with a new object."""
        if self._is_crd:
            # Messages tell an empty list of versions as one, and not as the null that would be stored.
            obj["spec"]["versions"] = obj["spec"].get("versions") or []
            return crd_errors(obj)
        return list(validate_create(*self._named, obj))

    def validate_update(self, obj: dict[str, Any], live: dict[str, Any], subresource: str) -> list[FieldError]:
        """What is wrong with a change."""
        if self._is_crd:
            return crd_status_errors(obj, live) if subresource else crd_errors(obj, live)
        if subresource:
            return list(validate_subresource_update(*self._named, subresource, obj, live))
        return list(validate_update(*self._named, obj, live))

    def begin_deletion(self, obj: dict[str, Any], now: str) -> bool:
        """A CRD waits for its objects, a namespace for its content; both say so."""
        metadata = obj["metadata"]
        if self._is_crd:
            metadata["finalizers"] = list(dict.fromkeys([*metadata.get("finalizers", ()), CLEANUP]))
            obj["status"] = terminating(obj, "InstanceDeletionPending", now)
        elif self._is_namespace and obj["spec"].get("finalizers"):
            obj["status"]["phase"] = "Terminating"
        else:
            return False
        metadata.setdefault("deletionTimestamp", now)
        return True

    def warnings(self, obj: dict[str, Any], live: dict[str, Any] | None) -> list[str]:
        """What clients should be told of an object that is accepted."""
        return crd_warnings(obj, live) if self._is_crd else []

    @contextmanager
    def allocating(self, obj: dict[str, Any], live: dict[str, Any] | None, call: Any) -> Iterator[None]:
        """Give a Service its addresses and node ports; they are free again if it is not stored."""
        if not self._is_service or call.address.subresource:
            yield
            return
        allocation = allocate_service(obj, live, call.engine.addresses, is_dry_run=call.is_dry_run)
        try:
            yield
        except BaseException:
            allocation.revert()
            raise
        allocation.commit()

    def forget(self, obj: dict[str, Any], call: Any) -> None:
        """Free the addresses of a Service that is gone."""
        if self._is_service:
            call.engine.addresses.release(obj)

    def grace_for(self, obj: dict[str, Any], wanted: int | None) -> int | None:
        """The seconds that a pod is given to end: none if it runs nowhere or has ended."""
        spec, phase = obj.get("spec", {}), obj.get("status", {}).get("phase")
        seconds: int = wanted if wanted is not None else spec.get("terminationGracePeriodSeconds", _GRACE)
        if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
            seconds = 0
        return max(0, seconds)

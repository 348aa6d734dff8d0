"""How the objects of built-in kinds behave: Go's types, kube-apiserver's defaults, strategies and rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

from kubewright_apiserver.body import Body
from kubewright_apiserver.conversion import converted
from kubewright_apiserver.defaulting import allocate_service, default, fill_printed, prepare_create, prepare_update
from kubewright_apiserver.patch import Versions, described
from kubewright_apiserver.registry.behaviour import Behaviour, Request
from kubewright_apiserver.registry.builtin import definition_of
from kubewright_apiserver.registry.crd import (
    crd_errors,
    crd_status_errors,
    crd_warnings,
    default_crd,
    prepare_crd_create,
    prepare_crd_update,
)
from kubewright_apiserver.registry.crd_names import CLEANUP, terminating
from kubewright_apiserver.registry.deprecation import deprecation_of
from kubewright_apiserver.registry.ip_addresses import follow_service
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
from kubewright_apiserver.status import FieldError, internal_error
from kubewright_apiserver.validation import (
    Strategy,
    bumps_generation,
    object_warnings,
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
        group, version = served.storage_group, served.storage_version
        self._stored = f"{group}/{version}" if group else version
        # Rules are told in the stored version; an Event has some for each of its groups.
        self._ruled = self._named if served.kind == "Event" else (group, version, served.kind)
        self._is_service = (served.group, served.kind) == ("", "Service")
        self.has_consequences: bool = self._is_service
        self._is_namespace = (served.group, served.kind) == ("", "Namespace")
        self._is_crd = (served.group, served.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")

    def decode(self, body: Body, request: Request) -> dict[str, Any]:
        """The object in a body."""
        decoded = decode(body, self.served.node, self._identity)
        if decoded.strict and request.field_validation == "Strict":
            raise refuse_strictly(self._identity, decoded.strict)
        if decoded.strict and request.field_validation == "Warn":
            request.warnings += warnings_of(decoded.strict)
        return _with_wipe(self._defaulted(decoded.value), body.value)

    def decode_patched(self, document: dict[str, Any], request: Request, is_strategic: bool = False) -> Decoded:
        """The object that a patch made, and what strict clients want to hear of it."""
        if is_strategic:
            decoded = normalise_leniently(document, self.served.node)
        else:
            decoded = decode_patched(document, self.served.node, self._identity)
        return Decoded(_with_wipe(self._defaulted(decoded.value), document), decoded.strict)

    def finished(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object that an apply made."""
        try:
            return self._defaulted(normalise_leniently(document, self.served.node).value)
        except Undecodable as error:
            group, version, kind = self._named
            to = f"to proper version: unable to convert unstructured object to {group}/{version}, Kind={kind}"
            raise internal_error(f"failed to convert new object ({described(document)}) {to}: {error}") from None

    def _defaulted(self, value: dict[str, Any]) -> dict[str, Any]:
        obj = {"kind": self.served.kind, "apiVersion": self.served.api_version, **value}
        obj["kind"], obj["apiVersion"] = self.served.kind, self.served.api_version
        metadata = obj.get("metadata")
        obj["metadata"] = metadata if metadata is not None else {}
        if self._is_crd:
            default_crd(obj)
        else:
            default(*self._named, obj)
        fill_printed(*self._named, obj, keeps_empty=True)
        return obj

    @cached_property
    def versions(self) -> Versions:
        """The versions of the kind that have a type; managers who wrote in others are forgotten."""
        return Versions(node=self._node, convert=self._convert)

    def _convert(self, obj: dict[str, Any], api_version: str) -> dict[str, Any] | None:
        node = self._node(api_version)
        return None if node is None else normalise(converted(obj, api_version), node)

    @property
    def reset_versions(self) -> tuple[str, ...]:
        """What an endpoint resets it resets in all versions."""
        return (self.served.api_version, self._stored)

    def _node(self, api_version: str) -> Node | None:
        group, _, version = api_version.rpartition("/")
        if group != self.served.group:
            return None
        try:
            return node_of_builtin(definition_of(group, version, self.served.kind))
        except KeyError:
            return None

    def from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object at this version."""
        if self.is_stored_as_served:
            return obj
        return self._written(converted(obj, self.served.api_version), self.served.node)

    def internal(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version in the one that rules are told in; its metadata may be another one then."""
        if self._ruled == self._named:
            return obj
        seen = converted(obj, self._stored)
        return {**seen, "metadata": dict(seen["metadata"])}

    def viewed(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it would be answered in it, for those who own its fields."""
        if self._ruled == self._named:
            return obj
        return self._written(converted(self.internal(obj), self.served.api_version), self.served.node)

    def internal_from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object as rules know it."""
        return self.from_storage(obj) if self._ruled == self._named else obj

    def to_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object that strategies are done with as it is stored: normalised, with Kubernetes' order of fields."""
        if self.is_stored_as_served:
            fill_printed(*self._named, obj)
            return self._written(obj, self.served.node)
        named = (self.served.storage_group, self.served.storage_version, self.served.kind)
        stored = converted(obj, self._stored)
        default(*named, stored)
        fill_printed(*named, stored)
        return self._written(stored, node_of_builtin(definition_of(*named)))

    def _written(self, obj: dict[str, Any], node: Node) -> dict[str, Any]:
        value = normalise(obj, node)
        named = {"kind": value.pop("kind", self.served.kind), "apiVersion": value.pop("apiVersion", "")}
        return {**named, **value}

    def prepare_create(self, obj: dict[str, Any], call: Any) -> None:
        """Do to a new object what its strategy does."""
        if self._is_crd:
            prepare_crd_create(obj)
        else:
            prepare_create(*self._ruled, obj, call.context())
        fill_printed(*self._ruled, obj)

    def prepare_update(self, obj: dict[str, Any], live: dict[str, Any], call: Any) -> None:
        """Do to a changed object what its strategy does, and move its generation on."""
        subresource = call.address.subresource
        if self._is_crd and not subresource:
            prepare_crd_update(obj, live)
        elif self._is_crd:
            obj["spec"] = live["spec"]
        else:
            prepare_update(*self._ruled, obj, live, call.context(), subresource=subresource)
        fill_printed(*self._ruled, obj)
        if subresource in ("binding", "status"):
            return
        if bumps_generation(self.strategy, self.served.node.definition, obj, live):
            metadata = obj["metadata"]
            metadata["generation"] = metadata.get("generation", 0) + 1

    def validate_create(self, obj: dict[str, Any]) -> list[FieldError]:
        """What is wrong with a new object."""
        if self._is_crd:
            # Messages tell an empty list of versions as one, and not as the null that would be stored.
            obj["spec"]["versions"] = obj["spec"].get("versions") or []
            return crd_errors(obj)
        return list(validate_create(*self._ruled, obj))

    def validate_update(self, obj: dict[str, Any], live: dict[str, Any], subresource: str) -> list[FieldError]:
        """What is wrong with a change."""
        if self._is_crd:
            obj["spec"]["versions"] = obj["spec"].get("versions") or []
            return crd_status_errors(obj, live) if subresource else crd_errors(obj, live)
        if subresource:
            return list(validate_subresource_update(*self._ruled, subresource, obj, live))
        return list(validate_update(*self._ruled, obj, live))

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

    def warnings(self, obj: dict[str, Any], live: dict[str, Any] | None, subresource: str = "") -> list[str]:
        """What clients should be told of an object that is accepted."""
        if self._is_crd:
            return [] if subresource else crd_warnings(obj, live)
        return object_warnings(self.served.group, self.served.kind, obj, live, subresource)

    @cached_property
    def deprecations(self) -> list[str]:
        """That this version of the kind will go, or that there is something better."""
        told = deprecation_of(self.served.api_version, self.served.kind)
        return [told] if told else []

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

    async def follow(self, obj: dict[str, Any] | None, live: dict[str, Any] | None, call: Any) -> None:
        """Let the IPAddresses of a Service come and go with it."""
        engine = call.engine
        await follow_service(engine.store, obj, live, now=engine.timestamp(), new_uid=engine.new_uid)

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


def _with_wipe(obj: dict[str, Any], sent: Any) -> dict[str, Any]:
    """The object with the empty list of managers that was sent with it, which asks to forget who owns what."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    if isinstance(metadata, dict) and metadata.get("managedFields") == []:
        obj["metadata"]["managedFields"] = []
    return obj

"""``CustomVersion``: one version of a custom resource, made from its CRD; and ``served_of``, all that a CRD serves."""

from __future__ import annotations

import base64
import hashlib
from functools import cached_property
from typing import Any, Final

from kubewright_apiserver.registry.crd import embedded_metadata_errors
from kubewright_apiserver.registry.crd_names import is_true
from kubewright_apiserver.registry.published import published_schema
from kubewright_apiserver.registry.registry import version_priority
from kubewright_apiserver.registry.scale import scale_spec_errors, scale_status_errors
from kubewright_apiserver.registry.served import Served, Subresource
from kubewright_apiserver.schema.compiled import CompiledSchema
from kubewright_apiserver.schema.node import Node
from kubewright_apiserver.schema.rules import has_rules
from kubewright_apiserver.status import FieldError, invalid_field
from kubewright_apiserver.validation.metadata import generic_metadata, generic_update
from kubewright_apiserver.validation.names import dns_subdomain

__all__ = ["CustomVersion", "custom_version", "served_of"]

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_LAST_VERBS: Final = ("delete", "deletecollection", "get", "list", "watch")
_PART_VERBS: Final = ("get", "patch", "update")
_AGE: Final = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
# Errors that keep the server from evaluating rules: a rule could not rely on the value's shape.
_BLOCKING: Final = frozenset(("Unsupported value", "Required value", "Too long", "Too many"))
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete"
    " validation"
)


class CustomVersion:
    """How the objects of one version of a CRD are read, filled in and checked."""

    def __init__(self, crd: dict[str, Any], version: dict[str, Any]) -> None:
        self.crd: dict[str, Any] = crd
        self.name: str = version["name"]
        self.version: dict[str, Any] = version
        schema: dict[str, Any] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.schema: CompiledSchema = CompiledSchema(schema, metadata_rule=embedded_metadata_errors)
        subresources: dict[str, Any] = version.get("subresources") or {}
        self.has_status: bool = subresources.get("status") is not None
        self.scale: dict[str, Any] | None = subresources.get("scale")
        """The paths of ``subresources.scale``, or None if it cannot be scaled."""
        self._is_namespaced: bool = crd["spec"]["scope"] == "Namespaced"
        self._has_rules = has_rules(schema)

    @property
    def columns(self) -> list[dict[str, Any]]:
        """The printer columns; the age alone if the CRD names none."""
        return self.version.get("additionalPrinterColumns") or [_AGE]

    @cached_property
    def selectable_fields(self) -> tuple[str, ...]:
        """The names by which field selectors call the fields that the CRD lets be selected."""
        fields = self.version.get("selectableFields") or ()
        return tuple(field["jsonPath"].removeprefix(".") for field in fields)

    @cached_property
    def deprecation_warning(self) -> str:
        """What clients of this version are told; empty if it is not deprecated."""
        if not self.version.get("deprecated"):
            return ""
        told: str | None = self.version.get("deprecationWarning")
        return _deprecation(self.crd["spec"], self.name) if told is None else told

    def create_errors(self, obj: dict[str, Any]) -> list[FieldError]:
        """All that is wrong with a new object."""
        errors = generic_metadata(obj, self._is_namespaced, dns_subdomain)
        errors += self.schema.validate(obj)
        errors += scale_spec_errors(obj, self.scale) + scale_status_errors(obj, self.scale)
        errors += self.schema.embedded_errors(obj) + self.schema.list_errors(obj)
        return errors + self._rule_errors(obj, None, errors)

    def update_errors(self, obj: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
        """All that is wrong with an object that is written over an old one."""
        errors = generic_update(obj, old)
        errors += self.schema.validate(obj, old)
        errors += scale_spec_errors(obj, self.scale) + scale_status_errors(obj, self.scale)
        errors += self.schema.embedded_errors(obj) + self.schema.list_errors(obj, old)
        return errors + self._rule_errors(obj, old, errors)

    def status_errors(self, obj: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
        """All that is wrong with an object whose status is written over that of an old one."""
        errors = generic_update(obj, old)
        errors += self.schema.validate_status(obj, old)
        errors += scale_status_errors(obj, self.scale)
        errors += self.schema.list_errors(obj, old)
        return errors + self._rule_errors(obj, old, errors)

    def _rule_errors(
        self, obj: dict[str, Any], old: dict[str, Any] | None, errors: list[FieldError]
    ) -> list[FieldError]:
        """What rules say of the object; they are not evaluated yet, but for when they could not be."""
        if self._has_rules and any(error.kind in _BLOCKING or error.is_type_error for error in errors):
            return [invalid_field("<nil>", None, _NOT_CHECKED)]
        return []


def custom_version(crd: dict[str, Any], name: str) -> CustomVersion:
    """The version of a CRD by its name, served or only stored."""
    return CustomVersion(crd, next(version for version in crd["spec"]["versions"] if version["name"] == name))


def _deprecation(spec: dict[str, Any], name: str) -> str:
    kind = spec["names"]["kind"]
    message = f"{spec['group']}/{name} {kind} is deprecated"
    newer = [
        version["name"]
        for version in spec["versions"]
        if version.get("served") and not version.get("deprecated") and _is_newer(version["name"], name)
    ]
    return f"{message}; use {spec['group']}/{min(newer, key=version_priority)} {kind}" if newer else message


def _is_newer(version: str, than: str) -> bool:
    return version_priority(version) < version_priority(than)


def served_of(crd: dict[str, Any]) -> list[Served]:
    """The resources that a CRD serves, one for each served version; none before its names are accepted."""
    if not is_true(crd, "Established"):
        return []
    return [_served(crd, version) for version in crd["spec"]["versions"] if version.get("served")]


def _served(crd: dict[str, Any], version: dict[str, Any]) -> Served:
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    stored = next((one for one in spec["versions"] if one.get("storage")), version)
    return Served(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        singular=names.get("singular", ""),
        kind=names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        verbs=_LAST_VERBS if is_true(crd, "Terminating") else _VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(spec, names["kind"], version),
        storage_version_hash=_version_hash(spec, stored) if stored.get("served") else "",
        node=Node(published_schema(crd, version)),
        storage_group=spec["group"],
        storage_version=stored["name"],
        crd=crd,
    )


def _subresources(spec: dict[str, Any], kind: str, version: dict[str, Any]) -> dict[str, Subresource]:
    declared: dict[str, Any] = version.get("subresources") or {}
    found: dict[str, Subresource] = {}
    if declared.get("status") is not None:
        found["status"] = Subresource(
            name="status", group=spec["group"], version=version["name"], kind=kind, verbs=_PART_VERBS
        )
    if declared.get("scale") is not None:
        found["scale"] = Subresource(name="scale", group="autoscaling", version="v1", kind="Scale", verbs=_PART_VERBS)
    return found


def _version_hash(spec: dict[str, Any], version: dict[str, Any]) -> str:
    text = f"{spec['group']}/{version['name']}/{spec['names']['kind']}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()

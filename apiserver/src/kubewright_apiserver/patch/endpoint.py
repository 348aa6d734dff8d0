"""``Endpoint``: what apply must know of the place that a request went to: type, versions, and fields it resets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubewright_apiserver.patch.fieldset import EMPTY, FieldSet
from kubewright_apiserver.patch.managers import Identity
from kubewright_apiserver.patch.shape import Shape, shape_of, zero_of
from kubewright_apiserver.patch.typed import TypedError
from kubewright_apiserver.schema.node import Node

__all__ = ["Endpoint", "Versions"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Versions:
    """The versions that an object can be seen in.

    Both functions give None for a version that is not known: a manager who wrote in it is forgotten. They may raise
    ``TypedError`` instead, as the server does for a version that a CustomResourceDefinition does not list.
    """

    node: Callable[[str], Node | None]
    """The type of the object in an ``apiVersion``."""
    convert: Callable[[dict[str, Any], str], dict[str, Any] | None]
    """A copy of the object in an ``apiVersion`` other than its own. Parts of it may be null or missing."""

    def shape(self, api_version: str) -> Shape | None:
        """The shape of the object in a version."""
        node = self.node(api_version)
        return None if node is None else shape_of(node)

    def seen(self, obj: dict[str, Any], api_version: str) -> dict[str, Any] | None:
        """The object in a version, which may be its own."""
        return obj if obj["apiVersion"] == api_version else self.convert(obj, api_version)


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A resource or subresource in one version; the same for all requests to it."""

    versions: Versions
    api_version: str
    """Of the objects that are written here; ``autoscaling/v1`` for ``scale``."""
    kind: str
    subresource: str = ""
    reset: Mapping[str, FieldSet] = field(default_factory=dict)
    """For each ``apiVersion`` the fields that cannot be written here: ``FieldSet.of_paths(("status",))`` for most."""
    is_custom_scale: bool = False
    """Whether this is the scale of a custom resource, to which the server fails to apply changes."""

    @property
    def node(self) -> Node:
        """The type of the objects that are written here."""
        node = self.versions.node(self.api_version)
        if node is None:
            group, _, version = self.api_version.rpartition("/")
            raise TypedError(f"no corresponding type for {group}/{version}, Kind={self.kind}")
        return node

    @property
    def shape(self) -> Shape:
        """The shape of the objects that are written here."""
        return shape_of(self.node)

    @property
    def is_builtin(self) -> bool:
        """Whether Go decodes the objects, so that they fit their type anyway."""
        return bool(self.node.definition)

    def new(self) -> dict[str, Any]:
        """An object that nobody has filled in."""
        return {"apiVersion": self.api_version, "kind": self.kind, **zero_of(self.node)}

    def writable(self, fields: FieldSet) -> FieldSet:
        """What of the fields may be written here."""
        return fields.recursive_difference(self.reset.get(self.api_version, EMPTY))

    def identity(self, manager: str, operation: str) -> Identity:
        """Who a manager is here."""
        version = self.api_version if operation == "Update" else ""
        return Identity(manager or "unknown", operation, version, self.subresource)

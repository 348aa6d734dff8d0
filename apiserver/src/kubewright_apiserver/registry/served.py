"""``Served``: one resource at one version, as discovery lists it and requests address it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from kubewright_apiserver.schema.node import Node

__all__ = ["Served", "Subresource"]


class Subresource(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an object with an address of its own: ``status``, ``scale``, ``eviction``."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]


class Served(msgspec.Struct, kw_only=True, dict=True, eq=False):
    """A resource at one version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: dict[str, Subresource] = {}
    storage_version_hash: str = ""
    node: Node
    """The type of its objects."""
    storage_group: str = ""
    """Group and version that its objects are stored at, if not its own."""
    storage_version: str = ""
    crd: dict[str, Any] | None = None
    """The CustomResourceDefinition that it comes from, or None for what is built in."""

    @cached_property
    def api_version(self) -> str:
        """``group/version``, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def list_kind(self) -> str:
        """The kind of a list of its objects."""
        names = self.crd["spec"]["names"] if self.crd else {}
        listed: str = names.get("listKind") or f"{self.kind}List"
        return listed

    @cached_property
    def group_resource(self) -> str:
        """``plural.group``, as messages say it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

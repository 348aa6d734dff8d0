"""How a client asks: who writes, how strictly, for how long, as whom. And the kinds of patches it sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final, Literal

import msgspec

from kubewright.config import Impersonation

__all__ = ["ALL_NAMESPACES", "JsonPatch", "MergePatch", "Options", "Patch", "Propagation", "StrategicPatch"]

ALL_NAMESPACES: Final = "*"
"""As a namespace: all of them."""

Propagation = Literal["Background", "Foreground", "Orphan"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What every call of a client has in common; ``Client.using`` gives a view with others."""

    field_manager: str = "kubewright"
    """Who is told to own the fields that are written."""
    field_validation: Literal["Strict", "Warn", "Ignore"] = "Strict"
    """What the server does with unknown and duplicate fields."""
    dry_run: bool = False
    """Whether writes are only tried: validated and answered, but not stored."""
    timeout: timedelta = timedelta(seconds=30)
    """How long a call may take, each try of it; a stream: until it begins."""
    impersonate: Impersonation | None = None
    """As whom to act, if not as oneself."""

    def write_query(self) -> dict[str, str]:
        """Query parameters of every write."""
        query = {"fieldManager": self.field_manager, "fieldValidation": self.field_validation}
        if self.dry_run:
            query["dryRun"] = "All"
        return query


class Patch(msgspec.Struct, frozen=True):
    """A change to an object as it is on the server; one of the three kinds below."""

    body: Any

    content_type: ClassVar[str]


class MergePatch(Patch, frozen=True):
    """RFC 7386: a document whose values replace the object's, null removes."""

    body: Mapping[str, Any]
    content_type: ClassVar[str] = "application/merge-patch+json"


class StrategicPatch(Patch, frozen=True):
    """Kubernetes' own: like a merge patch, but lists merge by key. Built-in kinds only."""

    body: Mapping[str, Any]
    content_type: ClassVar[str] = "application/strategic-merge-patch+json"


class JsonPatch(Patch, frozen=True):
    """RFC 6902: a list of operations."""

    body: Sequence[Mapping[str, Any]]
    content_type: ClassVar[str] = "application/json-patch+json"

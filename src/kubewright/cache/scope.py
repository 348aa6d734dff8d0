"""``Scope``: which objects of a kind are watched, and how they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from kubewright.api import FieldSelector, LabelSelector, MetadataOnly, Resource
from kubewright.cache.entry import Entry, Intake, Transform

__all__ = ["Scope"]


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What ``Cache.watch`` was asked for. Two scopes are equal if they watch the same and keep it in the same way."""

    namespaces: tuple[str, ...] | None = None
    """None: all namespaces, or a kind that has none."""
    labels: str = ""
    fields: str = ""
    shard_selector: str = ""
    transform: Transform | None = None
    keep_managed_fields: bool | str = False
    resync: timedelta | None = None
    relist: timedelta | None = None

    def intake(self, kind: type[Resource]) -> Intake:
        """What makes entries of the kind's objects."""
        return Intake(
            kind.__name__,
            keep_managed_fields=self.keep_managed_fields,
            transform=self.transform,
            metadata_only=issubclass(kind, MetadataOnly),
        )

    def query(self) -> dict[str, Any]:
        """Selectors as ``Client.list`` and ``Client.watch`` take them."""
        chosen = {"labels": self.labels, "fields": self.fields, "shard_selector": self.shard_selector}
        return {name: text for name, text in chosen.items() if text}

    def chooses(self, entry: Entry, raw: bytes) -> bool:
        """Whether the selectors choose an object, as far as that can be known here: shards are the server's matter."""
        if self.labels and not LabelSelector.parse(self.labels).matches(entry.labels):
            return False
        return not self.fields or _chooses(FieldSelector.parse(self.fields), msgspec.json.decode(raw))

    def difference(self, other: Scope) -> str:
        """In which options two scopes differ, in words."""
        differing = [name for name in self.__struct_fields__ if getattr(self, name) != getattr(other, name)]
        return "; ".join(f"{name}: {getattr(self, name)!r}, now {getattr(other, name)!r}" for name in differing)


def _chooses(selector: FieldSelector, document: Mapping[str, Any]) -> bool:
    return selector.matches({term.field: _text(document, term.field, term.value) for term in selector.terms})


def _text(document: Any, path: str, wanted: str) -> str:
    """A field as selectors see it: as text, empty or ``false`` if it is absent."""
    for name in path.split("."):
        document = document.get(name) if isinstance(document, Mapping) else None
    if document is None:
        return "false" if wanted in ("true", "false") else ""
    return str(document).lower() if isinstance(document, bool) else str(document)

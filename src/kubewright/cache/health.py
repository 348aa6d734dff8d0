"""How an informer is: what readiness and people ask."""

from __future__ import annotations

from datetime import datetime

import msgspec

__all__ = ["InformerHealth", "InformerStatistics", "ReflectorHealth"]


class ReflectorHealth(msgspec.Struct, kw_only=True):
    """How the watch of one namespace, or of all, is."""

    namespace: str | None = None
    """None: all namespaces, or a kind that has none."""
    synced: bool = False
    """Whether all objects were seen once."""
    watching: bool = False
    """Whether a watch is open now."""
    last_event_at: datetime | None = None
    """When the server last sent anything, bookmarks included."""
    failures: int = 0
    """How many tries in a row brought nothing."""
    error: str = ""
    """Why it is not watching; empty if it is."""


class InformerHealth(msgspec.Struct, kw_only=True, frozen=True):
    """How an informer is: the worst of its watches, and each of them."""

    resource: str
    """Plural and group, as ``deployments.apps``."""
    synced: bool
    """Whether handlers were told of everything that was there at the start."""
    watching: bool
    last_event_at: datetime | None
    """When the watch that has heard nothing for the longest time last heard something."""
    failures: int
    drift: int
    """How many objects a periodic relist found other than the watch had told."""
    undecodable: int
    """How many objects did not fit their type, or could not be transformed."""
    error: str
    reflectors: tuple[ReflectorHealth, ...]


class InformerStatistics(msgspec.Struct, kw_only=True, frozen=True):
    """What an informer holds."""

    resource: str
    objects: int
    bytes: int
    """Of JSON, without the metadata beside it."""
    written: int
    """Own writes that the watch has not reached yet."""
    handlers: int

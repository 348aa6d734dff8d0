"""``Context``: what a strategy knows of a request beside the object: when, and who."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

__all__ = ["Context"]


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A request as strategies see it."""

    now: str
    """The time in whole seconds, as objects are stamped."""
    username: str = ""
    user_uid: str = ""
    groups: Sequence[str] = ()
    extra: Mapping[str, Sequence[str]] = {}
    new_uid: Callable[[], str]
    """A fresh uid; the name of a LimitRange that came without one."""
    warnings: list[str] = []
    """What the client is told; strategies add to it."""

"""``Key``: which object of a kind is meant."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Key"]


class Key(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds.

    >>> str(Key("default", "web")), str(Key("", "node-1"))
    ('default/web', 'node-1')
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

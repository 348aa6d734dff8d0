"""Owners that are known not to be there: a uid does not come back, so once is enough to have asked."""

from __future__ import annotations

from typing import Final

from kubewright.controlplane.garbage_collector.node import Identity

__all__ = ["AbsentOwners"]

_MOST: Final = 500


class AbsentOwners:
    """The identities that were found absent last, at most so many."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: dict[Identity, None] = {}

    def add(self, identity: Identity) -> None:
        """Remember that there is no such object."""
        self._known.pop(identity, None)
        self._known[identity] = None
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def discard(self, identity: Identity) -> None:
        """Forget it: the object is there after all, for example because the server was set back to an earlier time."""
        self._known.pop(identity, None)

    def __contains__(self, identity: object) -> bool:
        if identity not in self._known:
            return False
        assert isinstance(identity, Identity)
        self.add(identity)
        return True

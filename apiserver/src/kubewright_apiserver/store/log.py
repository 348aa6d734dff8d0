"""``Log``: what a durable store needs of its write-ahead log; `SqliteLog` is the one that comes along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kubewright_apiserver.store.row import Row

__all__ = ["Log", "Stored"]


class Stored(NamedTuple):
    """What a log holds when it is opened."""

    rev: int
    """The last revision."""
    floor: int
    """The revision at which the history begins: of older ones only the newest row per object is there."""
    rows: Sequence[Row]
    """In order of revision, each linked to the row before under its key."""


class Log(Protocol):
    """A durable sequence of rows. After `read` it is used by one thread only, the writer's."""

    def read(self, history: int) -> Stored:
        """All objects, with the rows of about the last `history` revisions."""
        ...

    def append(self, rows: Sequence[Row]) -> None:
        """Return once the rows will survive the process; all of them or none.

        Raises: `NoRoom` if none is there and it may be called again; after any other error, nobody knows.
        """
        ...

    def compact(self, rev: int) -> bool:
        """Take one step towards forgetting what `rev` and later do not need; True if more steps are needed.

        Raises: `NoRoom` if the step was not taken and may be taken later.
        """
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...

"""Why the store says no; the verbs turn these into the Status bodies that clients see."""

from __future__ import annotations

from kubewright_apiserver.store.row import Row

__all__ = ["Closed", "Forgotten", "NoRoom", "Overrun", "Stale", "StoreFailed", "renewed"]


class Stale(Exception):
    """The write was made from another state than the newest one, which `current` holds: committed, or None."""

    def __init__(self, current: Row | None) -> None:
        super().__init__("nothing is there" if current is None else f"the newest revision is {current.rev}")
        self.current: Row | None = current


class Forgotten(Exception):
    """The asked-for revision was compacted or has left the watch window; `oldest` is the oldest that still works."""

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"revision {asked} is forgotten, the oldest is {oldest}")
        self.asked: int = asked
        self.oldest: int = oldest


class Overrun(Exception):
    """The watcher fell too far behind and was cut; it resumes from the last revision that it saw."""


class Closed(Exception):
    """The store, the table's watches or this watch came to an orderly end."""


class StoreFailed(Exception):
    """The log cannot be opened or written; the message names the file and the remedy, the cause is SQLite's."""


class NoRoom(StoreFailed):
    """The file cannot grow, so the write was not done: nothing else is lost, reads go on, later writes may succeed."""


def renewed(error: Closed | Overrun | StoreFailed) -> Closed | Overrun | StoreFailed:
    """The same error once more: one instance raised for ever would gather every caller's traceback."""
    fresh = type(error)(*error.args)
    fresh.__cause__ = error.__cause__
    return fresh

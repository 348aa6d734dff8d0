"""``Work``: what a worker is handed, with the reasons why."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

import msgspec

from kubewright.errors import KubewrightError

__all__ = ["LOW", "MOST_REASONS", "QueueClosed", "Work"]

K = TypeVar("K", bound=Hashable)

LOW: Final = -100
"""The priority of what can wait: the initial list and resyncs. A live change has 0; higher is sooner."""

MOST_REASONS: Final = 10
"""How many different reasons a piece of work lists; further ones are counted."""


class QueueClosed(KubewrightError):
    """The queue was closed and has nothing left to hand out: the worker's end."""


class Work(msgspec.Struct, Generic[K], frozen=True):
    """A key to be worked on; ``Queue.done`` must follow."""

    key: K
    reasons: tuple[str, ...]
    """Why, each reason once, in order of arrival."""
    more_reasons: int
    """How many additions gave a further reason that is not listed."""
    priority: int
    attempt: int
    """Failures so far; 0 for a key in good health."""
    queued_at: float
    """When the first of the merged additions came, by the loop's clock."""
    is_retry: bool
    """Whether the back-off's deadline is a cause of this run."""

"""What an exception means that ended a reconcile: which one decides, if a task group has wrapped several, and in words.

On the path of one change the worker asks here when the user's reconcile has raised.
"""

from __future__ import annotations

from kubewright.api import Resource
from kubewright.controller.standing import Failure
from kubewright.errors import Conflict, KubewrightError, LeadershipLost, NotFound, Terminal

__all__ = ["InvalidObject", "TimedOut", "decisive", "failure_of", "is_absence"]

_MOST_TOLD = 3


class InvalidObject(Terminal):
    """What ``validate`` found."""


class TimedOut(KubewrightError):
    """The reconcile took longer than its controller allows."""


def decisive(error: Exception) -> Exception:
    """The exception that decides what becomes of the key: of a group the only one, or what they have in common.

    Lost leadership decides whatever else failed with it. Conflicts decide if nothing else failed, and so does
    ``Terminal``; of others, the group itself.
    """
    leaves = _leaves(error)
    lost = next((leaf for leaf in leaves if isinstance(leaf, LeadershipLost)), None)
    if lost is not None:
        return lost
    for kind in (Conflict, Terminal):
        if all(isinstance(leaf, kind) for leaf in leaves):
            return leaves[0]
    return leaves[0] if len(leaves) == 1 else error


def failure_of(error: Exception) -> Failure:
    """What a failed reconcile says to people."""
    terminal = isinstance(error, Terminal)
    return Failure(_reason(error), _text(error), terminal)


def is_absence(error: Exception, obj: Resource) -> bool:
    """Whether the server said that this very object is not there: it was deleted while it was being reconciled."""
    if not isinstance(error, NotFound) or error.status.details is None:
        return False
    missing, resource = error.status.details, obj.api_resource
    return (missing.group, missing.kind, missing.name) == (resource.group, resource.plural, obj.name)


def _leaves(error: Exception) -> list[Exception]:
    if not isinstance(error, ExceptionGroup):
        return [error]
    return [leaf for part in error.exceptions for leaf in _leaves(part)]


def _text(error: Exception) -> str:
    if isinstance(error, Terminal | TimedOut):
        return f"{error}"
    leaves = _leaves(error)
    told = [f"{type(leaf).__name__}: {leaf}" for leaf in leaves[:_MOST_TOLD]]
    more = len(leaves) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")


def _reason(error: Exception) -> str:
    if isinstance(error, InvalidObject):
        return "Invalid"
    if isinstance(error, Terminal):
        return "ReconcileRefused"
    if isinstance(error, TimedOut):
        return "ReconcileTimedOut"
    return "ReconcileFailed"

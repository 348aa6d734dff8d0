"""What a task waits for, in words: for the errors of ``virtual_time``."""

from __future__ import annotations

import asyncio
import linecache
from collections.abc import Iterable
from types import FrameType
from typing import Any, Final

__all__ = ["described"]

_MOST_TASKS: Final = 20
_AWAITED: Final = ("cr_await", "ag_await", "gi_yieldfrom")
_FRAMES: Final = ("cr_frame", "ag_frame", "gi_frame")


def described(tasks: Iterable[asyncio.Task[Any]]) -> str:
    """The tasks by name, each with the lines at which it waits, the innermost last."""
    pending = list(tasks)
    shown = [_described(task) for task in pending[:_MOST_TASKS]]
    if len(pending) > _MOST_TASKS:
        shown.append(f"  … and {len(pending) - _MOST_TASKS} more")
    return "\n".join(shown)


def _described(task: asyncio.Task[Any]) -> str:
    where = [f"      {line}" for line in map(_line, _frames(task.get_coro()))]
    return "\n".join([f"  {task.get_name()}", *where])


def _frames(awaited: Any) -> list[FrameType]:
    """The frames of a suspended coroutine and of what it awaits, as far as Python lets one look."""
    frames = []
    while awaited is not None:
        frame = next(filter(None, (getattr(awaited, name, None) for name in _FRAMES)), None)
        if frame is None:
            break
        frames.append(frame)
        awaited = next(filter(None, (getattr(awaited, name, None) for name in _AWAITED)), None)
    return frames


def _line(frame: FrameType) -> str:
    code = frame.f_code
    source = linecache.getline(code.co_filename, frame.f_lineno).strip()
    return f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}: {source}"

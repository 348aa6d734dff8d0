"""Stray tasks: what a reconcile started and left behind is cancelled at its end.

A task factory around the loop's own one notes tasks that are started inside a reconcile. It is in place while a
controller runs, and only passes on what is started elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any

from kubewright.client import Request, Response, Send

__all__ = ["CancellingStrays", "noting_strays", "outside_round", "send_outside_round"]

_log = logging.getLogger("kubewright.controller")

_round: ContextVar[list[asyncio.Future[Any]] | None] = ContextVar("kubewright_round", default=None)


class _Factory:
    """Makes tasks as the factory before it did, and notes those of a reconcile."""

    def __init__(self, before: Any) -> None:
        self.before = before
        self.users = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **kwargs: Any) -> asyncio.Future[Any]:
        if self.before is None:
            task: asyncio.Future[Any] = asyncio.Task(work, loop=loop, **kwargs)
        else:
            task = self.before(loop, work, **kwargs)
        context: Context | None = kwargs.get("context")
        started = _round.get() if context is None else context.get(_round)
        if started is not None:
            started.append(task)
        return task


@contextmanager
def noting_strays() -> Iterator[None]:
    """Inside the block the running loop notes which tasks reconciles start."""
    loop = asyncio.get_running_loop()
    found = loop.get_task_factory()
    factory = found if isinstance(found, _Factory) else _Factory(found)
    loop.set_task_factory(factory)
    factory.users += 1
    try:
        yield
    finally:
        factory.users -= 1
        if factory.users == 0 and loop.get_task_factory() is factory:
            loop.set_task_factory(factory.before)


class CancellingStrays:
    """Cancel, at the end of the block, the tasks that were started in it and still run."""

    __slots__ = ("_started", "_token")

    def __init__(self) -> None:
        self._started: list[asyncio.Future[Any]] = []

    async def __aenter__(self) -> None:
        self._token = _round.set(self._started)

    async def __aexit__(self, *_: object) -> None:
        _round.reset(self._token)
        strays = [task for task in self._started if not task.done()]
        for task in strays:
            name = task.get_name() if isinstance(task, asyncio.Task) else repr(task)
            _log.warning("%s was still running at the end of its reconcile and is cancelled; see ctx.background", name)
            task.cancel()
        if strays:
            await asyncio.gather(*strays, return_exceptions=True)


async def send_outside_round(request: Request, send: Send) -> Response:
    """An interceptor: the tasks that a transport starts are its own, and may serve others too."""
    token = _round.set(None)
    try:
        return await send(request)
    finally:
        _round.reset(token)


def outside_round() -> Context:
    """A copy of the current context for a task that is meant to outlive the reconcile."""
    context = copy_context()
    context.run(_round.set, None)
    return context

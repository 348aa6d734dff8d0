"""Tests in virtual time: hours pass in milliseconds, and the same seed gives the same run.

``@virtual_time()`` makes a plain test function of an asynchronous one and runs it on a ``JumpingLoop``.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import math
import random
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, ParamSpec, TypeVar

from kubewright.api import using_clock
from kubewright.errors import KubewrightError
from kubewright.testing.jumping_loop import JumpingLoop
from kubewright.testing.pending import described
from kubewright.testing.trace import Trace

__all__ = ["LeakedTasks", "UnhandledErrors", "VirtualTime", "elapse", "run_virtual", "virtual_time", "wait_idle"]

P = ParamSpec("P")
T = TypeVar("T")

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LIMIT: Final = timedelta(days=30)
_SECONDS_TO_END: Final = 3600.0

_current: contextvars.ContextVar[VirtualTime] = contextvars.ContextVar("kubewright_virtual_time")


class LeakedTasks(KubewrightError):
    """A test ended while tasks that it had started went on; the message names them and says where they wait."""


class UnhandledErrors(KubewrightError):
    """Something failed in a task or callback and nobody looked at it; the first failure is the cause."""


class VirtualTime:
    """The time and the chance of a running test: ``VirtualTime.current()`` gives it.

    >>> @virtual_time(seed=7)
    ... async def test_an_hour() -> int:
    ...     await elapse(timedelta(hours=1))
    ...     return VirtualTime.current().now().hour
    >>> test_an_hour()
    1
    """

    def __init__(self, loop: JumpingLoop, seed: int, start: datetime) -> None:
        self.loop: JumpingLoop = loop
        self.seed: int = seed
        self.start: datetime = start
        """The date and time at which the test begins."""
        self.dice: random.Random = self.dice_of("test")
        """Chance for the test itself."""
        self.trace: Trace = Trace()

    @classmethod
    def current(cls) -> VirtualTime:
        """That of the test that is running; raises ``RuntimeError`` outside of virtual time."""
        found = _current.get(None)
        if found is None:
            raise RuntimeError("there is no virtual time here; put @virtual_time() on the test, or call run_virtual")
        return found

    def now(self) -> datetime:
        """The wall clock of the test; ``kubewright.api.now()`` reads it too, and ``ApiServer(clock=…)`` can."""
        return self.start + timedelta(seconds=self.loop.time())

    @property
    def elapsed(self) -> timedelta:
        """How much virtual time has passed."""
        return timedelta(seconds=self.loop.time())

    def dice_of(self, name: str) -> random.Random:
        """Chance for a part of the system, from the seed: what one part draws does not change what another gets."""
        return random.Random(f"{self.seed}/{name}")


async def elapse(duration: timedelta) -> None:
    """Let that much virtual time pass; everything due until then happens."""
    VirtualTime.current()
    await asyncio.sleep(duration.total_seconds())


async def wait_idle() -> None:
    """Return when all that can happen without time going on has happened."""
    await VirtualTime.current().loop.wait_idle()


def virtual_time(
    *, seed: int = 0, start: datetime = _START, limit: timedelta = _LIMIT, shuffle: bool = False
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, T]]:
    """A decorator that makes a plain test of an asynchronous one, run in virtual time; see ``run_virtual``.

    pytest's plain fixtures and hypothesis work with it, if it stands nearest to the function. Asynchronous fixtures
    belong to another loop: use ``async with`` in the test instead.
    """

    def decorate(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            return run_virtual(test(*args, **kwargs), seed=seed, start=start, limit=limit, shuffle=shuffle)

        return run

    return decorate


def run_virtual(
    main: Coroutine[Any, Any, T],
    *,
    seed: int = 0,
    start: datetime = _START,
    limit: timedelta = _LIMIT,
    shuffle: bool = False,
) -> T:
    """What the coroutine returns, run on a loop of its own whose time jumps from timer to timer.

    ``seed`` decides all chance, also that of the module ``random``; ``start`` is the date at the beginning; ``limit``
    is how much virtual time may pass; ``shuffle`` lets the seed choose which of the tasks that could run does so next.

    *Guarantees*: no real waiting; ``kubewright.api.now()`` follows the loop's time; the same seed gives the same run,
    so long as the program reads no other clock (``time.time()``), no other chance (``uuid.uuid4()``) and does not
    depend on the order of a set (``asyncio.as_completed`` of coroutines does). Afterwards nothing runs any more.

    *Raises* what the coroutine raises; ``Deadlock``, ``Livelock`` or ``TimeLimitPassed`` if it cannot come to an end;
    ``LeakedTasks`` and ``UnhandledErrors`` if it left something behind.
    """
    if _is_running():
        main.close()
        raise RuntimeError("virtual time needs a loop of its own: call run_virtual from plain code, not from a task")
    return contextvars.copy_context().run(_run, main, seed, start, limit, shuffle)


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run(main: Coroutine[Any, Any, T], seed: int, start: datetime, limit: timedelta, shuffle: bool) -> T:
    dice = random.Random(f"{seed}/schedule") if shuffle else None
    loop = JumpingLoop(limit=limit.total_seconds(), shuffle=dice)
    virtual = VirtualTime(loop, seed, start)
    _current.set(virtual)
    with using_clock(virtual.now), _seeded(seed), _collecting_on_schedule():
        try:
            return _Run(loop).complete(main)
        except BaseException as error:
            shuffled = ", shuffle=True" if shuffle else ""
            error.add_note(f"in virtual time, seed={seed}{shuffled}, after {virtual.elapsed}")
            raise
        finally:
            loop.close()


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The module ``random`` from the seed inside the block, for code that draws from it; as it was afterwards."""
    state = random.getstate()
    random.seed(f"{seed}/random")
    try:
        yield
    finally:
        random.setstate(state)


@contextmanager
def _collecting_on_schedule() -> Iterator[None]:
    """No garbage collection but the loop's own inside the block.

    A collection closes forgotten asynchronous generators, which is work for the loop; when Python starts one depends
    on everything that ran before in this process.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Run:
    """One coroutine from its start until nothing of it is left."""

    def __init__(self, loop: JumpingLoop) -> None:
        self._loop = loop
        self._unhandled: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: self._unhandled.append(context))

    def complete(self, main: Coroutine[Any, Any, T]) -> T:
        try:
            result = self._loop.run_until_complete(self._loop.create_task(main, name="test"))
            # Tasks that were told to end get the rounds that they need for it, but no time.
            self._loop.run_until_complete(self._loop.wait_idle())
        except BaseException as error:
            self._end_all()
            self._tell_unhandled(error)
            raise
        leaked = self._loop.pending
        text = described(leaked)
        self._end_all()
        self._raise_unhandled()
        if leaked:
            raise LeakedTasks(
                f"still running when the test ended ({len(leaked)}); await or cancel them before:\n{text}"
            )
        return result

    def _end_all(self) -> None:
        self._loop.limit = math.inf
        self._loop.release_all()
        try:
            self._loop.run_until_complete(self._cancel_others())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        except KubewrightError as error:
            self._unhandled.append({"message": "the end of the test did not come to an end", "exception": error})

    async def _cancel_others(self) -> None:
        others = [task for task in self._loop.pending if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        if others:
            _, stubborn = await asyncio.wait(others, timeout=_SECONDS_TO_END)
            if stubborn:
                text = described(task for task in others if task in stubborn)
                self._unhandled.append({"message": f"tasks did not end when they were cancelled:\n{text}"})

    def _collect_unretrieved(self) -> None:
        for task in self._loop.made:
            if task.done() and not task.cancelled() and _is_unseen(task):
                message = f"{task.get_name()} failed and nobody awaited it"
                self._unhandled.append({"message": message, "exception": task.exception()})

    def _raise_unhandled(self) -> None:
        self._collect_unretrieved()
        if self._unhandled:
            first = next((context["exception"] for context in self._unhandled if context.get("exception")), None)
            raise UnhandledErrors("\n".join(map(_told, self._unhandled))) from first

    def _tell_unhandled(self, error: BaseException) -> None:
        self._collect_unretrieved()
        for context in self._unhandled:
            error.add_note(f"unhandled as well: {_told(context)}")


def _is_unseen(task: Any) -> bool:
    return bool(task._log_traceback)


def _told(context: dict[str, Any]) -> str:
    error = context.get("exception")
    return f"{context.get('message')}: {type(error).__name__}: {error}" if error else str(context.get("message"))

"""``JumpingLoop``: an asyncio loop that never waits: when nothing is ready, its clock jumps to the next timer.

``virtual_time`` runs tests on it.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import selectors
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from kubewright.errors import KubewrightError
from kubewright.testing.pending import described

__all__ = ["HOME", "Deadlock", "JumpingLoop", "Livelock", "OutsideVirtualTime", "TimeLimitPassed"]

T = TypeVar("T")

HOME: Final[contextvars.ContextVar[object]] = contextvars.ContextVar("kubewright_home")
"""Whose work this is, where several programs share the loop."""

_MOST_ROUNDS: Final = 1_000_000
_COLLECT_EVERY: Final = 5_000
_COLLECT_ALL_EVERY: Final = 500_000
_OUTSIDE: Final = (
    "add_reader",
    "add_signal_handler",
    "add_writer",
    "connect_accepted_socket",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "getaddrinfo",
    "getnameinfo",
    "sendfile",
    "sock_accept",
    "sock_connect",
    "sock_recv",
    "sock_recv_into",
    "sock_recvfrom",
    "sock_recvfrom_into",
    "sock_sendall",
    "sock_sendfile",
    "sock_sendto",
    "start_tls",
    "subprocess_exec",
    "subprocess_shell",
)


class Deadlock(KubewrightError):
    """Nothing can run and no timer is set, so waiting would never end; the message says what every task waits for."""


class Livelock(KubewrightError):
    """Tasks run and run while time stands still; the message says where they are."""


class TimeLimitPassed(KubewrightError):
    """A test went on beyond its limit of virtual time; the message says what every task waits for."""


class OutsideVirtualTime(KubewrightError):
    """A socket, pipe, process or signal was asked for, which would have to be waited for in real time."""


class _NumberedTask(asyncio.Task[T]):
    """A task whose place in a set does not depend on its address: ``TaskGroup`` cancels in the order of one."""

    def __init__(self, coro: Any, *, number: int, **options: Any) -> None:
        # asyncio puts the task into a set while it is made.
        self._number = number
        self.home = (options.get("context") or contextvars.copy_context()).get(HOME)
        super().__init__(coro, **options)

    def __hash__(self) -> int:
        return self._number


class _Turns(selectors.SelectSelector):
    """A selector that waits for nothing, but lets the loop know that it is its turn to wait."""

    def __init__(self, turn: Callable[[float | None], None]) -> None:
        super().__init__()
        self._turn = turn

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._turn(timeout)
        return []


class JumpingLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose ``time()`` begins at 0.0 and jumps to the next timer whenever nothing is ready.

    *Guarantees*: no real waiting; the order of everything follows from the program and ``shuffle`` alone, so long as
    the program asks nothing outside. With ``shuffle``, tasks that could run next do so in an order that it chooses;
    plain callbacks keep their order, as asyncio promises.

    Functions given to an executor run at once, in the loop's own thread. *Raises* ``OutsideVirtualTime`` for sockets,
    pipes, processes and signals.
    """

    # Of asyncio.BaseEventLoop, the same in all versions of Python that we support.
    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, *, limit: float, shuffle: random.Random | None = None) -> None:
        self._now = 0.0
        self.limit: float = limit
        """How far time may go, in seconds."""
        self._shuffle = shuffle
        self._rounds = 0
        self._rounds_now = 0
        self._numbers = 0
        self._idlers: deque[asyncio.Future[None]] = deque()
        self._held: dict[object, list[asyncio.Handle]] = {}
        self._made: weakref.WeakValueDictionary[int, asyncio.Task[Any]] = weakref.WeakValueDictionary()
        super().__init__(_Turns(self._turn))
        self.set_task_factory(self._new_task)

    def time(self) -> float:
        """Seconds of virtual time since the loop was made."""
        return self._now

    @property
    def made(self) -> list[asyncio.Task[Any]]:
        """The tasks made on this loop that somebody still holds, in the order in which they were made."""
        return list(self._made.values())

    @property
    def pending(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not done, in the order in which they were made."""
        return [task for task in self.made if not task.done()]

    async def wait_idle(self) -> None:
        """Return when nothing but this could run without time going on."""
        waiter = self.create_future()
        self._idlers.append(waiter)
        await waiter

    def hold(self, home: object) -> None:
        """Let nothing run whose ``HOME`` this is, until ``release``; time goes on, and timers fire."""
        self._held.setdefault(home, [])

    def release(self, home: object) -> None:
        """Let what was held run again, in the order in which it would have run."""
        self._ready.extend(self._held.pop(home, ()))

    def release_all(self) -> None:
        """Let everything that was held run again."""
        for home in list(self._held):
            self.release(home)

    def pending_at(self, home: object) -> list[asyncio.Task[Any]]:
        """The tasks that are not done and whose ``HOME`` this is."""
        return [task for task in self.pending if isinstance(task, _NumberedTask) and task.home is home]

    def _turn(self, timeout: float | None) -> None:
        """Called once a round, when a loop waits for I/O: with 0 if something is ready, else until the next timer."""
        self._rounds += 1
        if self._rounds % _COLLECT_EVERY == 0:
            gc.collect(2 if self._rounds % _COLLECT_ALL_EVERY == 0 else 1)
        if timeout == 0:
            self._keep_moving()
        elif self._idlers:
            _wake(self._idlers.popleft())
        elif timeout is None:
            raise Deadlock(f"nothing can run and no timer is set after {self._now:.3f} s; {self._waiting()}")
        else:
            self._jump()

    def _keep_moving(self) -> None:
        self._rounds_now += 1
        if self._rounds_now > _MOST_ROUNDS:
            self._rounds_now = 0
            running = f"after {self._now:.3f} s, {_MOST_ROUNDS:,} rounds of the loop have not let any time pass"
            raise Livelock(f"{running}; {self._waiting()}")
        if self._held:
            self._set_aside()
        if self._shuffle is not None and len(self._ready) > 1:
            _reorder(self._ready, self._shuffle)

    def _jump(self) -> None:
        next_at = self._scheduled[0].when()
        if next_at > self.limit:
            raise TimeLimitPassed(
                f"the limit of {self.limit:.0f} s of virtual time is passed: the next timer is at {next_at:.3f} s; "
                f"if the test is right, give virtual_time a higher limit=; {self._waiting()}"
            )
        self._now = next_at
        self._rounds_now = 0

    def _set_aside(self) -> None:
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            self._held.get(_home_of(handle), self._ready).append(handle)

    def _waiting(self) -> str:
        paused = f"paused incarnations: {len(self._held)}; " if self._held else ""
        return f"{paused}the tasks that are left:\n{described(self.pending)}"

    def _new_task(self, loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
        self._numbers += 1
        name = options.pop("name", None) or f"task-{self._numbers}"
        task: asyncio.Task[Any] = _NumberedTask(coro, number=self._numbers, loop=loop, name=name, **options)
        self._made[self._numbers] = task
        return task

    def run_in_executor(self, executor: object, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override] # a future, as asyncio's own is
        """Run the function at once, in this thread; what it gives comes with the next round of the loop."""
        future: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:
            self.call_soon(_fail, future, error)
        else:
            self.call_soon(_finish, future, result)
        return future

    def _write_to_self(self) -> None:
        """Wake nobody: the loop never sleeps."""


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _finish(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _home_of(handle: Any) -> object:
    return handle._context.get(HOME)


def _reorder(ready: deque[asyncio.Handle], dice: random.Random) -> None:
    """Change places among the tasks that are to run; what is no task's step stays where it is."""
    places = [place for place, handle in enumerate(ready) if _is_step(handle)]
    steps = [ready[place] for place in places]
    dice.shuffle(steps)
    for place, step in zip(places, steps, strict=True):
        ready[place] = step


def _is_step(handle: Any) -> bool:
    return isinstance(getattr(handle._callback, "__self__", None), asyncio.Task)


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise OutsideVirtualTime(
            f"loop.{name}: virtual time would jump over what has to be waited for in real time; talk to an API server "
            "by InProcessTransport(server.handle) and ApiServer(listens=False), or take virtual_time off this test"
        )

    refuse.__name__ = name
    return refuse


for _name in _OUTSIDE:
    setattr(JumpingLoop, _name, _refusal(_name))

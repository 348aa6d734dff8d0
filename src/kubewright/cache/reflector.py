"""``Reflector``: brings one kind's objects, of one namespace or all, to a target: all of them first, then each change.

On the path of one change it stands between ``client/watch`` and the deltas.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import aclosing
from typing import Final, Generic, Protocol, TypeVar

from kubewright.api import Key, Resource, now
from kubewright.cache.entry import Entry, Intake, TransformFailed, is_older
from kubewright.cache.health import ReflectorHealth
from kubewright.cache.measures import Measures
from kubewright.cache.scope import Scope
from kubewright.client import ALL_NAMESPACES, Client, Listing, Watch, WatchEvent
from kubewright.errors import Forbidden, Gone, KubewrightError, NotServed, TransportError, Unauthorized, Undecodable

__all__ = ["Reflector", "Target"]

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("kubewright.cache")

_FIRST_WAIT: Final = 0.1
_FIRST_WAIT_REFUSED: Final = 1.0
_LONGEST_WAIT: Final = 30.0
_STEADY_AFTER: Final = 30.0
_AT_ONCE: Final = 1.0


class Target(Protocol):
    """Takes what a reflector brings. ``namespace`` is that of the reflector, None for all."""

    def knows(self, entry: Entry, *, deleted: bool) -> bool:
        """Whether just this was told already."""
        ...

    def tell_undecodable(self, error: Undecodable, entry: Entry | None) -> None:
        """An object could not be read."""
        ...

    async def replaced(self, entries: list[Entry], revision: str, namespace: str | None, *, lost: bool) -> None:
        """These are all objects at that revision; ``lost``: the server has lost what it said before."""
        ...

    async def changed(self, changes: list[tuple[Entry, bool]]) -> None:
        """These objects are so, or (True) gone."""
        ...

    def passed(self, revision: str, namespace: str | None) -> None:
        """Everything up to that revision was told."""
        ...


class HistoryLost(Exception):
    """The server is at an earlier revision than it was: it was restored, or another took its place."""


class Reflector(Generic[R]):
    """Watches until cancelled, whatever happens.

    *Guarantees*: the target is told all objects at once and then every change in order. A stream that breaks is
    resumed after the last revision; when the server has forgotten that, or has gone back behind it, all objects are
    told anew. Failures are logged once, shown in ``health``, and waited over, longer each time up to 30 s.

    ``written`` gives the highest revision of an own write that was not told yet, or nothing: the server must not be
    behind that either. ``on_lost`` is called when the server is found to have lost its history.
    """

    def __init__(  # noqa: PLR0913 # keywords only
        self,
        client: Client,
        kind: type[R],
        target: Target,
        *,
        namespace: str | None = None,
        scope: Scope | None = None,
        measures: Measures,
        dice: random.Random | None = None,
        written: Callable[[], str] = str,
        on_lost: Callable[[], object] = bool,
    ) -> None:
        self._client = client
        self._kind = kind
        self._target = target
        self._namespace = namespace
        self._scope = scope or Scope()
        self._measures = measures
        self._dice = dice or random.Random()
        self._written = written
        self._on_lost = on_lost
        self._trust: asyncio.Timeout | None = None
        self._intake: Intake = self._scope.intake(kind)
        self._failures = 0
        self._told: type[BaseException] | None = None
        self._lost = False
        self.revision: str = ""
        """Up to where everything was told; empty if all objects must be read anew."""
        self._highest = ""
        self.lists: int = 0
        """How often all objects were told."""
        self.buried: set[Key] | None = None
        """While somebody keeps a set here: the keys of what is told to be gone."""
        self.synced: asyncio.Event = asyncio.Event()
        """Set when the target was told all objects once."""
        self.health: ReflectorHealth = ReflectorHealth(namespace=namespace)

    async def run(self) -> None:
        """Bring everything to the target until cancelled."""
        try:
            while True:
                await self._try()
        finally:
            self.health.watching = False

    async def _try(self) -> None:
        """One stream, and the wait until the next if it failed."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        error: Exception | None = None
        try:
            async with asyncio.timeout(None) as self._trust:
                await self._follow()
        except Exception as found:
            is_distrusted = self._trust is not None and self._trust.expired()
            error = HistoryLost("the server has lost its history") if is_distrusted else found
        finally:
            self._trust = None
        lived = loop.time() - began
        if lived >= _STEADY_AFTER:
            self._failures = 0
        if error is None and lived < _AT_ONCE:
            error = TransportError("the server ends each watch at once")
        if error is not None:
            await asyncio.sleep(self._wait_after(error))

    def distrust(self) -> None:
        """Have all objects told anew, because another kind has shown that the server has lost its history."""
        if self.revision:
            self._lost = True
            self.revision = ""
            if self._trust is not None:
                self._trust.reschedule(asyncio.get_running_loop().time())

    async def _follow(self) -> None:
        """One stream, from its beginning to its end."""
        if self.revision:
            await self._check_history()
        initial: list[Entry] | None = None if self.revision else []
        self._measures.watches.inc()
        async with aclosing(self._watch().batches()) as batches:
            async for batch in batches:
                self._heard()
                initial = await self._take(batch, initial)
        if initial is not None:
            raise TransportError("the server ended the watch before it had told all objects")

    def _watch(self) -> Watch[R]:
        return self._client.watch(
            self._kind, namespace=self._place, resource_version=self.revision or None, **self._scope.query()
        )

    @property
    def _place(self) -> str:
        return ALL_NAMESPACES if self._namespace is None else self._namespace

    def listing(self, *, page_size: int = 500) -> Listing[R]:
        """A list of just what is watched."""
        return self._client.list(self._kind, namespace=self._place, page_size=page_size, **self._scope.query())

    def read(self, raw: bytes) -> Entry | None:
        """The entry of an object; one that cannot be read is told to the target."""
        try:
            return self._intake.read(raw)
        except TransformFailed as error:
            self._target.tell_undecodable(error, error.entry)
            return error.entry
        except Undecodable as error:
            self._target.tell_undecodable(error, None)
            return None

    async def _check_history(self) -> None:
        """Raise if the server is behind what it told us: a watch would wait until it is there again, and skip that."""
        written = self._written()
        known = written if is_older(self.revision, written) else self.revision
        async with aclosing(self._client.list(self._kind, namespace=self._place, page_size=1).raw_pages()) as pages:
            page = await anext(pages)
        if is_older(page.metadata.resource_version, known):
            raise HistoryLost(f"the server is at revision {page.metadata.resource_version}, and was at {known}")

    def _heard(self) -> None:
        moment = now()
        self._measures.heard(moment)
        self.health.last_event_at = moment
        if self.health.watching:
            return
        self.health.watching = True
        self.health.failures = 0
        self.health.error = ""
        if self._told is not None:
            _log.info("%s is watched again", self.name)
            self._told = None

    async def _take(self, batch: list[WatchEvent[R]], initial: list[Entry] | None) -> list[Entry] | None:
        """Hand on a batch; ``initial`` collects the objects that are there, until they are complete."""
        changes: list[tuple[Entry, bool]] = []
        for event in batch:
            if event.type == "BOOKMARK":
                await self._flush(changes)
                initial = await self._mark(event, initial)
                changes = []
            elif (entry := self.read(event.raw)) is None:
                continue
            elif initial is not None:
                initial.append(entry)
            elif self._is_news(entry, changes[-1][0].resource_version if changes else self.revision, event.type):
                changes.append((entry, event.type == "DELETED"))
        await self._flush(changes)
        return initial

    def _is_news(self, entry: Entry, last: str, type: str) -> bool:
        """Whether an event says something new; raises if it is from a past that we do not know."""
        if not is_older(last, entry.resource_version):
            if self._target.knows(entry, deleted=type == "DELETED"):
                return False
            if is_older(entry.resource_version, last):
                raise HistoryLost(f"an event of revision {entry.resource_version} came after one of {last}")
        if type == "DELETED" and self.buried is not None:
            self.buried.add(entry.key)
        return True

    async def _flush(self, changes: list[tuple[Entry, bool]]) -> None:
        if changes:
            self._measures.events.inc(len(changes))
            self.revision = self._highest = changes[-1][0].resource_version
            await self._target.changed(changes)

    async def _mark(self, bookmark: WatchEvent[R], initial: list[Entry] | None) -> list[Entry] | None:
        """A bookmark: the initial objects are complete, or the watch is as far as that revision."""
        revision = bookmark.resource_version
        if initial is None:
            if is_older(revision, self.revision):
                raise HistoryLost(f"a bookmark of revision {revision} came after {self.revision}")
            self._target.passed(revision, self._namespace)
            self.revision = self._highest = revision
            return None
        if not bookmark.synced:
            return initial
        await self._replace(initial, revision)
        return None

    async def _replace(self, entries: list[Entry], revision: str) -> None:
        if is_older(revision, self._highest):
            self._lose()
        self._measures.lists.inc()
        await self._target.replaced(entries, revision, self._namespace, lost=self._lost)
        self._lost = False
        self.lists += 1
        self.revision = self._highest = revision
        self.health.synced = True
        self.synced.set()
        self._target.passed(revision, self._namespace)

    def _lose(self) -> None:
        """Note that the server has lost its history; what tells it first tells the others."""
        if not self._lost:
            self._lost = True
            self._on_lost()

    def _wait_after(self, error: Exception) -> float:
        """Account for a failure, and give the seconds until the next try."""
        self._failures += 1
        if isinstance(error, HistoryLost | Gone | NotServed):
            self.revision = ""
        if isinstance(error, HistoryLost):
            self._lose()
        self.health.watching = False
        self.health.failures += 1
        self.health.error = f"{type(error).__name__}: {_explained(error)}"
        self._measures.failed(type(error).__name__)
        self._tell(error)
        first = _FIRST_WAIT_REFUSED if isinstance(error, Forbidden | NotServed | Unauthorized) else _FIRST_WAIT
        ceiling: float = min(first * 2 ** min(self._failures - 1, 16), _LONGEST_WAIT)
        return ceiling * self._dice.uniform(0.5, 1.0)

    @property
    def name(self) -> str:
        """What it watches, in words."""
        resource = self._kind.api_resource
        where = f" in namespace {self._namespace}" if self._namespace is not None else ""
        return f"{resource.kind} ({resource.api_version}){where}"

    def _tell(self, error: Exception) -> None:
        """Log a failure; the same again only for those who debug."""
        level = logging.DEBUG if type(error) is self._told else logging.WARNING
        if isinstance(error, Gone | HistoryLost):
            level = logging.INFO
        self._told = type(error)
        _log.log(
            level,
            "%s is not watched: %s; trying again",
            self.name,
            _explained(error),
            exc_info=None if _is_expected(error) else error,
        )


def _explained(error: Exception) -> str:
    if isinstance(error, Forbidden):
        return f"{error}. Watching needs the verbs list and watch: add them to the role"
    if isinstance(error, NotServed):
        return f"{error}; an operator started with --install-crds true does so itself"
    return str(error) or type(error).__name__


def _is_expected(error: Exception) -> bool:
    return isinstance(error, KubewrightError | HistoryLost)

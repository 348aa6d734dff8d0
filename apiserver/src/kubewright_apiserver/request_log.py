"""``RequestLog``: what a server was asked lately, for tests and people to read; ``app`` notes each request here.

It stands on the path of every request, so a record keeps what came in as it came and works out the rest when read.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final, overload

from kubewright_apiserver.path import Address, address_in, asks_to_watch

__all__ = ["Request", "RequestLog"]

_log = logging.getLogger("kubewright_apiserver.requests")
_MOST_RECORDS: Final = 10_000
# An address may have a million letters, and all records are kept.
_LONGEST: Final = 8_192
_HIDDEN: Final = "…"
# Values of any other parameter may be a secret: a token, or the command line of an exec.
_HARMLESS: Final = frozenset(
    (
        "allowWatchBookmarks",
        "dryRun",
        "fieldManager",
        "fieldSelector",
        "fieldValidation",
        "force",
        "gracePeriodSeconds",
        "labelSelector",
        "limit",
        "orphanDependents",
        "pretty",
        "propagationPolicy",
        "resourceVersion",
        "resourceVersionMatch",
        "sendInitialEvents",
        "timeout",
        "timeoutSeconds",
        "watch",
    )
)
_ON_ONE: Final = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_ON_ALL: Final = {**_ON_ONE, "GET": "list", "HEAD": "list", "DELETE": "deletecollection"}
_WRITES: Final = frozenset(("create", "update", "patch", "delete", "deletecollection"))


class Request:
    """One request: who asked what and when, and what the answer was. Nothing of its body or its credentials.

    ``str()`` is a line to read: ``12:00:00.123 200 PATCH /api/v1/namespaces/default/pods/a (kubectl) 1.3ms``.
    """

    __slots__ = ("_address", "_answered", "_raw", "method", "status", "time", "user", "user_agent")

    def __init__(self, time: datetime, method: str, target: str, user: str, user_agent: str) -> None:
        self.time: datetime = time
        """When it came, by the server's clock."""
        self.method: str = method
        self.user: str = user
        """The name of who asked; empty if the server could not tell."""
        self.user_agent: str = user_agent[:_LONGEST]
        self.status: int = 0
        """The status code of the answer; 0 until there is one."""
        self._raw = target[:_LONGEST]
        self._answered: datetime | None = None
        self._address: Address | None = None

    def answer(self, status: int, time: datetime) -> None:
        """Keep the status, and the time at which the answer began; for the log."""
        self.status = status
        self._answered = time

    @property
    def duration(self) -> timedelta | None:
        """How long it took until the answer began, by the server's clock; None until it did."""
        return None if self._answered is None else self._answered - self.time

    @property
    def path(self) -> str:
        """What was asked for, without the query."""
        return self._raw.partition("?")[0]

    @property
    def target(self) -> str:
        """Path and query; values of parameters that Kubernetes' verbs do not have are hidden."""
        path, mark, query = self._raw.partition("?")
        return path + mark + "&".join(map(_shown, query.split("&")))

    @property
    def verb(self) -> str:
        """What is done to objects: get, list, watch, create, update, patch, delete, deletecollection.

        Where no resource is addressed, as in discovery, it is the method in small letters.
        """
        address = self._addressed
        if not address.plural:
            return self.method.lower()
        if self.is_watch:
            return "watch"
        verbs = _ON_ONE if address.name else _ON_ALL
        return verbs.get(self.method, self.method.lower())

    @property
    def group(self) -> str:
        """The API group of the resource; empty for the core group."""
        return self._addressed.group

    @property
    def version(self) -> str:
        """The API version of the resource."""
        return self._addressed.version

    @property
    def resource(self) -> str:
        """The plural of the resource, such as ``pods``; empty where none is addressed."""
        return self._addressed.plural

    @property
    def subresource(self) -> str:
        """The part of the object, such as ``status``; empty for the whole."""
        return self._addressed.subresource

    @property
    def namespace(self) -> str:
        """The namespace; empty for all of them, and for what is cluster-scoped."""
        return self._addressed.namespace

    @property
    def name(self) -> str:
        """The name of the object; empty for a collection, and for a creation, whose body names it."""
        return self._addressed.name

    @property
    def is_watch(self) -> bool:
        """Whether it asks for a stream of changes."""
        is_read = self.method in ("GET", "HEAD")
        return is_read and asks_to_watch(self._addressed, self._value("watch"))

    @property
    def is_write(self) -> bool:
        """Whether it asks to change an object, be it refused or not; a dry run does not."""
        return bool(self.resource) and self.verb in _WRITES and not self._value("dryRun")

    @property
    def _addressed(self) -> Address:
        if self._address is None:
            self._address = address_in(self.path) or Address("", "", "")
        return self._address

    def _value(self, parameter: str) -> str | None:
        for pair in self._raw.partition("?")[2].split("&"):
            name, _, value = pair.partition("=")
            if name == parameter:
                return value
        return None

    def __str__(self) -> str:
        time = f"{self.time:%H:%M:%S}.{self.time.microsecond // 1000:03}"
        words = [time, str(self.status) if self.status else "---", self.method, self.target]
        agent = self.user_agent.partition("/")[0].partition(" ")[0]
        if agent:
            words.append(f"({agent})")
        if self.duration is not None:
            words.append(f"{self.duration / timedelta(milliseconds=1):.1f}ms")
        return "".join(letter if letter.isprintable() else "?" for letter in " ".join(words))

    def __repr__(self) -> str:
        return f"<Request {self}>"


def _shown(pair: str) -> str:
    name, equals, _ = pair.partition("=")
    if name in _HARMLESS or not pair:
        return pair
    return f"{name}={_HIDDEN}" if equals else _HIDDEN


class RequestLog:
    """The last requests of a server in the order in which they came, as a sequence that any thread may read.

    Each is also a line of the logger ``kubewright_apiserver.requests`` at DEBUG, once it is answered.
    """

    def __init__(self, clock: Callable[[], datetime], most: int = _MOST_RECORDS) -> None:
        self._clock = clock
        self._records: deque[Request] = deque(maxlen=most)
        self._noted = 0

    def note(self, method: str, target: str, user: str, user_agent: str) -> Request:
        """The record of a request that has just come; hand it to ``answered`` when the answer is known."""
        record = Request(self._clock(), method, target, user, user_agent)
        self._records.append(record)
        self._noted += 1
        return record

    def answered(self, record: Request, status: int) -> None:
        """Complete a record, and tell the logger."""
        record.answer(status, self._clock())
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s", record)

    def clear(self) -> None:
        """Forget all requests."""
        self._records.clear()
        self._noted = 0

    @property
    def forgotten(self) -> int:
        """How many requests, since the last ``clear``, were too many to keep."""
        return self._noted - len(self._records)

    def writes(self) -> list[Request]:
        """The requests that ask to change an object."""
        return [record for record in self if record.is_write]

    def watches(self) -> list[Request]:
        """The requests that ask for a stream of changes."""
        return [record for record in self if record.is_watch]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Request]:
        # A copy in one step, since the server may run in another thread.
        return iter(self._records.copy())

    @overload
    def __getitem__(self, at: int) -> Request: ...
    @overload
    def __getitem__(self, at: slice) -> list[Request]: ...
    def __getitem__(self, at: int | slice) -> Request | list[Request]:
        return list(self)[at]

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<RequestLog of {len(self)}>\n{self}" if self else "<RequestLog of 0>"

"""Rounds on an embedded server: some hundred requests, each answer checked, and in the end what is stored."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from random import Random
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import orjson

from fuzz.author import Author, Sent
from fuzz.checking import Heard, problem_of
from fuzz.corpus import Place, definitions, places
from fuzz.wire import conversation, spoken
from kubewright_apiserver import ApiServer

__all__ = ["CRDS", "SERVED", "Finding", "Memory", "Round", "ask", "prepared", "run_round"]

SERVED: Final = {"api/beta": True, "certificates.k8s.io/v1beta1": False, "storagemigration.k8s.io/v1beta1": False}
"""What is served: what a real server serves with all that is GA or beta."""

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE: Final = 20.0
_TURNS: Final = 6
_SPOKEN: Final = 8
_JSON: Final = [("Content-Type", "application/json"), ("Accept", "application/json")]
_PLACEHOLDER: Final = re.compile(r"@(revision|uid)@")


class Finding(NamedTuple):
    """Something that must not be."""

    round: int
    what: str
    problem: str
    request: str


class Round(NamedTuple):
    """What a round came to."""

    requests: int
    statuses: Counter[int]
    findings: list[Finding]


class Memory:
    """The revision and the uid that each object was last seen with."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, str]] = {}

    def filled(self, sent: Sent) -> bytes:
        """The body of a request with what it stands for."""
        if b"@" not in sent.body:
            return sent.body
        seen = self._seen.get(sent.path, {})
        text = sent.body.decode(errors="surrogateescape")
        return _PLACEHOLDER.sub(lambda found: seen.get(found[1], "1"), text).encode(errors="surrogateescape")

    def learn(self, sent: Sent, heard: Heard) -> None:
        """Remember what an answer says of the object."""
        if sent.method in ("POST", "PUT", "PATCH") and heard.status < 300 and "dryRun" not in sent.target:
            document = heard.document
            metadata = document.get("metadata") if isinstance(document, dict) else None
            if isinstance(metadata, dict) and "uid" in metadata:
                self._seen[sent.path] = {"revision": metadata.get("resourceVersion", "1"), "uid": metadata["uid"]}


class _Complaints(logging.Handler):
    """Keeps what the server logs as an error."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it, with its traceback."""
        self.records.append(logging.Formatter().format(record))


@contextlib.contextmanager
def _listening() -> Iterator[list[str]]:
    loggers = [logging.getLogger(name) for name in ("kubewright_apiserver", "aiohttp", "asyncio")]
    handler = _Complaints()
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield handler.records
    finally:
        for logger, propagates in zip(loggers, before, strict=True):
            logger.propagate = propagates
            logger.removeHandler(handler)


async def ask(server: ApiServer, sent: Sent, body: bytes) -> Heard:
    """The answer of an embedded server; of a stream only what comes at once."""
    status, headers, chunks = await server.handle(sent.method, sent.target, sent.headers, body)
    whole = getattr(chunks, "data", None)
    if whole is not None:
        return Heard(status, headers, whole)
    return Heard(status, headers, await _beginning(aiter(chunks)), is_stream=True)


async def _beginning(chunks: AsyncIterator[bytes]) -> bytes:
    heard: list[bytes] = []

    async def read() -> None:
        async for chunk in chunks:
            heard.append(chunk)

    task = asyncio.create_task(read())
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
    await asyncio.wait((task,))
    with contextlib.suppress(asyncio.CancelledError):
        task.result()
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
    return b"".join(heard)


async def prepared(server: ApiServer) -> list[Place]:
    """Install the custom resources; all that is served."""
    for definition in definitions():
        status, _, _ = await server.handle("POST", CRDS, _JSON, orjson.dumps(definition))
        assert status == 201, status
    return places(server.app.engine.registry.resources())


async def run_round(
    server: ApiServer, known: list[Place], seed: int, number: int, count: int, namespace: str = "fuzz"
) -> Round:
    """One round, which the seed and its number decide."""
    author = Author(known, Random(f"{seed}/{number}"), namespace)
    await _make_namespace(server, namespace)
    judge = _Judge(server, number)
    with _listening() as complaints:
        for sent in author.requests(count):
            await judge.judge(sent, complaints)
        await judge.judge_wire(author, complaints)
        await judge.judge_state(known, complaints)
    return Round(count, judge.statuses, judge.findings)


async def _make_namespace(server: ApiServer, name: str) -> None:
    await server.handle("POST", "/api/v1/namespaces", _JSON, orjson.dumps({"metadata": {"name": name}}))


class _Judge:
    """Sends the requests of a round, and looks at what comes of them."""

    def __init__(self, server: ApiServer, number: int) -> None:
        self._server = server
        self._number = number
        self._memory = Memory()
        self._start = server.app.engine.store.rev
        self._newest = self._start
        self._written: set[str] = set()
        self.statuses: Counter[int] = Counter()
        self.findings: list[Finding] = []

    def _find(self, what: str, problem: str, request: str) -> None:
        self.findings.append(Finding(self._number, what, problem, request))

    async def judge(self, sent: Sent, complaints: list[str]) -> None:
        """One request."""
        body = self._memory.filled(sent)
        shown = f"{sent.method} {sent.target} {dict(sent.headers)} {body[:2000]!r}"
        began = time.perf_counter()
        try:
            heard = await ask(self._server, sent, body)
        except Exception as error:
            self._find(sent.what, f"raised {type(error).__name__}: {error}", shown)
            return
        self.statuses[heard.status] += 1
        if heard.status < 300 and sent.method != "GET":
            self._written |= set(sent.target.partition("?")[0].split("/"))
        self._memory.learn(sent, heard)
        problem = problem_of(sent.method, heard)
        if time.perf_counter() - began > _PATIENCE:
            problem = f"took {time.perf_counter() - began:.0f} s"
        if complaints:
            problem = complaints.pop()
            complaints.clear()
        if self._server.app.engine.store.rev < self._newest:
            problem = "the revision went back"
        self._newest = self._server.app.engine.store.rev
        if problem:
            self._find(sent.what, problem, shown)

    async def judge_wire(self, author: Author, complaints: list[str]) -> None:
        """A few more requests, spoiled, on sockets; if the server listens."""
        port = urlsplit(self._server.http_url).port if self._server.http_url else None
        if port is None:
            return
        dice = author.dice
        for sent in author.requests(_SPOKEN):
            data = spoken(sent, dice)
            problem = await conversation(port, data, dice)
            if complaints:
                problem = complaints.pop()
                complaints.clear()
            if problem:
                self._find("bytes on a socket", problem, repr(data[:2000]))
        self._newest = self._server.app.engine.store.rev

    async def judge_state(self, known: list[Place], complaints: list[str]) -> None:
        """All that was written to is listed and watched as it is."""
        for place in known:
            if place.served.plural in self._written and {"list", "watch"} <= set(place.served.verbs):
                problem = await self._problem_of_list(place)
                if complaints:
                    problem = complaints.pop()
                    complaints.clear()
                if problem:
                    self._find(f"stored {place.served.plural}", problem, "")

    async def _listed(self, place: Place, query: str = "") -> Any:
        sent = Sent("GET", place.path("") + query, (("Accept", "application/json"),), b"", "", "")
        return (await ask(self._server, sent, b"")).document

    async def _problem_of_list(self, place: Place) -> str:
        path = place.path("")
        if self._server.app.engine.registry.find(place.served.group, place.served.version, place.served.plural) is None:
            return ""
        listed = await self._listed(place)
        if not isinstance(listed, dict) or not isinstance(listed.get("items"), list):
            return f"cannot be listed: {listed!r:.300}"
        revision = int(listed["metadata"]["resourceVersion"])
        now = {_key(item): item for item in listed["items"]}
        if any(int(item["metadata"]["resourceVersion"]) > revision for item in now.values()):
            return "an object is newer than its list"
        before = await self._listed(place, f"?resourceVersion={self._start}&resourceVersionMatch=Exact")
        seen = {_key(item): item for item in before["items"]}
        sent = Sent("GET", f"{path}?watch=1&resourceVersion={self._start}", (), b"", "", "")
        watched = await ask(self._server, sent, b"")
        return _replayed(seen, watched.data, self._start) or _difference(seen, now)


def _key(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _replayed(seen: dict[tuple[str, str], Any], data: bytes, revision: int) -> str:
    """Do what events tell; what is wrong with them, or an empty text."""
    for line in data.splitlines():
        event = orjson.loads(line)
        obj = event["object"]
        told = int(obj["metadata"]["resourceVersion"])
        if told <= revision:
            return f"an event at {told} after one at {revision}"
        revision = told
        if event["type"] == "DELETED":
            if seen.pop(_key(obj), None) is None:
                return f"{_key(obj)} was deleted twice"
        elif (event["type"] == "ADDED") is (_key(obj) in seen):
            return f"{_key(obj)} was {event['type']} though it was {'' if _key(obj) in seen else 'not '}there"
        else:
            seen[_key(obj)] = obj
    return ""


def _difference(seen: dict[tuple[str, str], Any], now: dict[tuple[str, str], Any]) -> str:
    if set(seen) != set(now):
        return f"a watch and a list disagree about what is there: {sorted(set(seen) ^ set(now))[:5]}"
    for key, obj in now.items():
        for field in ("kind", "apiVersion"):
            seen[key].pop(field, None)
            obj.pop(field, None)
        if seen[key] != obj:
            return f"a watch and a list disagree about {key}"
    return ""

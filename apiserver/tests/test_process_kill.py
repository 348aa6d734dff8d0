"""Servers killed at any moment, under load: what was acknowledged is there, and watches go on where they were.

``--kills 500 --seed 7`` makes it longer and repeatable; ``make soak`` does.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
WORKERS = 6
KEYS_EACH = 4

# A process that has imported the server already: what it forks is one in milliseconds.
NURSERY = """
import json, os, sys
from kubewright_apiserver.process import main, serving

for line in sys.stdin:
    child = os.fork()
    if not child:
        code = main(json.loads(line))
        sys.stdout.flush()
        os._exit(code)
    print("pid", child, flush=True)
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""


class State(NamedTuple):
    """What is known of an object: its revision, 0 if nobody told, and the number that it holds, 0 if it is gone."""

    rev: int = 0
    number: int = 0


class Nursery:
    """Starts servers one after the other, all on the same data."""

    def __init__(self, folder: Path, context_of: Callable[[Path], ssl.SSLContext]) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._context_of = context_of
        self._flags = ["--secure-port=0", f"--data={folder / 'data'}", f"--write-kubeconfig={self.kubeconfig}"]
        self._child = subprocess.Popen(
            [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._context: ssl.SSLContext | None = None
        self.pid = 0

    def start(self, *flags: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{json.dumps([*self._flags, *flags])}\n")
        self._child.stdin.flush()
        self.pid = int(self._line().removeprefix("pid "))

    def address(self) -> str:
        line = self._line()
        assert line.startswith("serving at "), line
        return line.removeprefix("serving at ")

    def context(self) -> ssl.SSLContext:
        # One for all: the authority lives with the data.
        self._context = self._context or self._context_of(self.kubeconfig)
        return self._context

    def kill(self, number: int = signal.SIGKILL) -> int:
        """The exit code of the server, which may have said that it is ready meanwhile."""
        os.kill(self.pid, number)
        line = self._line()
        if line.startswith("serving at "):
            line = self._line()
        return int(line.removeprefix("ended "))

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()

    def close(self) -> None:
        for stream in (self._child.stdin, self._child.stdout):
            assert stream is not None
            stream.close()
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._child.kill()
        self._child.wait()


@pytest.fixture
def nursery(tmp_path: Path, context_of: Callable[[Path], ssl.SSLContext]) -> Iterator[Nursery]:
    found = Nursery(tmp_path, context_of)
    yield found
    found.close()


class Client:
    """Asks the servers, several requests at once; knows what was acknowledged, and what was asked when one died."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.known: dict[str, State] = {}
        self.unsure: dict[str, State] = {}
        self.unseen: set[int] = set()
        self.replayed: dict[str, State] = {}
        self.since = 1
        self.highest = 0
        self.count = 0
        self._last_number = 0
        self._moved = asyncio.Event()
        self._url = ""
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def at(self, url: str, context: ssl.SSLContext) -> AsyncIterator[None]:
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(connector=connector) as self._session:
            self._url = url
            yield

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert self._session is not None
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
        async with self._session.request(method, self._url + path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def verify(self) -> int:
        """The revision of a list in which everything is that was acknowledged, and nothing that nobody wrote."""
        status, listed = await self.ask("GET", MAPS)
        assert status == 200
        found = {item["metadata"]["name"]: state_of(item) for item in listed["items"]}
        for name in {*self.known, *self.unsure, *found}:
            self._settle(name, found.get(name, State()))
        rev = int(listed["metadata"]["resourceVersion"])
        assert rev >= self.highest, f"the revision went back from {self.highest} to {rev}"
        self.highest = rev
        self.unsure.clear()
        return rev

    def _settle(self, name: str, found: State) -> None:
        known, unsure = self.known.get(name, State()), self.unsure.get(name)
        if found == known:
            return
        assert unsure is not None, f"{name} was acknowledged as {known} and is {found}"
        assert found.number == unsure.number, f"{name} was {known}, maybe {unsure}, and is {found}"
        assert found.rev > known.rev or not found.number
        self.known[name] = found

    async def until(self, count: int, *tasks: asyncio.Task[None]) -> None:
        """Return when so many writes were acknowledged, or seen; raise what a task raises meanwhile."""
        async with asyncio.timeout(60):
            while self.count < count and not any(task.done() for task in tasks):
                self._moved.clear()
                moved = asyncio.create_task(self._moved.wait())
                await asyncio.wait((moved, *tasks), return_when=asyncio.FIRST_COMPLETED)
                moved.cancel()

    async def write(self) -> None:
        """Write until the server is gone."""
        with suppress(aiohttp.ClientError):
            await asyncio.gather(*(self._work(worker) for worker in range(WORKERS)))

    async def _work(self, worker: int) -> None:
        while True:
            name = f"card-{worker}-{self.dice.randrange(KEYS_EACH)}"
            await self._change(name, self.known.get(name, State()))

    async def _change(self, name: str, known: State) -> None:
        self._last_number += 1
        body = {"metadata": {"name": name}, "data": {"number": str(self._last_number), "padding": "x" * 500}}
        path = f"{MAPS}/{name}"
        self.unsure[name] = State(0, self._last_number)
        if not known.number:
            status, answer = await self.ask("POST", MAPS, body)
        elif self.dice.random() < 0.2:
            self.unsure[name] = State()
            status, answer = await self.ask("DELETE", path)
        elif self.dice.random() < 0.5:
            body["metadata"] = {"name": name, "resourceVersion": str(known.rev)}
            status, answer = await self.ask("PUT", path, body)
        else:
            status, answer = await self.ask("PATCH", path, body)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise aiohttp.ClientError(answer["message"])
        assert status in (200, 201), f"{name}: {answer}"
        self._acknowledge(name, State() if answer["kind"] == "Status" else state_of(answer))

    def _acknowledge(self, name: str, state: State) -> None:
        del self.unsure[name]
        self.known[name] = state
        if state.rev > self.since:
            self.unseen.add(state.rev)
        self.highest = max(self.highest, state.rev)
        self.count += 1
        self._moved.set()

    async def watch(self) -> None:
        """Follow all changes after the last that was seen, until the server is gone."""
        assert self._session is not None
        with suppress(aiohttp.ClientError):
            while not await self._watch(self._session):
                # Compacted meanwhile: a list says what there is, and the watch goes on from there.
                _, listed = await self.ask("GET", MAPS)
                self.replayed = {item["metadata"]["name"]: state_of(item) for item in listed["items"]}
                self.since = int(listed["metadata"]["resourceVersion"])
                self.unseen = {rev for rev in self.unseen if rev > self.since}

    async def _watch(self, session: aiohttp.ClientSession) -> bool:
        path = f"{self._url}{MAPS}?watch=1&resourceVersion={self.since}"
        async with session.get(path, timeout=aiohttp.ClientTimeout(total=None)) as answer:
            async for line in answer.content:
                if not line.endswith(b"\n"):
                    break
                event: Any = json.loads(line)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == HTTPStatus.GONE, event
                    return False
                self._saw(event["type"], event["object"])
        return True

    def _saw(self, kind: str, obj: Any) -> None:
        name, state = obj["metadata"]["name"], state_of(obj)
        assert state.rev > self.since, f"{state.rev} was seen after {self.since}"
        self.since = state.rev
        self.replayed[name] = State() if kind == "DELETED" else state
        self.unseen.discard(state.rev)
        self.highest = max(self.highest, state.rev)
        self._moved.set()

    async def check_events(self, watching: asyncio.Task[None]) -> None:
        """The changes that were seen add up to what is there, and each acknowledged write is among them."""
        async with asyncio.timeout(20):
            while self.unseen or living(self.replayed) != living(self.known):
                self._moved.clear()
                assert not watching.done()
                await self._moved.wait()


def living(states: dict[str, State]) -> dict[str, State]:
    return {name: state for name, state in states.items() if state.number}


def state_of(obj: Any) -> State:
    number = obj.get("data", {}).get("number", "0")
    return State(int(obj["metadata"]["resourceVersion"]), int(number))


async def a_life(client: Client, server: Nursery, number: int) -> None:
    """One server from its start to its end: what was before is there, more is written, and then it is killed."""
    server.start(*(["--etcd-compaction-interval=50ms"] if client.dice.random() < 0.3 else []))
    if client.dice.random() < 0.2:
        await killed_early(client.dice, server)
        return
    async with client.at(await asyncio.to_thread(server.address), server.context()):
        await client.verify()
        tasks = [asyncio.create_task(client.watch()), asyncio.create_task(client.write())]
        await client.until(client.count + client.dice.randint(1, 100), *tasks)
        code = await asyncio.to_thread(server.kill, number)
        await asyncio.gather(*tasks)

    assert code == (0 if number == signal.SIGTERM else -number)


async def killed_early(dice: random.Random, server: Nursery) -> None:
    """Kill a server that has just begun, whatever it does then."""
    with suppress(TimeoutError):
        async with asyncio.timeout(dice.uniform(0.0, 0.2)):
            await asyncio.Event().wait()
    assert await asyncio.to_thread(server.kill) == -signal.SIGKILL


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    given: int | None = request.config.getoption("--seed")
    return given if given is not None else random.SystemRandom().randrange(1 << 32)


async def test_nothing_acknowledged_is_lost_when_servers_are_killed(request, nursery: Nursery, seed: int):
    kills: int = request.config.getoption("--kills")
    client = Client(random.Random(seed))

    for life in range(kills):
        try:
            await a_life(client, nursery, signal.SIGTERM if life % 10 == 9 else signal.SIGKILL)
        except BaseException as error:
            error.add_note(f"--seed {seed}, life {life}")
            raise
    nursery.start()
    async with client.at(await asyncio.to_thread(nursery.address), nursery.context()):
        await client.verify()
        watching = asyncio.create_task(client.watch())
        await client.check_events(watching)
        watching.cancel()

    assert client.count > kills

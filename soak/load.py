"""``Load``: several clients that write at once and one that watches, until the server is gone."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from soak.ledger import Ledger, Lost, State, state_of

__all__ = ["Load"]

_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_WRITERS: Final = 6
_KEYS_EACH: Final = 4
# The larger, the sooner SQLite moves its log into the file, which must be safe from kills too.
_SIZES: Final = (100, 100, 5_000, 60_000)
_PATIENCE: Final = 20.0


class Load:
    """Requests to one server after the other; the ledger knows what came of them."""

    def __init__(self, dice: random.Random) -> None:
        self.ledger: Ledger = Ledger()
        self.resumed: int = 0
        """How often a watch went on from a revision of before."""
        self.expired: int = 0
        """How often it could not, and began with a list."""
        self._dice = dice
        self._last_number = 0
        self._moved = asyncio.Event()
        self._url = ""
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def at(self, url: str, context: ssl.SSLContext) -> AsyncIterator[None]:
        """Requests go to that server inside the block."""
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(connector=connector) as self._session:
            self._url = url
            yield

    async def verify(self) -> None:
        """Return if everything is there that was acknowledged, and nothing that nobody wrote; else raise `Lost`."""
        self.ledger.verify(*await self._list())

    async def _list(self) -> tuple[list[Any], int]:
        status, listed = await self._ask("GET", _MAPS)
        if status != HTTPStatus.OK:
            raise Lost(f"the objects cannot be listed: {listed}")
        return listed["items"], int(listed["metadata"]["resourceVersion"])

    async def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert self._session is not None
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else None
        async with self._session.request(method, self._url + path, json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def more(self, count: int, *tasks: asyncio.Task[None]) -> None:
        """Return when so many more writes were acknowledged, or one of the tasks has ended."""
        goal = self.ledger.acknowledged.total() + count
        async with asyncio.timeout(_PATIENCE):
            while self.ledger.acknowledged.total() < goal and not any(task.done() for task in tasks):
                await self._move(*tasks)

    async def all_shown(self, watching: asyncio.Task[None]) -> None:
        """Return when the watch has shown each acknowledged write, and all its events add up to what is there."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while self.ledger.unshown:
                    if watching.done():
                        raise Lost("the watch ended before it had shown everything")
                    await self._move(watching)
        except TimeoutError:
            raise Lost(f"after {self.ledger.since}: {self.ledger.unshown}") from None

    async def _move(self, *tasks: asyncio.Task[None]) -> None:
        self._moved.clear()
        moved = asyncio.create_task(self._moved.wait())
        await asyncio.wait((moved, *tasks), return_when=asyncio.FIRST_COMPLETED)
        moved.cancel()

    async def write(self) -> None:
        """Write until the server is gone."""
        with suppress(aiohttp.ClientError):
            await asyncio.gather(*(self._work(writer) for writer in range(_WRITERS)))

    async def _work(self, writer: int) -> None:
        while True:
            await self._change(f"card-{writer}-{self._dice.randrange(_KEYS_EACH)}")

    async def _change(self, name: str) -> None:
        known, path = self.ledger.known(name), f"{_MAPS}/{name}"
        self._last_number += 1
        data = {"number": str(self._last_number), "padding": "x" * self._dice.choice(_SIZES)}
        body: dict[str, Any] = {"metadata": {"name": name}, "data": data}
        is_gone = known.number > 0 and self._dice.random() < 0.2
        self.ledger.ask(name, 0 if is_gone else self._last_number)
        if not known.number:
            verb, (status, answer) = "create", await self._ask("POST", _MAPS, body)
        elif is_gone:
            verb, (status, answer) = "delete", await self._ask("DELETE", path)
        elif self._dice.random() < 0.5:
            body["metadata"]["resourceVersion"] = str(known.rev)
            verb, (status, answer) = "update", await self._ask("PUT", path, body)
        else:
            verb, (status, answer) = "patch", await self._ask("PATCH", path, body)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise aiohttp.ClientError(answer["message"])
        if status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            raise Lost(f"{verb} of {name}, known as {known}: {answer}")
        self.ledger.acknowledge(verb, name, State() if is_gone else state_of(answer))
        self._moved.set()

    async def watch(self) -> None:
        """Follow all changes after the last that was seen, until the server is gone."""
        with suppress(aiohttp.ClientError):
            while not await self._watch():
                self.expired += 1
                self.ledger.begin_anew(*await self._list())
                self._moved.set()

    async def _watch(self) -> bool:
        """Whether the watch went on from where the last one was."""
        assert self._session is not None
        path = f"{self._url}{_MAPS}?watch=1&resourceVersion={self.ledger.since}"
        is_first = True
        async with self._session.get(path, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=1 << 20) as answer:
            async for line in answer.content:
                if not line.endswith(b"\n"):
                    break
                event: Any = json.loads(line)
                if event["type"] == "ERROR":
                    if event["object"]["code"] != HTTPStatus.GONE:
                        raise Lost(f"the watch cannot go on: {event}")
                    return False
                self.resumed += is_first
                is_first = False
                self.ledger.show(event["type"], event["object"])
                self._moved.set()
        return True

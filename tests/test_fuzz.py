"""The fuzzer: a small part of what ``make soak`` runs, and that it finds what is wrong."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any

import pytest
import pytest_asyncio

from fuzz.author import Author, Sent
from fuzz.checking import Heard, problem_of
from fuzz.corpus import Place, places
from fuzz.rounds import ROUND, all_rounds
from fuzz.running import SERVED, prepared, run_round
from kubewright_apiserver import ApiServer

ROUNDS = 6
REQUESTS = 150


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(http_port=0, runtime_config=SERVED) as running:
        yield running


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_requests_of_every_sort_are_answered_properly(server: ApiServer, seed: int):
    known = await prepared(server)
    fresh = server.snapshot()
    findings = []

    for number in range(ROUNDS):
        findings += (await run_round(server, known, seed, number, REQUESTS)).findings
        server.restore(fresh)

    assert findings == []


async def test_the_fuzzer_reaches_every_resource_and_most_answers(server: ApiServer):
    known = await prepared(server)

    done = await run_round(server, known, 5, 0, 1500)

    assert {200, 201, 400, 404, 405, 406, 409, 415, 422} <= set(done.statuses)
    assert done.statuses[200] + done.statuses[201] > 150


def stream(known: list[Place], seed: int) -> list[Sent]:
    return list(Author(known, Random(seed), "fuzz").requests(200))


async def test_a_seed_always_makes_the_same_requests(server: ApiServer):
    known = places(server.app.engine.registry.resources())

    assert stream(known, 7) == stream(known, 7)
    assert stream(known, 7) != stream(known, 8)


class Broken(ApiServer):
    """A server that fails, complains or forgets."""

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Any:
        if method == "PATCH":
            raise RuntimeError("broken")
        if method == "PUT":
            logging.getLogger("kubewright_apiserver").error("broken")
        return await super().handle(method, target, headers, body)


async def test_a_server_that_fails_or_complains_is_found():
    async with Broken(listens=False, runtime_config=SERVED) as server:
        done = await run_round(server, await prepared(server), 1, 0, 200)

    assert {finding.problem for finding in done.findings} == {"raised RuntimeError: broken", "broken"}


JSON = [("Content-Type", "application/json")]


@pytest.mark.parametrize(
    ("status", "data", "problem"),
    [
        (200, b"{", "no JSON"),
        (200, b"[]", "no object"),
        (404, b"{}", "without a Status"),
        (404, b'{"kind":"Status","code":400,"status":"Failure"}', "contradicts"),
        (500, b'{"message":"Internal error occurred: the server failed; its log says why"}', "the server failed"),
    ],
)
def test_an_answer_that_is_none_is_found(status: int, data: bytes, problem: str):
    assert problem in problem_of("GET", Heard(status, JSON, data))


def test_an_event_that_is_none_is_found():
    assert "no JSON" in problem_of("GET", Heard(200, JSON, b'{"type":', is_stream=True))
    assert "is none" in problem_of("GET", Heard(200, JSON, b'{"type":"ADDED"}', is_stream=True))


def test_rounds_may_be_played_in_several_processes():
    rounds = list(all_rounds(5, list(range(5)), processes=2))

    assert [round.requests for round in rounds] == [ROUND] * 5
    assert [round.findings for round in rounds] == [[]] * 5

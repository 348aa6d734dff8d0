"""Rounds of requests, each on a fresh server, in one process or several."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator

from fuzz.running import SERVED, Round, prepared, run_round
from kubewright_apiserver import ApiServer

__all__ = ["ROUND", "all_rounds"]

ROUND = 250
"""How many requests a round has."""
_CHUNK = 4


async def _rounds(seed: int, numbers: list[int]) -> list[Round]:
    async with ApiServer(http_port=0, runtime_config=SERVED) as server:
        known = await prepared(server)
        fresh = server.snapshot()
        done = []
        for number in numbers:
            done.append(await run_round(server, known, seed, number, ROUND))
            server.restore(fresh)
        return done


def _worked(task: tuple[int, list[int]]) -> list[Round]:
    return asyncio.run(_rounds(*task))


def all_rounds(seed: int, numbers: list[int], processes: int) -> Iterator[Round]:
    """The rounds of these numbers as they end, in so many processes."""
    tasks = [(seed, numbers[at : at + _CHUNK]) for at in range(0, len(numbers), _CHUNK)]
    if processes < 2:
        for task in tasks:
            yield from _worked(task)
        return
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=100) as pool:
        for rounds in pool.imap_unordered(_worked, tasks):
            yield from rounds

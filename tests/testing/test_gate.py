"""Gates: requests and answers wait until the test lets them pass."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright.errors import RequestTimeout
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, virtual_time, wait_idle
from kubewright.testing.faults import Gate
from tests.testing.embedded import card, embedded


@virtual_time()
async def test_requests_wait_at_a_gate_and_then_pass() -> None:
    gate = Gate(verb="create")

    async with embedded(gate) as cluster:
        tasks = [asyncio.create_task(cluster.client.create(card(name))) for name in ("a", "b")]
        await gate.wait_held(2)
        stored_before = len(await cluster.client.list(ConfigMap))
        gate.open()
        await asyncio.gather(*tasks)

        assert (stored_before, gate.waiting) == (0, 0)
        assert len(await cluster.client.list(ConfigMap)) == 2


@virtual_time()
async def test_a_held_answer_belongs_to_a_write_that_took_effect() -> None:
    gate = Gate("answer", verb="create")

    async with embedded(gate) as cluster:
        task = asyncio.create_task(cluster.client.create(card()))
        await gate.wait_held()
        stored, was_done = len(await cluster.client.list(ConfigMap)), task.done()
        gate.open()

        assert (stored, was_done) == (1, False)
        assert (await task).name == "a"


@virtual_time()
async def test_a_request_waits_no_longer_than_its_time_limit() -> None:
    async with embedded(Gate(verb="create")) as cluster:
        with pytest.raises(RequestTimeout):
            await cluster.client.using(timeout=timedelta(seconds=5)).create(card())

        assert VirtualTime.current().elapsed == timedelta(seconds=5)
        assert len(await cluster.direct.list(ConfigMap)) == 0


@virtual_time()
async def test_a_gate_that_is_shut_again_holds_what_comes_later() -> None:
    gate = Gate(is_open=True, verb="create")

    async with embedded(gate) as cluster:
        await cluster.client.create(card("a"))
        gate.shut()
        task = asyncio.create_task(cluster.client.create(card("b")))
        await wait_idle()
        held = gate.waiting
        gate.open()
        await task

        assert held == 1

"""Traces: two runs of one seed are the same, whatever else differs."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from kubewright.errors import Forbidden
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import Trace, elapse, run_virtual, virtual_time
from kubewright.testing.faults import refuse
from tests.testing.embedded import card, embedded, first_names
from tests.testing.traced_system import system

ROOT = Path(__file__).parent.parent.parent


def traced(*, seed: int, shuffle: bool, hash_seed: str) -> list[str]:
    """The trace of the system in a process of its own."""
    command = [sys.executable, "-m", "tests.testing.traced_system", str(seed), str(int(shuffle))]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_seed_gives_the_same_trace_in_processes_of_different_hash_seeds(shuffle: bool):
    first = traced(seed=4, shuffle=shuffle, hash_seed="1")
    second = traced(seed=4, shuffle=shuffle, hash_seed="2")

    assert len(first) > 200
    assert first == second


def test_a_seed_gives_the_same_trace_in_one_process_and_another_seed_another_one():
    digests = [run_virtual(system(), seed=seed).digest() for seed in (4, 4, 5)]

    assert digests[0] == digests[1] != digests[2]


@virtual_time()
async def test_requests_answers_streams_and_failures_are_noted_with_their_time() -> None:
    trace = Trace()

    async with embedded(trace.observe, refuse(403, verb="delete")) as cluster:
        await elapse(timedelta(seconds=1.5))
        await cluster.client.create(card())
        with pytest.raises(Forbidden):
            await cluster.client.delete(ConfigMap, "a")
        await first_names(cluster.client.watch(ConfigMap), 1)

    assert [line.split("?")[0] for line in trace.lines[:2]] == [
        "1.500000 create /api/v1/namespaces/default/configmaps"
    ] * 2
    assert "gave 201" in trace.lines[1]
    assert "gave 403" in trace.lines[3]
    assert any("watch" in line and "streamed" in line for line in trace.lines)
    assert str(trace).splitlines() == trace.lines


@virtual_time()
async def test_a_digest_tells_any_two_traces_apart() -> None:
    one, other = Trace(), Trace()
    one.note("a")
    other.note("a")
    same = one.digest() == other.digest()
    other.note("b")

    assert same
    assert one.digest() != other.digest()

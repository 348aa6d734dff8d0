"""Whatever users do and whatever fails: the system converges; and the same seed does the same again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.testing import run_virtual
from tests.loop.walk import walk

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("seed", range(32))
def test_random_faults_and_random_users_end_in_what_is_wanted(seed: int) -> None:
    run_virtual(walk(), seed=seed, shuffle=seed % 2 == 0)


def walked(*, seed: int, hash_seed: str) -> list[str]:
    """The trace of a walk in a process of its own."""
    command = [sys.executable, "-m", "tests.loop.walk", str(seed)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_seed_gives_the_same_trace_of_the_whole_system_in_processes_of_different_hash_seeds() -> None:
    first = walked(seed=7, hash_seed="1")
    second = walked(seed=7, hash_seed="2")

    assert len(first) > 200
    assert first == second

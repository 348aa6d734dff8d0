"""How long failing keys wait."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.queue import Backoff, TokenBucket


def test_waits_double_up_to_the_longest():
    backoff = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=6), jitter=0)

    waits = [backoff.delay(failures, random.Random(0)).total_seconds() for failures in range(1, 6)]

    assert waits == [1, 2, 4, 6, 6]


def test_the_default_begins_at_5_ms_and_ends_at_5_minutes():
    backoff = Backoff(jitter=0)

    assert backoff.delay(1, random.Random(0)) == timedelta(milliseconds=5)
    assert backoff.delay(100, random.Random(0)) == timedelta(minutes=5)


def test_a_factor_of_one_keeps_the_wait_constant():
    backoff = Backoff(first=timedelta(seconds=3), factor=1, jitter=0)

    assert backoff.delay(50, random.Random(0)) == timedelta(seconds=3)


@settings(derandomize=True, max_examples=50)
@given(failures=st.integers(1, 100_000), seed=st.integers(), jitter=st.floats(0, 1))
def test_chance_shortens_a_wait_by_at_most_its_share(failures: int, seed: int, jitter: float):
    backoff = Backoff(jitter=jitter)
    full = Backoff(jitter=0).delay(failures, random.Random(0))

    wait = backoff.delay(failures, random.Random(seed))

    assert full * (1 - jitter) - timedelta(microseconds=1) <= wait <= full


def test_the_same_dice_give_the_same_wait_and_others_another():
    backoff = Backoff()

    assert backoff.delay(3, random.Random(1)) == backoff.delay(3, random.Random(1))
    assert backoff.delay(3, random.Random(1)) != backoff.delay(3, random.Random(2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"first": timedelta(0)},
        {"first": timedelta(hours=1)},
        {"factor": 0.5},
        {"jitter": -0.1},
        {"jitter": 1.1},
    ],
)
def test_a_back_off_that_makes_no_sense_is_refused(wrong: dict[str, timedelta]):
    with pytest.raises(ValueError, match="a back-off needs"):
        Backoff(**wrong)  # type: ignore[arg-type]


def test_a_bucket_gives_its_burst_at_once_and_then_one_per_interval():
    bucket = TokenBucket(per_second=2, burst=3)
    free_at = float("-inf")
    starts = []

    for _ in range(5):
        start, free_at = bucket.take(free_at, 100.0)
        starts.append(start)

    assert starts == [100, 100, 100, 100.5, 101]


def test_a_bucket_fills_up_again_but_not_beyond_its_burst():
    bucket = TokenBucket(per_second=1, burst=2)
    free_at = float("-inf")
    for _ in range(2):
        _, free_at = bucket.take(free_at, 0.0)

    starts = []
    for _ in range(3):
        start, free_at = bucket.take(free_at, 1000.0)
        starts.append(start)

    assert starts == [1000, 1000, 1001]


@pytest.mark.parametrize(("per_second", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_that_lets_nothing_through_is_refused(per_second: float, burst: int):
    with pytest.raises(ValueError, match="a token bucket needs"):
        TokenBucket(per_second=per_second, burst=burst)

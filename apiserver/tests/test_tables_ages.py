"""Ages as people read them."""

from __future__ import annotations

import pytest

from kubewright_apiserver.tables.ages import human_duration, since

HOUR, DAY, YEAR = 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2.0, "<invalid>"),
        (-1.9, "0s"),
        (0.9, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 60, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
        (9 * YEAR + DAY, "9y"),
    ],
)
def test_a_duration_has_two_or_three_figures(seconds: float, text: str):
    assert human_duration(seconds) == text


@pytest.mark.parametrize("time", [None, "", "0001-01-01T00:00:00Z"])
def test_an_age_is_unknown_when_there_is_no_time(time: str | None):
    assert since(time, 0.0) == "<unknown>"


def test_an_age_is_as_long_as_go_can_count_when_it_is_longer():
    assert since("0001-01-01T00:00:01Z", 1.7e9) == "292y"


def test_an_age_counts_from_a_time_with_a_fraction():
    assert since("1970-01-01T00:00:00.500000Z", 3.4) == "2s"

"""Schedules: which can be read, and what is said of the others."""

from __future__ import annotations

import pytest

from kubewright_apiserver.validation.cron import is_time_zone, schedule_problem


@pytest.mark.parametrize(
    "schedule",
    [
        "* * * * *",
        "*/5 0-6,12 1 jan-mar mon",
        "0 0 1 JAN Sun",
        "? ? ? ? ?",
        "5/15 * * * *",
        "@yearly",
        "@midnight",
        "@every 1h30m",
        "@every 1.5s",
        "TZ=UTC 0 * * * *",
        "CRON_TZ=Europe/Berlin 0 * * * *",
    ],
)
def test_schedule_can_be_read(schedule):
    assert schedule_problem(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("@never", "unrecognized descriptor: @never"),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("@every 1x", 'failed to parse duration @every 1x: time: unknown unit "x" in duration "1x"'),
        ("@every h", 'failed to parse duration @every h: time: invalid duration "h"'),
        ("TZ=No/Where 0 * * * *", "provided bad location No/Where: unknown time zone No/Where"),
        ("TZ=../x 0 * * * *", "provided bad location ../x: time: invalid location name"),
        ("TZ=UTC", "invalid schedule format: runtime error: slice bounds out of range [:-1]"),
    ],
)
def test_schedule_cannot_be_read_for_a_reason(schedule, problem):
    assert schedule_problem(schedule) == problem


@pytest.mark.parametrize(("name", "known"), [("Europe/Berlin", True), ("UTC", True), ("Nope", False), ("../x", False)])
def test_time_zone_is_known_by_its_name(name, known):
    assert is_time_zone(name) is known

"""Conditions: set and read, with a transition time that tells since when."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from kubewright.api import Condition, Status, using_clock

START = datetime(2026, 1, 1, 12, 0, 0, 500, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time


def test_a_condition_that_was_set_is_read_back():
    status = Status()

    status.set("Ready", False, reason="RollingOut", message="1 of 3")

    assert status.is_false("Ready")
    assert not status.is_true("Ready")
    assert status.get("Ready") == status.conditions[0]
    assert status.conditions[0].message == "1 of 3"


def test_an_unknown_condition_is_neither_true_nor_false():
    status = Status()

    status.set("Ready", None, reason="NotObserved")

    assert status.conditions[0].status == "Unknown"
    assert not status.is_true("Ready")
    assert not status.is_false("Ready")


def test_the_transition_time_moves_only_when_the_status_changes():
    status, clock = Status(), Clock()
    with using_clock(clock):
        status.set("Ready", False, reason="Starting")
        clock.time += timedelta(minutes=1)

        changed = status.set("Ready", False, reason="StillStarting", message="patience")

        assert not changed
        assert status.conditions[0].reason == "StillStarting"
        assert status.conditions[0].last_transition_time == START.replace(microsecond=0)
        assert status.set("Ready", True, reason="Started")
        assert status.conditions[0].last_transition_time == START.replace(microsecond=0) + timedelta(minutes=1)


def test_the_observed_generation_is_kept_with_the_condition():
    status = Status()

    status.set("Ready", True, reason="Serving", observed_generation=4)
    status.set("Ready", True, reason="Serving")

    assert status.conditions[0].observed_generation == 4


def test_a_condition_can_be_taken_away():
    status = Status()
    status.set("Ready", True, reason="Serving")

    assert status.remove("Ready")
    assert not status.remove("Ready")
    assert status.conditions == []


@pytest.mark.parametrize("type", ["", "a b", "x" * 317, "-x", "UPPER.example.com/Ready", "/Ready", "Réady"])
def test_a_type_that_kubernetes_would_refuse_is_refused(type: str):
    with pytest.raises(ValueError, match="condition type"):
        Status().set(type, True, reason="Fine")


@pytest.mark.parametrize("type", ["Ready", "example.com/Ready", "x" * 316])
def test_a_type_that_kubernetes_takes_is_taken(type: str):
    assert Status().set(type, True, reason="Fine")


@pytest.mark.parametrize("reason", ["", "two words", "9lives", "x" * 1025, "ends,"])
def test_a_reason_that_kubernetes_would_refuse_is_refused(reason: str):
    with pytest.raises(ValueError, match="reason"):
        Status().set("Ready", True, reason=reason)


def test_a_message_that_is_too_long_is_refused():
    with pytest.raises(ValueError, match="32768"):
        Status().set("Ready", True, reason="Fine", message="x" * 32769)


def test_conditions_are_written_as_kubernetes_writes_them():
    status = Status(
        conditions=[Condition(type="Ready", status="True", last_transition_time=START.replace(microsecond=0))]
    )

    assert msgspec.json.decode(msgspec.json.encode(status)) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "lastTransitionTime": "2026-01-01T12:00:00Z",
                "reason": "",
                "message": "",
            }
        ]
    }

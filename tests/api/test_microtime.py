from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.clock import using_clock
from kubewright.api.metadata import Metadata
from kubewright.api.microtime import MicroTime
from kubewright.api.model import Model
from kubewright.api.resource import Resource
from kubewright.api.wire import changes, decode, to_dict
from kubewright.errors import Undecodable

TWO_HOURS_EAST = timezone(timedelta(hours=2))


class ClockSpec(Model):
    renew_time: MicroTime | None = None


class Clock(Resource, group="demo.example.com", version="v1"):
    spec: ClockSpec


def test_text_has_exactly_six_fractional_digits() -> None:
    assert str(MicroTime(2026, 1, 2, 3, 4, 5)) == "2026-01-02T03:04:05.000000Z"
    assert str(MicroTime(2026, 1, 2, 3, 4, 5, 120)) == "2026-01-02T03:04:05.000120Z"
    assert f"{MicroTime(1, 1, 1)}" == "0001-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05.000006Z", MicroTime(2026, 1, 2, 3, 4, 5, 6)),
        ("2026-01-02T03:04:05Z", MicroTime(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02T03:04:05.1Z", MicroTime(2026, 1, 2, 3, 4, 5, 100_000)),
        ("2026-01-02T03:04:05.123456789Z", MicroTime(2026, 1, 2, 3, 4, 5, 123_456)),
        ("2026-01-02T03:04:05.000000+02:00", MicroTime(2026, 1, 2, 1, 4, 5)),
    ],
)
def test_parse_reads_rfc_3339(text: str, moment: MicroTime) -> None:
    assert MicroTime.parse(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04:05.Z",
        "2026-13-02T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+99:00",
        "0001-01-01T00:00:00+01:00",
        "2026-01-02T03:04:05Z\n",
        "٢٠٢٦-01-02T03:04:05Z",
        5,
        None,
    ],
)
def test_parse_refuses_anything_else_by_name(text: Any) -> None:
    with pytest.raises(ValueError, match="RFC 3339") as caught:
        MicroTime.parse(text)

    assert repr(text) in str(caught.value)


def test_a_moment_in_another_zone_is_converted() -> None:
    moment = MicroTime(2026, 1, 2, 3, tzinfo=TWO_HOURS_EAST)

    assert str(moment) == "2026-01-02T01:00:00.000000Z"
    assert moment.tzinfo is UTC


def test_of_keeps_the_moment() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, TWO_HOURS_EAST)

    assert MicroTime.of(moment) == moment
    assert MicroTime.of(moment).tzinfo is UTC


def test_of_refuses_a_datetime_without_a_zone() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        MicroTime.of(datetime(2026, 1, 2))


def test_now_reads_the_clock_of_the_context() -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)

    with using_clock(lambda: moment):
        assert MicroTime.now() == moment
        assert type(MicroTime.now()) is MicroTime


def test_a_micro_time_equals_the_datetime_of_its_moment() -> None:
    moment = datetime(2026, 1, 2, 3, tzinfo=UTC)

    assert MicroTime.of(moment) == moment
    assert hash(MicroTime.of(moment)) == hash(moment)
    assert MicroTime.of(moment) < moment + timedelta(microseconds=1)


@pytest.mark.parametrize(
    "made",
    [
        MicroTime(2026, 1, 1) + timedelta(days=1),
        timedelta(days=1) + MicroTime(2026, 1, 1),
        MicroTime(2026, 1, 3) - timedelta(days=1),
        MicroTime(2026, 1, 1).replace(day=2),
        MicroTime(2026, 1, 2).replace(tzinfo=None),
        MicroTime(2026, 1, 2, 2).replace(tzinfo=TWO_HOURS_EAST),
        MicroTime.fromtimestamp(1_767_312_000),
        MicroTime.fromtimestamp(1_767_312_000, TWO_HOURS_EAST),
        MicroTime.combine(date(2026, 1, 2), time()),
        MicroTime.fromisoformat("2026-01-02T02:00:00+02:00"),
        MicroTime.strptime("2026-01-02", "%Y-%m-%d"),
        pickle.loads(pickle.dumps(MicroTime(2026, 1, 2))),
        pickle.loads(pickle.dumps(MicroTime(2026, 1, 2), protocol=0)),
        copy.copy(MicroTime(2026, 1, 2)),
        copy.deepcopy(MicroTime(2026, 1, 2)),
    ],
)
def test_every_way_to_make_one_gives_a_micro_time_in_utc(made: MicroTime) -> None:
    assert type(made) is MicroTime
    assert made.tzinfo is UTC
    assert str(made) == "2026-01-02T00:00:00.000000Z"


def test_the_difference_of_two_is_a_timedelta() -> None:
    assert MicroTime(2026, 1, 2) - datetime(2026, 1, 1, tzinfo=UTC) == timedelta(days=1)


def test_in_another_zone_it_is_a_plain_datetime() -> None:
    local = MicroTime(2026, 1, 2).astimezone(TWO_HOURS_EAST)

    assert type(local) is datetime
    assert local.isoformat() == "2026-01-02T02:00:00+02:00"


def test_objects_write_all_six_digits() -> None:
    clock = Clock(metadata=Metadata(name="a"), spec=ClockSpec(renew_time=MicroTime(2026, 1, 2)))

    assert to_dict(clock)["spec"] == {"renewTime": "2026-01-02T00:00:00.000000Z"}


def test_objects_read_and_change_micro_times() -> None:
    clock = decode(Clock, b'{"metadata":{"name":"a"},"spec":{"renewTime":"2026-01-02T00:00:00.000000Z"}}')
    assert changes(clock) == {}

    assert clock.spec.renew_time is not None
    clock.spec.renew_time += timedelta(microseconds=1)

    assert changes(clock) == {"spec": {"renewTime": "2026-01-02T00:00:00.000001Z"}}


@pytest.mark.parametrize("value", ['"yesterday"', "5", "{}"])
def test_an_object_with_another_value_is_undecodable(value: str) -> None:
    with pytest.raises(Undecodable, match="renewTime"):
        decode(Clock, f'{{"metadata":{{"name":"a"}},"spec":{{"renewTime":{value}}}}}'.encode())


def test_plain_json_encoding_does_not_write_it_unawares() -> None:
    with pytest.raises(TypeError):
        msgspec.json.encode(MicroTime(2026, 1, 2))


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.timezones()))
@settings(derandomize=True)
def test_text_names_the_same_moment(moment: datetime) -> None:
    made = MicroTime.of(moment)

    assert MicroTime.parse(str(made)) == made
    assert (made - moment.astimezone(UTC)) == timedelta(0)

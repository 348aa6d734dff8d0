"""Probes, told beforehand: when a container has started, when it is ready, which probes fail and what comes of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubewright.controlplane.kubelet.behaviour import Behaviour
from kubewright.kinds.core_v1 import Container, EphemeralContainer, Probe

__all__ = ["Course", "ProbeFailure", "Refused", "courses_of"]

_ZERO: Final = timedelta(0)


class ProbeFailure(NamedTuple):
    """A probe that failed: when, which, and what it found."""

    at: datetime
    probe: str
    output: str


class Refused(NamedTuple):
    """A container that failed a probe too often, so that it must end: when, which, and with what grace."""

    at: datetime
    probe: str
    grace: int | None


class _Failing(NamedTuple):
    """A probe that fails at each tick of a span of time; ``end`` is not in it, and None means for ever."""

    probe: str
    output: str
    first: datetime
    period: timedelta
    end: datetime | None

    def ticks(self, after: datetime, until: datetime) -> Iterator[datetime]:
        passed = max(0, math.floor((after - self.first) / self.period) + 1)
        tick = self.first + passed * self.period
        while tick <= until and (self.end is None or tick < self.end):
            yield tick
            tick += self.period


class Course(NamedTuple):
    """What the probes of one run show."""

    started: datetime | None
    """When the startup probe has succeeded; None if it never does."""
    ready: tuple[tuple[datetime, datetime | None], ...]
    """From when until when the container is ready."""
    killed: Refused | None
    """When it has failed too often."""
    failing: tuple[_Failing, ...]

    def failures(self, after: datetime, until: datetime) -> Iterator[ProbeFailure]:
        """The probes that fail in a span of time, its end included, in order."""
        found = [
            ProbeFailure(tick, span.probe, span.output) for span in self.failing for tick in span.ticks(after, until)
        ]
        return iter(sorted(found))

    def next_failure(self, after: datetime) -> datetime | None:
        """When the next probe fails."""
        firsts = (next(span.ticks(after, after + 2 * span.period), None) for span in self.failing)
        coming = [span.first for span in self.failing if span.first > after]
        return min([*(first for first in firsts if first is not None), *coming], default=None)


def courses_of(container: Container | EphemeralContainer, behaviour: Behaviour, begin: datetime) -> Course:
    """What the probes of a container show that begins to run then."""
    failing: list[_Failing] = []
    started, killed = _startup(container.startup_probe, behaviour, begin, failing)
    if started is None:
        return Course(None, (), killed, tuple(failing))
    killed = _liveness(container.liveness_probe, behaviour, begin, started, failing)
    ready = _readiness(container.readiness_probe, behaviour, begin, started, failing)
    if killed is not None:
        failing = [span._replace(end=_sooner(span.end, killed.at + _moment(span, killed))) for span in failing]
    return Course(started, ready, killed, tuple(failing))


def _startup(
    probe: Probe | None, behaviour: Behaviour, begin: datetime, failing: list[_Failing]
) -> tuple[datetime | None, Refused | None]:
    if probe is None:
        return begin + (behaviour.startup_after or _ZERO), None
    first, period = _first_tick(probe, begin), _period(probe)
    works_at = begin + (behaviour.startup_after or _ZERO)
    passes = _tick_at(first, period, works_at)
    gives_up = first + (_failures(probe) - 1) * period
    if passes <= gives_up:
        if passes > first:
            failing.append(_Failing("Startup", _output(probe), first, period, passes))
        return passes, None
    failing.append(_Failing("Startup", _output(probe), first, period, gives_up + timedelta(microseconds=1)))
    return None, Refused(gives_up, "Startup", probe.termination_grace_period_seconds)


def _liveness(
    probe: Probe | None, behaviour: Behaviour, begin: datetime, started: datetime, failing: list[_Failing]
) -> Refused | None:
    if probe is None or behaviour.live_until is None:
        return None
    period = _period(probe)
    fails = _tick_at(max(_first_tick(probe, begin), started), period, begin + behaviour.live_until)
    gives_up = fails + (_failures(probe) - 1) * period
    failing.append(_Failing("Liveness", _output(probe), fails, period, gives_up + timedelta(microseconds=1)))
    return Refused(gives_up, "Liveness", probe.termination_grace_period_seconds)


def _readiness(
    probe: Probe | None, behaviour: Behaviour, begin: datetime, started: datetime, failing: list[_Failing]
) -> tuple[tuple[datetime, datetime | None], ...]:
    works_at = None if behaviour.never_ready else begin + (behaviour.ready_after or _ZERO)
    stops_at = None if behaviour.ready_until is None else begin + behaviour.ready_until
    if probe is None:
        return () if works_at is None else ((max(works_at, started), stops_at),)
    first, period = max(_first_tick(probe, begin), started), _period(probe)
    works = None if works_at is None else _tick_at(first, period, works_at)
    if works is None or works > first:
        failing.append(_Failing("Readiness", _output(probe), first, period, works))
    if works is None:
        return ()
    ready = works + ((probe.success_threshold or 1) - 1) * period
    if stops_at is None:
        return ((ready, None),)
    fails = _tick_at(first, period, stops_at)
    failing.append(_Failing("Readiness", _output(probe), fails, period, None))
    return ((ready, fails + (_failures(probe) - 1) * period),)


def _first_tick(probe: Probe, begin: datetime) -> datetime:
    return begin + timedelta(seconds=probe.initial_delay_seconds or 0)


def _period(probe: Probe) -> timedelta:
    return timedelta(seconds=probe.period_seconds or 10)


def _failures(probe: Probe) -> int:
    return probe.failure_threshold or 3


def _tick_at(first: datetime, period: timedelta, moment: datetime) -> datetime:
    """The first tick that is not before a moment."""
    return first if moment <= first else first + math.ceil((moment - first) / period) * period


def _sooner(one: datetime | None, other: datetime) -> datetime:
    return other if one is None else min(one, other)


def _moment(span: _Failing, killed: Refused) -> timedelta:
    """The last failure of the probe that ends the container still counts; others end with it."""
    return timedelta(microseconds=1) if span.probe == killed.probe else _ZERO


def _output(probe: Probe) -> str:
    """What a probe that fails finds, by its kind."""
    if probe.http_get is not None:
        return "HTTP probe failed with statuscode: 503"
    if probe.tcp_socket is not None:
        return f"dial tcp: {probe.tcp_socket.port}: connect: connection refused"
    if probe.grpc is not None:
        return 'service unhealthy (responded with "NOT_SERVING")'
    return ""

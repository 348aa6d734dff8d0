"""``ContainerRun``: what one container does from its start to its end, told beforehand.

It follows from the container's spec, its behaviour and the moment of its start alone, which the pod's status keeps. So
nothing is lost when the kubelet starts anew, and nothing needs to sleep: whoever asks what is so at some moment can be
told, and when it will be otherwise. Logs and attached terminals read ``lines`` from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubewright.api import Key
from kubewright.controlplane.kubelet.behaviour import Behaviour, Script
from kubewright.controlplane.kubelet.command import Plan, what_it_does
from kubewright.controlplane.kubelet.duration import read_duration
from kubewright.controlplane.kubelet.probe import Course, ProbeFailure, courses_of
from kubewright.kinds.core_v1 import Container, ContainerStatus, EphemeralContainer, Pod

__all__ = ["ContainerRun", "End", "Line", "container_id", "run_of", "runs_of"]

_KILLED: Final = 137
_ZERO: Final = timedelta(0)


class Line(NamedTuple):
    """A line that a container printed, and when."""

    at: datetime
    text: str


class End(NamedTuple):
    """How a run ends; ``told`` is what the kubelet says when it is the one who ends it."""

    at: datetime
    exit_code: int
    reason: str
    message: str = ""
    told: str = ""


def container_id(uid: str, container: str, run: int) -> str:
    """The name of a run at the simulated container runtime."""
    return f"containerd://{hashlib.sha256(f'{uid}/{container}/{run}'.encode()).hexdigest()}"


class ContainerRun:
    """One run of a container.

    ``number`` counts the restarts before it; ``end`` is how it will end by itself or by its probes, if it does: what
    ends it earlier, such as the deletion of its pod, is not told here.
    """

    __slots__ = ("_course", "_plan", "behaviour", "container", "end", "number", "pod", "started", "uid")

    def __init__(
        self, pod: Pod, container: Container | EphemeralContainer, behaviour: Behaviour, number: int, started: datetime
    ) -> None:
        self.pod: Key = pod.key
        self.uid: str = pod.metadata.uid
        self.container: Container | EphemeralContainer = container
        self.behaviour: Behaviour = behaviour
        self.number: int = number
        self.started: datetime = started
        self._plan = _plan_of(container, behaviour, number)
        self._course: Course = courses_of(container, behaviour, started)
        self.end: End | None = self._end(pod)

    @property
    def id(self) -> str:
        """The name of the run at the container runtime."""
        return container_id(self.uid, self.container.name, self.number)

    def is_started(self, at: datetime) -> bool:
        """Whether the container counts as started then: its startup probe has succeeded, if it has one."""
        return self._course.started is not None and self._course.started <= at

    def is_ready(self, at: datetime) -> bool:
        """Whether the container is ready then."""
        return self.is_started(at) and any(begin <= at and (end is None or at < end) for begin, end in self._ready)

    @property
    def _ready(self) -> tuple[tuple[datetime, datetime | None], ...]:
        return self._course.ready

    def failures(self, after: datetime, until: datetime) -> Iterator[ProbeFailure]:
        """The probes that fail in a span of time, its end included."""
        return self._course.failures(after, until)

    def next_change(self, after: datetime) -> datetime | None:
        """When something about the run will be otherwise: started, ready, a probe that fails, the end."""
        moments = [
            self._course.started,
            self.end.at if self.end is not None else None,
            self._course.next_failure(after),
        ]
        moments += [moment for span in self._ready for moment in span]
        return min((moment for moment in moments if moment is not None and moment > after), default=None)

    def lines(self, until: datetime) -> Iterator[Line]:
        """What it has printed until then."""
        last = min(until, self.end.at) if self.end is not None else until
        scripted = list(_scripted(self.behaviour.output)) if self.behaviour.output is not None else self._plan.output
        for after, text in scripted:
            if self.started + after <= last:
                yield Line(self.started + after, text)

    def stop(self, asked: datetime, grace: timedelta) -> End:
        """How the run ends when it is told to end: by itself within the grace, or killed."""
        takes = _pre_stop(self.container) + (self.behaviour.stop_after or _ZERO)
        if takes > grace:
            return End(asked + grace, _KILLED, "Error")
        return _ended(asked + takes, self.behaviour.stop_exit_code or 0, "")

    def _end(self, pod: Pod) -> End | None:
        own = None
        if self._plan.duration is not None:
            message = self.behaviour.termination_message or ""
            own = _ended(self.started + self._plan.duration, self._plan.exit_code, message)
            if self.behaviour.oom_killed:
                own = own._replace(exit_code=_KILLED, reason="OOMKilled")
        refused = self._course.killed
        if refused is None or (own is not None and own.at <= refused.at):
            return own
        seconds = refused.grace if refused.grace is not None else pod.spec.termination_grace_period_seconds
        end = self.stop(refused.at, timedelta(seconds=30 if seconds is None else seconds))
        return end._replace(told=f"Container {self.container.name} failed {refused.probe.lower()} probe")


def run_of(pod: Pod, container: str, script: Script, *, previous: bool = False) -> ContainerRun | None:
    """The run that a container of a pod is in or was in last; or the one before it; None if there was none."""
    wanted = next((one for one in _containers(pod) if one.name == container), None)
    statuses = [
        *pod.status.init_container_statuses,
        *pod.status.container_statuses,
        *pod.status.ephemeral_container_statuses,
    ]
    status = next((one for one in statuses if one.name == container), None)
    if wanted is None or status is None:
        return None
    begin = _began(status, previous=previous)
    if begin is None:
        return None
    started, number = begin
    return ContainerRun(pod, wanted, script.of(wanted), number, started)


def runs_of(pod: Pod, script: Script) -> list[ContainerRun]:
    """The runs that all containers of a pod are in or were in last."""
    found = (run_of(pod, container.name, script) for container in _containers(pod))
    return [run for run in found if run is not None]


def _containers(pod: Pod) -> list[Container | EphemeralContainer]:
    return [*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers]


def _began(status: ContainerStatus, *, previous: bool) -> tuple[datetime, int] | None:
    """When a run began, and how many there were before it."""
    state, count = status.state, status.restart_count
    last = status.last_state.terminated if status.last_state is not None else None
    current = state is not None and (state.running or state.terminated)
    if current and not previous:
        return (current.started_at, count) if current.started_at is not None else None
    if last is None or last.started_at is None:
        return None
    return last.started_at, count - 1 if current else count


def _plan_of(container: Container | EphemeralContainer, behaviour: Behaviour, number: int) -> Plan:
    if behaviour.crashes is not None and number >= behaviour.crashes:
        return Plan(None, 0, what_it_does([*container.command, *container.args]).output)
    plan = what_it_does([*container.command, *container.args])
    ends = behaviour.exit_code is not None or bool(behaviour.oom_killed) or behaviour.crashes is not None
    if behaviour.run_for is None and not ends:
        return plan
    code = behaviour.exit_code
    if code is None:
        code = 1 if behaviour.crashes is not None else 0
    return Plan(behaviour.run_for or plan.duration or _ZERO, code, plan.output)


def _ended(at: datetime, code: int, message: str) -> End:
    return End(at, code, "Error" if code else "Completed", message)


def _pre_stop(container: Container | EphemeralContainer) -> timedelta:
    """How long the hook before the end takes, as far as one can tell."""
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    if hook is None:
        return _ZERO
    if hook.sleep is not None:
        return timedelta(seconds=hook.sleep.seconds)
    return (what_it_does(hook.exec.command).duration or _ZERO) if hook.exec is not None else _ZERO


def _scripted(output: str) -> Iterator[tuple[timedelta, str]]:
    for line in output.splitlines():
        mark, _, text = line.partition(" ")
        try:
            after = read_duration(mark[1:]) if mark.startswith("+") else None
        except ValueError:
            after = None
        yield (_ZERO, line) if after is None else (after, text)

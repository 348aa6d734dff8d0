"""One pod: the next step of all its containers, its phase and its conditions, from its status and the time alone.

Level-triggered to the letter: what a kubelet that starts anew finds in the status is all that it needs. Each step is
written before the next one is taken, so that whoever watches sees each.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

import msgspec

from kubewright.controlplane.kubelet.behaviour import Script
from kubewright.controlplane.kubelet.conditions import conditions_of, disruption
from kubewright.controlplane.kubelet.container import ContainerStep, Memory, Note, Role
from kubewright.controlplane.kubelet.phase import last_end, phase_of, restarts
from kubewright.controlplane.pod_resources import is_sidecar, pod_requests
from kubewright.kinds.core_v1 import Container, ContainerStatus, EphemeralContainer, HostIP, Pod, PodIP, PodStatus

__all__ = ["Host", "PodSync"]

_OVER: Final = ("Succeeded", "Failed")
_DEADLINE: Final = "Pod was active on the node longer than the specified deadline"


class Host(Protocol):
    """The node that a pod lives on."""

    @property
    def address(self) -> str:
        """The node's own address."""
        ...

    def pod_address(self, pod: Pod) -> str:
        """The address of a pod: always the same for one pod, and of no other that lives."""
        ...

    def has_image(self, image: str) -> bool:
        """Whether an image has been pulled before."""
        ...


class PodSync:
    """The next step of a pod.

    Afterwards ``status`` is how the pod shall stand, ``notes`` what is told, ``due`` when to look again if nothing
    happens, and ``is_gone`` whether nothing of a pod that is being deleted runs any more.
    """

    def __init__(self, pod: Pod, host: Host, script: Script, memory: Memory, now: datetime) -> None:
        self._pod = pod
        self._host = host
        self._script = script
        self._memory = memory
        self._now = now
        self._stamp = now.replace(microsecond=0)
        self._steps: list[ContainerStep] = []
        self._dues: list[datetime] = []
        self.notes: list[Note] = []
        self.is_gone: bool = False
        self.status: PodStatus = self._next()
        for step in self._steps:
            self.notes += step.notes
            self._dues += step.dues

    @property
    def due(self) -> timedelta | None:
        """How long until something changes by itself."""
        return min(self._dues) - self._now if self._dues else None

    def _next(self) -> PodStatus:
        pod, old = self._pod, self._pod.status
        if pod.metadata.deletion_timestamp is not None:
            return self._deleted(pod.metadata.deletion_timestamp)
        if old.phase in _OVER:
            return old
        if old.start_time is None:
            return self._first()
        ending = self._ending(old.start_time)
        if ending is not None:
            return self._failed(*ending)
        return self._progress(old.start_time)

    def _first(self) -> PodStatus:
        self._dues.append(self._now)
        status = msgspec.structs.replace(self._pod.status, start_time=self._stamp)
        return self._told(status, self._firsts("init"), self._firsts("regular"), self._firsts("ephemeral"))

    def _firsts(self, role: Role) -> dict[str, ContainerStatus]:
        return {container.name: self._step(container, role).first() for container in self._containers(role)}

    def _progress(self, started: datetime) -> PodStatus:
        """Each container's next step: init containers one after the other, then all others at once."""
        old = self._pod.status
        status = msgspec.structs.replace(old)
        if not old.pod_ip:
            address = self._host.address if self._pod.spec.host_network else self._host.pod_address(self._pod)
            status.pod_ip, status.pod_ips = address, [PodIP(ip=address)]
        known = self._known("regular")
        ended_at = self._ended_at(known)
        turn: datetime | None = started
        init: dict[str, ContainerStatus] = {}
        befores = self._known("init")
        for container in self._pod.spec.init_containers:
            before = befores[container.name]
            step = self._step(container, "init")
            if ended_at is not None and is_sidecar(container):
                after = step.stopped(before, ended_at, self._grace)
            else:
                after = step.next(before, turn)
            init[container.name] = after
            turn = _done_at(container, before, after, turn)
        regular = self._all("regular", known, turn)
        ephemeral = self._all("ephemeral", self._known("ephemeral"), started)
        return self._told(status, init, regular, ephemeral)

    def _ended_at(self, known: Mapping[str, ContainerStatus]) -> datetime | None:
        """Since when all containers but the sidecars have ended for good, if they have."""
        ended: list[datetime] = []
        for container in self._pod.spec.containers:
            end = last_end(known[container.name])
            if end is None or restarts(container, self._pod, end.exit_code):
                return None
            ended.append(end.finished_at or self._stamp)
        return max(ended)

    @property
    def _grace(self) -> timedelta:
        seconds = self._pod.spec.termination_grace_period_seconds
        return timedelta(seconds=30 if seconds is None else seconds)

    def _all(
        self, role: Role, known: Mapping[str, ContainerStatus], turn: datetime | None
    ) -> dict[str, ContainerStatus]:
        return {one.name: self._step(one, role).next(known[one.name], turn) for one in self._containers(role)}

    def _ending(self, started: datetime) -> tuple[str, str] | None:
        """Why the pod as a whole must end, if it must: reason and message."""
        limit = self._pod.spec.active_deadline_seconds
        if limit is not None and self._is_past(started + timedelta(seconds=limit)):
            self.notes.append(Note("Normal", "DeadlineExceeded", _DEADLINE))
            return "DeadlineExceeded", _DEADLINE
        for container in self._pod.spec.containers:
            behaviour = self._script.of(container)
            if behaviour.evicted_after is not None and self._is_past(started + behaviour.evicted_after):
                message = f"The node was low on resource: {behaviour.evicted_for or 'memory'}. "
                self.notes.append(Note("Warning", "Evicted", message))
                return "Evicted", message
        return None

    def _is_past(self, moment: datetime) -> bool:
        if moment > self._now:
            self._dues.append(moment)
            return False
        return True

    def _failed(self, reason: str, message: str) -> PodStatus:
        """The pod ends as a whole: what runs is stopped at once."""
        self._tell_killing()
        status = msgspec.structs.replace(self._pod.status, reason=reason, message=message)
        stopped = {role: self._stopped(role, self._now, timedelta(0)) for role in _ROLES}
        told = self._told(status, stopped["init"], stopped["regular"], stopped["ephemeral"], phase="Failed")
        if reason == "Evicted":
            others = [condition for condition in told.conditions if condition.type != "DisruptionTarget"]
            told.conditions = [disruption(self._pod, message, self._stamp), *others]
        return told

    def _deleted(self, deletion: datetime) -> PodStatus:
        """The pod is being deleted: its containers have until then to end."""
        grace = timedelta(seconds=self._pod.metadata.deletion_grace_period_seconds or 0)
        self._tell_killing()
        stopped = {role: self._stopped(role, deletion - grace, grace) for role in _ROLES}
        if any(_is_running(status) for statuses in stopped.values() for status in statuses.values()):
            status = msgspec.structs.replace(self._pod.status)
            return self._told(status, stopped["init"], stopped["regular"], stopped["ephemeral"])
        self.is_gone = True
        if self._pod.status.phase in _OVER:
            return self._pod.status
        phase = phase_of(self._pod, stopped["init"], stopped["regular"], ends=True)
        end = phase if phase in _OVER else "Failed"
        status = msgspec.structs.replace(self._pod.status)
        return self._told(status, stopped["init"], stopped["regular"], stopped["ephemeral"], phase=end)

    def _tell_killing(self) -> None:
        if not self._memory.killing:
            self._memory.killing = True
            for role in _ROLES:
                known = self._known(role)
                for container in self._containers(role):
                    if _is_running(known[container.name]):
                        self._step(container, role).tell("Normal", "Killing", f"Stopping container {container.name}")

    def _stopped(self, role: Role, asked: datetime, grace: timedelta) -> dict[str, ContainerStatus]:
        known = self._known(role)
        return {
            one.name: self._step(one, role).stopped(known[one.name], asked, grace) for one in self._containers(role)
        }

    def _told(
        self,
        status: PodStatus,
        init: dict[str, ContainerStatus],
        regular: dict[str, ContainerStatus],
        ephemeral: dict[str, ContainerStatus],
        phase: str = "",
    ) -> PodStatus:
        """The whole status from the states of the containers."""
        status.phase = phase or phase_of(self._pod, init, regular)
        status.observed_generation = self._pod.metadata.generation
        status.host_ip, status.host_ips = self._host.address, [HostIP(ip=self._host.address)]
        status.init_container_statuses = list(init.values())
        status.container_statuses = [regular[name] for name in sorted(regular)]
        status.ephemeral_container_statuses = [ephemeral[name] for name in sorted(ephemeral)]
        status.allocated_resources = pod_requests(self._pod.spec)
        status.conditions = conditions_of(self._pod, status, init, regular, self._stamp)
        return status

    def _step(self, container: Container | EphemeralContainer, role: Role) -> ContainerStep:
        behaviour = self._script.of(container)
        step = ContainerStep(self._pod, container, role, behaviour, self._memory, self._now, self._host.has_image)
        self._steps.append(step)
        return step

    def _containers(self, role: Role) -> list[Container | EphemeralContainer]:
        spec = self._pod.spec
        if role == "init":
            return [*spec.init_containers]
        return [*spec.containers] if role == "regular" else [*spec.ephemeral_containers]

    def _known(self, role: Role) -> dict[str, ContainerStatus]:
        """The statuses as they are, by container, with first ones for containers that have none."""
        status = self._pod.status
        found = {
            "init": status.init_container_statuses,
            "regular": status.container_statuses,
            "ephemeral": status.ephemeral_container_statuses,
        }[role]
        known = {one.name: one for one in found}
        return {
            container.name: known.get(container.name) or self._step(container, role).first()
            for container in self._containers(role)
        }


_ROLES: Final[tuple[Role, ...]] = ("init", "regular", "ephemeral")


def _done_at(
    container: Container, before: ContainerStatus, after: ContainerStatus, turn: datetime | None
) -> datetime | None:
    """Since when the container after this one may start; a step that is not written yet does not count."""
    state = after.state
    if turn is None or state is None or before.state != state:
        return None
    if is_sidecar(container):
        return max(turn, state.running.started_at or turn) if state.running is not None and after.started else None
    ended = state.terminated
    return max(turn, ended.finished_at or turn) if ended is not None and ended.exit_code == 0 else None


def _is_running(status: ContainerStatus) -> bool:
    return status.state is not None and status.state.running is not None

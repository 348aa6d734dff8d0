"""One container of a pod: the next step from the state that the pod's status shows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

from kubewright.controlplane.kubelet.behaviour import Behaviour
from kubewright.controlplane.kubelet.duration import duration_text
from kubewright.controlplane.kubelet.images import Pull, back_off, image_id, image_size, pull_at, reference
from kubewright.controlplane.kubelet.phase import last_end, restarts
from kubewright.controlplane.kubelet.run import ContainerRun, End
from kubewright.controlplane.pod_resources import is_sidecar
from kubewright.kinds.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    EphemeralContainer,
    LinuxContainerUser,
    Pod,
    ResourceRequirements,
    VolumeMountStatus,
)

__all__ = ["ContainerStep", "Memory", "Note", "Role"]

Role = Literal["init", "regular", "ephemeral"]

_FIELDS: Final = {"init": "initContainers", "regular": "containers", "ephemeral": "ephemeralContainers"}
_LONG_RUN: Final = timedelta(minutes=10)


class Note(NamedTuple):
    """What is told in an Event."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    field_path: str = ""


class Memory:
    """What a kubelet remembers of a pod besides its status: nothing that it could not do without."""

    __slots__ = ("calm_since", "killing", "probed", "problems")

    def __init__(self) -> None:
        self.calm_since: dict[str, int] = {}
        """By container, the number of restarts when it had last run for long: back-off counts from there."""
        self.probed: dict[str, datetime] = {}
        """By container, until when failed probes have been told."""
        self.killing: bool = False
        """Whether it was told that the containers are being stopped."""
        self.problems: tuple[str, ...] = ()
        """What was told about annotations that make no sense."""

    def copy(self) -> Memory:
        """A copy to try things on."""
        other = Memory()
        other.calm_since, other.probed = dict(self.calm_since), dict(self.probed)
        other.killing, other.problems = self.killing, self.problems
        return other


class ContainerStep:
    """The next step of one container; ``notes`` are told, ``dues`` are moments at which to look again."""

    def __init__(
        self,
        pod: Pod,
        container: Container | EphemeralContainer,
        role: Role,
        behaviour: Behaviour,
        memory: Memory,
        now: datetime,
        has_image: Callable[[str], bool],
    ) -> None:
        self._pod = pod
        self._container = container
        self._role = role
        self._behaviour = behaviour
        self._memory = memory
        self._now = now
        self._has_image = has_image
        self.notes: list[Note] = []
        self.dues: list[datetime] = []

    def first(self) -> ContainerStatus:
        """The status of a container whose turn has not come."""
        reason = "PodInitializing" if self._pod.spec.init_containers else "ContainerCreating"
        return ContainerStatus(
            name=self._container.name,
            state=ContainerState(waiting=ContainerStateWaiting(reason=reason)),
            ready=False,
            restart_count=0,
            image=self._container.image or "",
            image_id="",
            started=None if self._role == "ephemeral" else False,
            volume_mounts=_mounts(self._container),
        )

    def next(self, old: ContainerStatus, turn: datetime | None) -> ContainerStatus:
        """The status after the next step, if one is due; ``turn`` is since when the container may start."""
        state = old.state or ContainerState()
        if state.running is not None and state.running.started_at is not None:
            return self._go_on(old, self._run(old, state.running.started_at))
        if state.terminated is not None:
            return self._after_end(old, state.terminated)
        ended = last_end(old)
        if ended is not None:
            return self._wait_for_restart(old, ended)
        return self._wait_for_start(old, turn) if turn is not None else old

    def stopped(self, old: ContainerStatus, asked: datetime, grace: timedelta) -> ContainerStatus:
        """The status of a container that is told to end, then, with so much grace."""
        state = old.state or ContainerState()
        if state.running is None or state.running.started_at is None:
            return old
        run = self._run(old, state.running.started_at)
        end = run.stop(max(asked, run.started), grace)
        if run.end is not None and run.end.at < end.at:
            end = run.end
        if end.at > self._now:
            self.dues.append(end.at)
            return old
        return self._ended(old, run, end)

    def tell(self, type: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Tell something about this container."""
        path = f"spec.{_FIELDS[self._role]}{{{self._container.name}}}"
        self.notes.append(Note(type, reason, message, path))

    def _run(self, status: ContainerStatus, started: datetime) -> ContainerRun:
        return ContainerRun(self._pod, self._container, self._behaviour, status.restart_count, started)

    def _wait_for_start(self, old: ContainerStatus, turn: datetime) -> ContainerStatus:
        image = self._container.image or ""
        pulled = pull_at(image, self._behaviour, turn, self._now)
        if isinstance(pulled, Pull):
            return self._fail_to_pull(old, pulled)
        due = pulled + (self._behaviour.start_after or timedelta(0))
        if due > self._now:
            self.dues.append(due)
            return old
        self._tell_pulled(image, self._now - turn)
        return self._start(old, 0)

    def _fail_to_pull(self, old: ContainerStatus, pull: Pull) -> ContainerStatus:
        self.dues.append(pull.until)
        image = self._container.image
        reason = "ErrImagePull" if pull.is_trying else "ImagePullBackOff"
        text = pull.error if pull.is_trying else f'Back-off pulling image "{image}": ErrImagePull: {pull.error}'
        waiting = ContainerStateWaiting(reason=reason, message=text)
        if old.state is not None and old.state.waiting == waiting:
            return old
        if pull.is_trying:
            self.tell("Normal", "Pulling", f'Pulling image "{image}"')
            self.tell("Warning", "Failed", f'Failed to pull image "{image}": {pull.error}')
        else:
            self.tell("Normal", "BackOff", f'Back-off pulling image "{image}"')
        self.tell("Warning", "Failed", f"Error: {reason}")
        return msgspec.structs.replace(old, state=ContainerState(waiting=waiting))

    def _tell_pulled(self, image: str, took: timedelta) -> None:
        if self._container.image_pull_policy != "Always" and self._has_image(image):
            present = f'Container image "{image}" already present on machine and can be accessed by the pod'
            self.tell("Normal", "Pulled", present)
            return
        self.tell("Normal", "Pulling", f'Pulling image "{image}"')
        time = duration_text(timedelta(milliseconds=max(1, took // timedelta(milliseconds=1))))
        size = image_size(image)
        text = f'Successfully pulled image "{image}" in {time} ({time} including waiting). Image size: {size} bytes.'
        self.tell("Normal", "Pulled", text)

    def _start(self, old: ContainerStatus, count: int) -> ContainerStatus:
        self.tell("Normal", "Created", "Container created")
        self.tell("Normal", "Started", "Container started")
        image = self._container.image or ""
        begun = msgspec.structs.replace(
            old,
            state=ContainerState(running=ContainerStateRunning(started_at=self._now.replace(microsecond=0))),
            last_state=ContainerState(terminated=ended) if (ended := last_end(old)) is not None else old.last_state,
            restart_count=count,
            image=reference(image),
            image_id=image_id(image),
            user=_user(self._pod, self._container),
        )
        assert begun.state is not None
        assert begun.state.running is not None
        run = self._run(begun, begun.state.running.started_at or self._now)
        begun.container_id = run.id
        return self._shown(begun, run)

    def _go_on(self, old: ContainerStatus, run: ContainerRun) -> ContainerStatus:
        end = run.end
        self._tell_probes(run)
        if end is not None and end.at <= self._now:
            return self._ended(old, run, end)
        change = run.next_change(self._now)
        if change is not None:
            self.dues.append(change)
        return self._shown(old, run)

    def _tell_probes(self, run: ContainerRun) -> None:
        if self._role == "ephemeral":
            return
        name = self._container.name
        since = max(self._memory.probed.get(name, run.started), run.started)
        if name not in self._memory.probed:
            # Nothing is told anew of what was before this kubelet, but the moment itself counts.
            since = max(run.started - timedelta(microseconds=1), self._now - timedelta(seconds=1))
        for failure in run.failures(since, self._now):
            self.tell("Warning", "Unhealthy", f"{failure.probe} probe failed: {failure.output}")
        self._memory.probed[name] = self._now

    def _shown(self, status: ContainerStatus, run: ContainerRun) -> ContainerStatus:
        """The status with what the probes show now."""
        if self._role == "ephemeral":
            return msgspec.structs.replace(status, ready=False)
        resources = self._container.resources or ResourceRequirements()
        started = run.is_started(self._now)
        ready = run.is_ready(self._now) and (self._role == "regular" or _is_sidecar(self._container))
        return msgspec.structs.replace(
            status,
            started=started,
            ready=ready,
            allocated_resources=dict(resources.requests),
            resources=resources,
        )

    def _ended(self, old: ContainerStatus, run: ContainerRun, end: End) -> ContainerStatus:
        if end.told:
            will = ", will be restarted" if self._restarts(end.exit_code) else ""
            self.tell("Normal", "Killing", f"{end.told}{will}")
        if end.at - run.started > _LONG_RUN:
            self._memory.calm_since[self._container.name] = old.restart_count
        terminated = ContainerStateTerminated(
            exit_code=end.exit_code,
            reason=end.reason,
            message=end.message or None,
            started_at=run.started,
            finished_at=end.at.replace(microsecond=0),
            container_id=run.id,
        )
        is_done = self._role == "init" and not _is_sidecar(self._container) and end.exit_code == 0
        started = None if self._role == "ephemeral" else False
        state = ContainerState(terminated=terminated)
        return msgspec.structs.replace(old, state=state, ready=is_done, started=started)

    def _restarts(self, code: int) -> bool:
        if isinstance(self._container, EphemeralContainer):
            return False
        return restarts(self._container, self._pod, code, is_init=self._role == "init")

    def _back_off(self, status: ContainerStatus) -> timedelta:
        return back_off(status.restart_count - self._memory.calm_since.get(self._container.name, 0))

    def _after_end(self, old: ContainerStatus, ended: ContainerStateTerminated) -> ContainerStatus:
        if not self._restarts(ended.exit_code):
            return old
        wait = self._back_off(old)
        if not wait:
            return self._restart(old)
        name, pod = self._container.name, f"{self._pod.name}_{self._pod.namespace}({self._pod.metadata.uid})"
        self.tell("Warning", "BackOff", f"Back-off restarting failed container {name} in pod {pod}")
        message = f"back-off {duration_text(wait)} restarting failed container={name} pod={pod}"
        waiting = ContainerStateWaiting(reason="CrashLoopBackOff", message=message)
        last = ContainerState(terminated=ended)
        return msgspec.structs.replace(old, state=ContainerState(waiting=waiting), last_state=last, ready=False)

    def _wait_for_restart(self, old: ContainerStatus, ended: ContainerStateTerminated) -> ContainerStatus:
        due = (ended.finished_at or self._now) + self._back_off(old)
        if due > self._now:
            self.dues.append(due)
            return old
        return self._restart(old)

    def _restart(self, old: ContainerStatus) -> ContainerStatus:
        self._tell_pulled(self._container.image or "", timedelta(0))
        return self._start(old, old.restart_count + 1)


def _is_sidecar(container: Container | EphemeralContainer) -> bool:
    return isinstance(container, Container) and is_sidecar(container)


def _mounts(container: Container | EphemeralContainer) -> list[VolumeMountStatus]:
    return [
        VolumeMountStatus(
            name=mount.name,
            mount_path=mount.mount_path,
            read_only=mount.read_only,
            recursive_read_only=("Disabled" if mount.read_only else None),
        )
        for mount in container.volume_mounts
    ]


def _user(pod: Pod, container: Container | EphemeralContainer) -> ContainerUser:
    """As whom the container runs: as it says, as its pod says, or as root."""
    own, whole = container.security_context, pod.spec.security_context
    uid = (own.run_as_user if own is not None else None) or (whole.run_as_user if whole is not None else None) or 0
    gid = (own.run_as_group if own is not None else None) or (whole.run_as_group if whole is not None else None) or 0
    groups = [gid, *(whole.supplemental_groups if whole is not None else [])]
    if whole is not None and whole.fs_group is not None:
        groups.append(whole.fs_group)
    return ContainerUser(linux=LinuxContainerUser(uid=uid, gid=gid, supplemental_groups=groups))

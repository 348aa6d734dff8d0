"""What containers print: read as a log, or followed while they run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from kubewright.api import Key, now
from kubewright.controlplane.kubelet import ContainerRun, Line, Script, Stage, run_of
from kubewright.controlplane.kubelet_door.residents import Residents
from kubewright.kinds.core_v1 import Container, ContainerState, ContainerStatus, EphemeralContainer, Pod

__all__ = ["LogOptions", "Output", "containers_of", "log_refusal", "status_of"]

_EVER: Final = datetime.max.replace(tzinfo=UTC)
_SECOND: Final = timedelta(milliseconds=999)
_MOMENT: Final = 0.001
_PULLING: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What of a log is wanted, and how."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: datetime | None = None
    limit: int | None = None

    @classmethod
    def in_query(cls, query: Mapping[str, list[str]]) -> LogOptions:
        """As the query of a request to a kubelet says it; raises ``ValueError`` for what makes no sense."""
        one = {name: values[0] for name, values in query.items()}
        since = datetime.fromisoformat(one["sinceTime"]) if one.get("sinceTime") else None
        if one.get("sinceSeconds"):
            since = now() - timedelta(seconds=int(one["sinceSeconds"]))
        return cls(
            follow=one.get("follow") == "true",
            previous=one.get("previous") == "true",
            timestamps=one.get("timestamps") == "true",
            tail=int(one["tailLines"]) if one.get("tailLines") else None,
            since=since,
            limit=int(one["limitBytes"]) if one.get("limitBytes") else None,
        )


def containers_of(pod: Pod) -> list[Container | EphemeralContainer]:
    """All containers of a pod, of whichever sort."""
    return [*pod.spec.init_containers, *pod.spec.containers, *pod.spec.ephemeral_containers]


def status_of(pod: Pod, container: str) -> ContainerStatus | None:
    """The status of a container, of whichever sort it is."""
    status = pod.status
    every = [*status.container_statuses, *status.init_container_statuses, *status.ephemeral_container_statuses]
    return next((one for one in every if one.name == container), None)


def log_refusal(pod: Pod, container: str, *, previous: bool) -> str:
    """Why there is no log, in the kubelet's words; empty if there is one."""
    place = f'container "{container}" in pod "{pod.name}"'
    status = status_of(pod, container)
    if status is None:
        return f"{place} is not available"
    state = status.state or ContainerState()
    last = status.last_state.terminated if status.last_state is not None else None
    has_last = last is not None and bool(last.container_id)
    if previous:
        return "" if has_last else f"previous terminated {place} not found"
    if state.running is not None or (state.terminated is not None and state.terminated.container_id) or has_last:
        return ""
    if state.terminated is not None or last is not None:
        return f"{place} is terminated"
    if state.waiting is not None:
        reason = state.waiting.reason or ""
        return f"{place} is waiting to start: {_PULLING.get(reason, reason)}"
    return f"{place} is waiting to start - no logs yet"


class Output:
    """What one run of a container prints."""

    def __init__(self, pod: Pod, container: str, run: ContainerRun, residents: Residents) -> None:
        self._key: Key = pod.key
        self._uid = pod.metadata.uid
        self._container = container
        self._run = run
        self._residents = residents
        self._pod: Pod | None = pod

    @classmethod
    def of(
        cls, pod: Pod, container: str, residents: Residents, stages: Sequence[Stage], *, previous: bool
    ) -> Output | None:
        """That of the run that a container is in or was in last, or of the one before; None if there was none."""
        run = run_of(pod, container, Script(pod, stages), previous=previous)
        return cls(pod, container, run, residents) if run is not None else None

    def lines(self) -> list[Line]:
        """What it has printed so far."""
        return self._until(min(now(), self._ended or _EVER))

    def _until(self, moment: datetime) -> list[Line]:
        # Scripts need not tell lines in the order of their times.
        return sorted(self._run.lines(moment), key=lambda line: line.at)

    @property
    def _ended(self) -> datetime | None:
        """When the run has ended, as far as the pod says; None while it goes on."""
        status = status_of(self._pod, self._container) if self._pod is not None else None
        if status is None or self._pod is None or self._pod.metadata.uid != self._uid:
            return now()
        for state in (status.state, status.last_state):
            ended = state.terminated if state is not None else None
            if ended is not None and ended.container_id == self._run.id:
                # Statuses have whole seconds.
                return (ended.finished_at or now()) + _SECOND
        is_current = status.state is not None and status.state.running is not None
        return None if is_current and status.restart_count == self._run.number else now()

    async def follow(self, already: int) -> AsyncIterator[Line]:
        """Each line after so many, when it is printed, until the run ends."""
        with self._residents.changes(self._key) as changed:
            while True:
                changed.clear()
                self._pod = self._residents.get(self._key)
                ended, lines = self._ended, self.lines()
                for line in lines[already:]:
                    yield line
                already = max(already, len(lines))
                if ended is not None:
                    return
                await self._until_next(already, changed)

    async def _until_next(self, already: int, changed: asyncio.Event) -> None:
        """Return when the next line is due, or something about the pod is otherwise."""
        coming = self._until(_EVER)[already : already + 1]
        wait = max((coming[0].at - now()).total_seconds(), _MOMENT) if coming else None
        try:
            async with asyncio.timeout(wait):
                await changed.wait()
        except TimeoutError:
            return

    async def log(self, options: LogOptions) -> AsyncIterator[bytes]:
        """The log as it is sent: line by line, not more than was asked for."""
        written = self.lines()
        shown = written if options.tail is None else written[max(len(written) - options.tail, 0) :]
        left = options.limit
        for line in shown:
            if options.since is None or line.at >= options.since:
                data = _printed(line, options)[:left]
                yield data
                left = left - len(data) if left is not None else None
        if not options.follow or left == 0:
            return
        async for line in self.follow(len(written)):
            data = _printed(line, options)[:left]
            yield data
            left = left - len(data) if left is not None else None
            if left == 0:
                return


def _printed(line: Line, options: LogOptions) -> bytes:
    stamp = f"{line.at:%Y-%m-%dT%H:%M:%S.%f}000Z " if options.timestamps else ""
    return f"{stamp}{line.text}\n".encode()

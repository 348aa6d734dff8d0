"""``KubeletDoor``: what API servers ask of the kubelets of simulated nodes: logs, exec, attach, port-forward."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote

from kubewright.api import Key
from kubewright.cluster import Cluster
from kubewright.controlplane.kubelet import Stage
from kubewright.controlplane.kubelet_door.output import LogOptions, Output, containers_of, log_refusal, status_of
from kubewright.controlplane.kubelet_door.ports import (
    CHANNELS,
    TUNNEL,
    PortStream,
    forward_channels,
    forward_tunnel,
    ports_in,
)
from kubewright.controlplane.kubelet_door.remote_command import PROTOCOLS, Asked, Streams, run_command
from kubewright.controlplane.kubelet_door.residents import Residents
from kubewright.controlplane.kubelet_door.shell import simulated_exec
from kubewright.controlplane.kubelet_door.wire import WireEnd, served
from kubewright.controlplane.loop import Loop
from kubewright.kinds.core_v1 import Pod
from kubewright.operator import Background

__all__ = ["Exec", "KubeletDoor", "Port"]

Answer: TypeAlias = tuple[int, Sequence[tuple[str, str]], AsyncIterable[bytes]]

Exec: TypeAlias = Callable[[Pod, str, Sequence[str], Streams], Awaitable[int]]
"""``async def exec(pod, container, command, streams)``: runs a command, gives its exit code."""

Port: TypeAlias = Callable[[Pod, int, PortStream], Awaitable[None]]
"""``async def port(pod, port, stream)``: serves a connection; raises ``OSError`` where nobody listens."""

_TEXT: Final = [("Content-Type", "text/plain")]
_NAMED: Final = 3
_CONTAINED: Final = 4


class _Refused(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class KubeletDoor:
    """The kubelets' API on plain types, for an API server in this process; ``listening`` brings it to a socket.

    >>> async def exec(pod: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
    ...     await streams.write("hello\\n")
    ...     return 0
    >>> door = KubeletDoor(exec=exec)
    >>> ApiServer(listens=False, kubelet=door)

    Logs are what containers print by their commands and their scripts (``kubelet.behaviour``). Commands are run by
    ``exec``, or else by ``simulated_exec``; connections are served by ``port``, or else refused. ``stages`` are those
    of the kubelet's loop. Pods are found once the door's ``loop`` runs beside that. Of a pod on a node that is lost
    nothing can be had: ``TimeoutError`` is raised.
    """

    def __init__(self, *, exec: Exec | None = None, port: Port | None = None, stages: Sequence[Stage] = ()) -> None:
        self._exec: Exec = exec or simulated_exec
        self._port: Port = port or _nobody
        self._stages = tuple(stages)
        self._residents = Residents()
        self._streams: dict[asyncio.Task[None], None] = {}

    def loop(self) -> Loop:
        """What lets the door find pods, to run beside the kubelet's loop."""
        return Loop("kubelet-door", background=[Background(self._attend)])

    async def _attend(self, cluster: Cluster) -> None:
        with self._residents.open(cluster.cache):
            try:
                await asyncio.Event().wait()
            finally:
                for task in self._streams:
                    task.cancel()

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """Answer a request: a log, or why there is nothing."""
        parts, query = _read(target)
        try:
            if parts == ["healthz"]:
                return 200, _TEXT, _once(b"ok")
            if len(parts) == _CONTAINED and parts[0] == "containerLogs":
                return 200, _TEXT, self._log(Key(parts[1], parts[2]), parts[3], query)
            self._serving(parts, query, (*PROTOCOLS, CHANNELS, TUNNEL))
        except _Refused as refused:
            return refused.status, _TEXT, _once(str(refused).encode())
        return 400, _TEXT, _once(b"Upgrade request required")

    async def connect(
        self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]
    ) -> WireEnd | Answer:
        """A WebSocket for exec, attach or port-forward, or the answer that says why not."""
        parts, query = _read(target)
        try:
            protocol, serve = self._serving(parts, query, subprotocols)
        except _Refused as refused:
            return refused.status, _TEXT, _once(str(refused).encode())
        wire = served(protocol, serve)
        if wire.server is not None:
            self._streams[wire.server] = None
            wire.server.add_done_callback(self._streams.pop)
        return wire

    def _serving(
        self, parts: Sequence[str], query: dict[str, list[str]], offered: Sequence[str]
    ) -> tuple[str, Callable[[WireEnd], Coroutine[Any, Any, None]]]:
        """What is spoken with the client, and who does; raises ``_Refused``."""
        what = parts[0] if parts else ""
        if what == "portForward" and len(parts) == _NAMED:
            return self._forwarding(Key(parts[1], parts[2]), query, offered)
        if what in ("exec", "attach") and len(parts) == _CONTAINED:
            return self._running(what, Key(parts[1], parts[2]), parts[3], query, offered)
        raise _Refused(404, "404 page not found\n")

    def _log(self, key: Key, container: str, query: dict[str, list[str]]) -> AsyncIterator[bytes]:
        try:
            options = LogOptions.in_query(query)
        except ValueError:
            raise _Refused(400, '{"message": "Unable to decode query."}') from None
        pod = self._pod(key, f'pod "{key.name}" does not exist')
        if all(one.name != container for one in containers_of(pod)):
            raise _Refused(404, f'container "{container}" not found in pod "{key.name}"')
        if refusal := log_refusal(pod, container, previous=options.previous):
            raise _Refused(400, refusal)
        output = self._output(pod, container, previous=options.previous)
        return output.log(options) if output is not None else _once(b"")

    def _running(
        self, what: str, key: Key, container: str, query: dict[str, list[str]], offered: Sequence[str]
    ) -> tuple[str, Callable[[WireEnd], Coroutine[Any, Any, None]]]:
        asked = Asked.in_query(query)
        if not (asked.stdin or asked.stdout or asked.stderr):
            raise _Refused(400, "you must specify at least 1 of stdin, stdout, stderr")
        pod = self._pod(key, "pod does not exist")
        status = status_of(pod, container)
        if status is None or status.state is None or status.state.running is None:
            place = f'not found ("{container}")' if what == "exec" else f"{container} not found in pod {_full(pod)}"
            raise _Refused(500, f"container {place}")
        protocol = _chosen(offered, PROTOCOLS)
        command = query.get("command", [])

        async def attach(streams: Streams) -> int:
            output = self._output(pod, container, previous=False)
            if output is not None:
                async for line in output.follow(len(output.lines())):
                    await streams.write(f"{line.text}\n")
            return 0

        async def execute(streams: Streams) -> int:
            return await self._exec(pod, container, command, streams)

        async def serve(wire: WireEnd) -> None:
            if what == "attach":
                await run_command(wire, asked, attach, "error attaching to container")
            else:
                await run_command(wire, asked, execute, "error executing command in container")

        return protocol, serve

    def _forwarding(
        self, key: Key, query: dict[str, list[str]], offered: Sequence[str]
    ) -> tuple[str, Callable[[WireEnd], Coroutine[Any, Any, None]]]:
        protocol = TUNNEL if TUNNEL in offered else _chosen(offered, (CHANNELS,))
        try:
            ports = ports_in(query) if protocol != TUNNEL else []
        except ValueError as error:
            raise _Refused(400, str(error)) from None
        pod = self._pod(key, "pod does not exist")
        if pod.status.phase != "Running":
            raise _Refused(500, f'pod not found ("{_full(pod)}")')

        async def forward(port: int, stream: PortStream) -> str:
            try:
                await self._port(pod, port, stream)
            except OSError as error:
                return f"error forwarding port {port} to pod {pod.name}, uid {pod.metadata.uid}: {error}"
            return ""

        async def serve(wire: WireEnd) -> None:
            if protocol == TUNNEL:
                await forward_tunnel(wire, forward)
            else:
                await forward_channels(wire, ports, forward)

        return protocol, serve

    def _output(self, pod: Pod, container: str, *, previous: bool) -> Output | None:
        return Output.of(pod, container, self._residents, self._stages, previous=previous)

    def _pod(self, key: Key, missing: str) -> Pod:
        pod = self._residents.get(key)
        if pod is None:
            raise _Refused(404, missing)
        if self._residents.is_lost(pod):
            raise TimeoutError(f"node {pod.spec.node_name} does not answer: it is lost")
        return pod


async def _nobody(pod: Pod, port: int, stream: PortStream) -> None:
    raise ConnectionRefusedError(f"failed to connect to localhost:{port}: connect: connection refused")


def _read(target: str) -> tuple[list[str], dict[str, list[str]]]:
    path, _, query = target.partition("?")
    return [unquote(part) for part in path.strip("/").split("/")], parse_qs(query, keep_blank_values=True)


def _chosen(offered: Sequence[str], known: Sequence[str]) -> str:
    """The best of what is known; raises ``_Refused`` if nothing of it is offered."""
    found = next((protocol for protocol in known if protocol in offered), None)
    if found is None:
        raise _Refused(403, f"none of the subprotocols is known here; there are {', '.join(known)}")
    return found


def _full(pod: Pod) -> str:
    return f"{pod.name}_{pod.namespace}"


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data

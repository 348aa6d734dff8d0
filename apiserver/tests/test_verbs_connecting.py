"""log, exec, attach and portforward, with a kubelet in the same process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver import ApiServer
from kubewright_apiserver.answer import Answer, Socket, Whole
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.options import server_options

V5, V4, TUNNEL = "v5.channel.k8s.io", "v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"
POD = "/api/v1/namespaces/default/pods/p"
ADDRESSES = [{"type": "Hostname", "address": "n.example.com"}, {"type": "InternalIP", "address": "10.1.2.3"}]


class Wire:
    """A WebSocket that says what it hears."""

    def __init__(self, subprotocol: str) -> None:
        self.subprotocol = subprotocol
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.is_closed = False

    async def send(self, message: bytes) -> None:
        await self._messages.put(message)

    async def receive(self) -> bytes | None:
        return await self._messages.get()

    async def aclose(self) -> None:
        self.is_closed = True
        await self._messages.put(None)


class Kubelet:
    """A kubelet that notes what it is asked; ``refusal`` is what it answers, if it does not do it."""

    def __init__(self, refusal: tuple[int, bytes] | None = None) -> None:
        self.asked: list[tuple[str, str]] = []
        self.wires: list[Wire] = []
        self._refusal = refusal

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        self.asked.append((dict(headers)["Host"], target))
        status, text = self._refusal or (200, b"a line\n")
        return status, [("Content-Type", "text/plain")], Whole(text)

    async def connect(
        self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]
    ) -> Socket | Answer:
        if self._refusal is not None:
            return await self.handle("GET", target, headers, b"")
        self.asked.append((dict(headers)["Host"], target))
        self.wires.append(Wire(subprotocols[0]))
        return self.wires[-1]


@asynccontextmanager
async def serving(kubelet: Kubelet, features: Sequence[str] = (), **options: Any) -> AsyncIterator[ApiServer]:
    async with ApiServer(listens=False, kubelet=kubelet, **options) as server:
        container = {"name": "c", "image": "i"}
        await sent(server, "POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
        status = {"addresses": ADDRESSES, "declaredFeatures": list(features)}
        await sent(server, "PATCH", "/api/v1/nodes/n/status", {"status": status})
        spec = {"containers": [container], "nodeName": "n"}
        await sent(server, "POST", POD.rpartition("/")[0], {"metadata": {"name": "p"}, "spec": spec})
        yield server


async def sent(server: ApiServer, method: str, target: str, body: Any = None) -> tuple[int, Any]:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    data = b"" if body is None else json.dumps(body).encode()
    return await read(await server.handle(method, target, [("Content-Type", kind)], data))


async def read(answer: Answer) -> tuple[int, Any]:
    text = b"".join([chunk async for chunk in answer[2]])
    try:
        return answer[0], json.loads(text)
    except ValueError:
        return answer[0], text.decode()


async def test_a_log_is_asked_of_the_node_and_passed_on_as_it_is():
    kubelet = Kubelet()
    async with serving(kubelet) as server:
        answer = await server.handle("GET", f"{POD}/log?tailLines=3&follow=true&container=c&timestamps=1", [], b"")
        found = await read(answer)

    assert found == (200, "a line\n")
    assert ("Content-Type", "text/plain") in answer[1]
    assert kubelet.asked == [
        ("n.example.com:10250", "/containerLogs/default/p/c?follow=true&tailLines=3&timestamps=true")
    ]


async def test_which_address_of_a_node_is_taken_can_be_told():
    kubelet = Kubelet()
    async with serving(kubelet, kubelet_address_types=("ExternalIP", "InternalIP")) as server:
        await sent(server, "GET", f"{POD}/log")

    assert kubelet.asked == [("10.1.2.3:10250", "/containerLogs/default/p/c")]


@pytest.mark.parametrize(
    ("status", "text", "code", "reason", "message"),
    [
        (400, b"is waiting to start", 400, "BadRequest", "is waiting to start"),
        (500, b"broken", 500, "InternalError", "Internal error occurred: broken"),
        (404, b"gone", 404, "NotFound", "the server could not find the requested resource ( pods/log p)"),
    ],
)
async def test_what_a_kubelet_refuses_of_logs(status: int, text: bytes, code: int, reason: str, message: str):
    async with serving(Kubelet((status, text))) as server:
        found, body = await sent(server, "GET", f"{POD}/log")

    assert (found, body["reason"], body["message"]) == (code, reason, message)


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        ("exec?command=a%20b&command=c&stdin=1&container=c", "/exec/default/p/c?command=a+b&command=c&input=1"),
        ("exec?command=a&stderr=true&tty=true&stdin=false", "/exec/default/p/c?command=a&error=1&tty=1"),
        ("attach?stdout=true&command=none", "/attach/default/p/c?output=1"),
        ("portforward?ports=80&ports=443,8080", "/portForward/default/p?port=80%2C443%2C8080"),
        ("portforward", "/portForward/default/p"),
    ],
)
async def test_a_connection_is_asked_of_the_node(asked: str, target: str):
    kubelet = Kubelet()
    async with serving(kubelet) as server:
        socket = await server.connect(f"{POD}/{asked}", [], [V4])
        assert not isinstance(socket, tuple)
        await socket.send(b"\x00hello")
        heard = await socket.receive()
        await socket.aclose()

    assert kubelet.asked == [("n.example.com:10250", target)]
    assert (socket.subprotocol, heard, kubelet.wires[0].is_closed) == (V4, b"\x00hello", True)


async def test_a_refusal_of_the_kubelet_is_passed_on_as_it_is():
    async with serving(Kubelet((500, b"container not found"))) as server:
        answer = await server.connect(f"{POD}/exec?command=a&stdout=1", [], [V4])
        assert isinstance(answer, tuple)
        found = await read(answer)

    assert found == (500, "container not found")


@pytest.mark.parametrize(("features", "is_told_later"), [((), True), (("ExtendWebSocketsToKubelet",), False)])
async def test_a_refusal_comes_on_the_web_socket_unless_the_node_speaks_that_itself(
    features: Sequence[str], is_told_later: bool
):
    async with serving(Kubelet((500, b"container not found")), features) as server:
        found = await server.connect(f"{POD}/exec?command=a&stdout=1", [], [V5, V4])
        if isinstance(found, tuple):
            assert not is_told_later
            return
        told = [await found.receive() for _ in range(3)]

    assert is_told_later
    assert told[0] == b"\x01"
    assert told[1] is not None
    message = "Internal error occurred: unable to upgrade connection: container not found"
    assert (told[1][0], json.loads(told[1][1:])["message"]) == (3, message)
    assert told[2] is None


async def test_who_speaks_spdy_hears_what_is_spoken():
    upgrade = [("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")]
    async with serving(Kubelet((400, b"Upgrade request required"))) as server:
        answer = await server.handle("POST", f"{POD}/exec?command=a&stdout=1", upgrade, b"")
        status, body = await read(answer)

    assert (status, body["reason"]) == (400, "BadRequest")
    assert "only WebSockets are spoken here, not SPDY/3.1" in body["message"]


async def test_the_end_of_a_connection_is_told_to_auditors(tmp_path: Path):
    log = tmp_path / "audit.log"

    def stages() -> list[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["stage"] for line in lines if line["objectRef"].get("subresource") == "exec"]

    async with serving(Kubelet(), audit_log=log) as server:
        socket = await server.connect(f"{POD}/exec?command=a&stdout=1", [], [V5])
        assert not isinstance(socket, tuple)
        before = stages()
        await socket.aclose()
        after = stages()

    assert before == ["RequestReceived", "ResponseStarted"]
    assert after == ["RequestReceived", "ResponseStarted", "ResponseComplete"]


async def test_a_fork_has_the_same_kubelet():
    kubelet = Kubelet()
    async with serving(kubelet) as server, server.fork() as fork:
        found = await sent(fork, "GET", f"{POD}/log")

    assert found == (200, "a line\n")


def test_the_flag_of_kube_apiserver_says_which_address_is_taken():
    flags = Flags(["--kubelet-preferred-address-types=InternalDNS,InternalIP"])

    assert flags.ignored == []
    assert server_options(flags, None)["kubelet_address_types"] == ["InternalDNS", "InternalIP"]

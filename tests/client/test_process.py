"""exec, attach, port-forward and logs, against a real WebSocket server that plays the kubelet."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from aiohttp import WSMsgType, web

from kubewright.api import Metadata
from kubewright.client import Client
from kubewright.config import Config
from kubewright.errors import InternalError, NotFound, TransportError
from kubewright.kinds.core_v1 import Pod, PodSpec
from tests.client.scripted import failure

POD = Pod(metadata=Metadata(name="p", namespace="ns"), spec=PodSpec(containers=[]))
Play = Callable[[web.WebSocketResponse, web.Request], Awaitable[None]]


@asynccontextmanager
async def kubelet(play: Play, protocols: tuple[str, ...] = ("v5.channel.k8s.io",)) -> AsyncIterator[Client]:
    async def upgrade(request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=protocols)
        await socket.prepare(request)
        await play(socket, request)
        await socket.close()
        return socket

    async with serving(upgrade) as client:
        yield client


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[Client]:
    app = web.Application()
    app.router.add_get("/{path:.*}", handler)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with Client(Config(server=f"http://127.0.0.1:{port}")) as client:
            yield client
    finally:
        await runner.cleanup()


def status(**body: object) -> bytes:
    return b"\x03" + json.dumps({"status": "Failure", **body}).encode()


async def test_exec_gives_what_the_command_prints_and_its_exit_code():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        command = " ".join(request.query.getall("command"))
        await socket.send_bytes(b"\x01")
        await socket.send_bytes(b"\x01ran " + command.encode())
        await socket.send_bytes(b"\x02oops")
        cause = {"reason": "ExitCode", "message": "42"}
        await socket.send_bytes(status(reason="NonZeroExitCode", details={"causes": [cause]}))

    async with kubelet(play) as client, client.exec(POD, ["ls", "-l"], container="main") as process:
        done = await process.wait()

    assert (done.exit_code, done.stdout, done.stderr) == (42, b"ran ls -l", b"oops")


async def test_exec_sends_input_closes_it_and_resizes():
    heard: list[bytes] = []

    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        async for message in socket:
            assert message.type is WSMsgType.BINARY
            heard.append(message.data)
            if message.data == b"\xff\x00":
                break
        await socket.send_bytes(b'\x03{"status":"Success"}')

    async with kubelet(play) as client, client.exec(POD, ["cat"], stdin=True, tty=True) as process:
        await process.resize(width=80, height=24)
        await process.write(b"hello")
        await process.close_stdin()
        done = await process.wait()

    assert heard == [b'\x04{"Width":80,"Height":24}', b"\x00hello", b"\xff\x00"]
    assert done.exit_code == 0


async def test_closing_input_on_an_older_server_is_refused_with_the_reason():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        await socket.receive()

    async with kubelet(play, ("v4.channel.k8s.io",)) as client, client.exec(POD, ["cat"], stdin=True) as process:
        with pytest.raises(TransportError, match=r"speaks v4\.channel\.k8s\.io"):
            await process.close_stdin()


async def test_a_command_that_cannot_be_run_is_an_error():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        await socket.send_bytes(status(code=500, reason="InternalError", message="no such file: nope"))

    async with kubelet(play) as client, client.exec(POD, ["nope"]) as process:
        with pytest.raises(InternalError, match="no such file: nope"):
            await process.wait()


async def test_a_connection_that_ends_before_the_command_has_no_exit_code():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        await socket.send_bytes(b"\x01half")

    async with kubelet(play) as client, client.attach(POD) as process:
        with pytest.raises(TransportError, match="ended before the command did"):
            await process.wait()


async def test_a_refused_upgrade_tells_the_servers_reason():
    async def refuse(request: web.Request) -> web.StreamResponse:
        return web.json_response(failure(404, "NotFound", 'pods "p" not found', name="p"), status=404)

    async with serving(refuse) as client:
        with pytest.raises(NotFound, match='pods "p" not found'):
            async with client.exec(POD, ["ls"]):
                pass


async def test_a_forwarded_port_carries_bytes_both_ways():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        assert request.query["ports"] == "8080"
        await socket.send_bytes(b"\x00" + (8080).to_bytes(2, "little"))
        await socket.send_bytes(b"\x01" + (8080).to_bytes(2, "little"))
        message = await socket.receive_bytes()
        await socket.send_bytes(b"\x00echo " + message[1:])

    async with kubelet(play, ("v4.channel.k8s.io",)) as client, client.port_forward(POD, 8080) as connection:
        await connection.write(b"ping")

        assert await connection.read() == b"echo ping"
        assert [data async for data in connection] == []


async def test_a_port_that_nobody_listens_on_is_told():
    async def play(socket: web.WebSocketResponse, request: web.Request) -> None:
        await socket.send_bytes(b"\x01\x90\x1f")
        await socket.send_bytes(b"\x01connection refused")

    async with kubelet(play, ("v4.channel.k8s.io",)) as client, client.port_forward(POD, 8080) as connection:
        with pytest.raises(TransportError, match="port 8080 of the pod: connection refused"):
            await connection.read()


async def test_logs_come_line_by_line():
    async def tell(request: web.Request) -> web.StreamResponse:
        assert dict(request.query) == {"container": "main", "tailLines": "3", "follow": "true", "sinceSeconds": "60"}
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        await response.prepare(request)
        for part in (b"one\ntw", b"o\nthr\xff", b"ee"):
            await response.write(part)
        return response

    async with serving(tell) as client:
        options = {"container": "main", "tail": 3}
        async with client.logs(POD, follow=True, since=timedelta(minutes=1), **options) as lines:  # type: ignore[arg-type]
            assert [line async for line in lines] == ["one", "two", "thr�ee"]

"""kubectl logs, exec, attach, cp and port-forward over HTTP: kubectl, API server and kubelet by sockets."""

from __future__ import annotations

import asyncio
import io
import random
import subprocess
import tarfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import pytest

from kubewright.client import Client, HttpTransport, MergePatch
from kubewright.config import Config
from kubewright.controlplane import SimulatedNode, operator_of
from kubewright.controlplane.kubelet import LOST, kubelet_loop
from kubewright.controlplane.kubelet_door import KubeletDoor, ListeningDoor, PortStream, Streams, simulated_exec
from kubewright.errors import ApiError
from kubewright.kinds.core_v1 import Node, Pod
from kubewright.testing import RealControlPlane
from kubewright.testing.kubectl import run_kubectl
from kubewright_apiserver import ApiServer
from tests.controlplane.test_streams import completed, is_running, pod, read
from tests.real import require_binaries

ADDRESSES = ("InternalDNS",)


class Cluster:
    """A client, and kubectl."""

    def __init__(self, client: Client, kubeconfig: Path, folder: Path) -> None:
        self.client = client
        self.kubeconfig = kubeconfig
        self._folder = folder

    async def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
        binary = require_binaries().kubectl
        async with asyncio.timeout(60):
            return await run_kubectl(
                binary, arguments, kubeconfig=self.kubeconfig, cache=self._folder / "cache", input=input
            )


@asynccontextmanager
async def kubelets(kubeconfig: Path, door: ListeningDoor) -> AsyncIterator[Client]:
    """Simulated nodes on a server, and a client of it."""
    loops = [kubelet_loop([SimulatedNode(name="node-1", kubelet_port=door.port)]), door.loop()]
    config = Config.from_kubeconfig(kubeconfig)
    async with (
        Client(transport=HttpTransport(config)) as outside,
        Client(transport=HttpTransport(config)) as inside,
        operator_of(loops).running(inside, dice=random.Random(0)) as running,
    ):
        await running.wait_ready()
        client = outside.using(namespace="default")
        await client.create(pod("web", output="hello\n+1s again\n+500ms between"))
        await client.wait_until(Pod, "web", is_running)
        yield client


@asynccontextmanager
async def cluster(folder: Path, door: KubeletDoor | None = None) -> AsyncIterator[Cluster]:
    with closing(ListeningDoor(door or KubeletDoor())) as listening:
        async with ApiServer(kubelet_address_types=ADDRESSES) as server:
            async with kubelets(server.kubeconfig, listening) as client:
                yield Cluster(client, server.kubeconfig, folder)


async def test_our_client_reads_logs_and_runs_commands_over_http(tmp_path: Path):
    async with cluster(tmp_path) as found:
        followed = []
        async with found.client.logs(pod(), follow=True) as lines:
            async for line in lines:
                followed.append(line)
                if line == "again":
                    break

        ended = await completed(found.client, pod(), "sh", "-c", "echo a; echo b >&2; exit 3")
        with pytest.raises(ApiError, match=r'container not found \("main"\)'):
            await _exec_in_one_that_ended(found.client)

    assert followed == ["hello", "between", "again"]
    assert ended == (3, b"a\n", b"b\n")


async def _exec_in_one_that_ended(client: Client) -> None:
    made = pod("done", ["true"])
    made.spec.restart_policy = "Never"
    await client.create(made)
    await client.wait_until(Pod, "done", lambda one: one.status.phase == "Succeeded")
    await completed(client, made, "true")


async def test_kubectl_reads_logs_and_runs_commands(tmp_path: Path):
    async with cluster(tmp_path) as found:
        async with found.client.logs(pod(), follow=True) as lines:
            # What it prints last is there.
            await anext(line async for line in lines if line == "again")

        await asyncio.gather(*(_looked_at(found, *case) for case in CASES))


CASES: Sequence[tuple[Sequence[str], str | None, tuple[int, str, str]]] = (
    (["logs", "web", "--limit-bytes=6"], None, (0, "hello\n", "")),
    (["logs", "web", "--tail=1", "--limit-bytes=3"], None, (0, "aga", "")),
    (["logs", "web", "--follow", "--limit-bytes=3"], None, (0, "hel", "")),
    (["exec", "web", "--", "echo", "hi"], None, (0, "hi\n", "")),
    (["exec", "web", "--", "sh", "-c", "exit 3"], None, (3, "", "command terminated with exit code 3\n")),
    (["exec", "-i", "web", "--", "cat"], "through\n", (0, "through\n", "")),
    (["exec", "-i", "web", "--", "sh"], "echo one\nhostname\nexit 2\n", (2, "one\nweb\n", "exit code 2\n")),
    (["exec", "web", "--", "ls"], None, (127, "", "exit code 127\n")),
    (["logs", "web", "--previous"], None, (1, "", 'previous terminated container "main" in pod "web" not found\n')),
)


async def _looked_at(found: Cluster, command: Sequence[str], sent: str | None, expected: tuple[int, str, str]) -> None:
    ended = await found.kubectl(*command, input=sent)

    code, out, error = expected
    assert (ended.returncode, ended.stdout) == (code, out), (command, ended.stderr)
    assert ended.stderr.endswith(error), command


async def test_kubectl_attaches_until_the_container_ends(tmp_path: Path):
    async with cluster(tmp_path) as found:
        made = pod("short", output="\n".join(f"+{after}00ms tick" for after in range(1, 30)), run_for="3s")
        made.spec.restart_policy = "Never"
        await found.client.create(made)
        await found.client.wait_until(Pod, "short", is_running)

        ended = await found.kubectl("attach", "short")

    assert ended.returncode == 0, ended.stderr
    assert "tick\n" in ended.stdout


async def test_kubectl_copies_files_through_a_scripted_tar(tmp_path: Path):
    contents: list[bytes] = []

    async def execute(one: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
        if command[0] != "tar":
            return await simulated_exec(one, container, command, streams)
        if command[1:] == ["-xmf", "-", "-C", "/tmp"]:
            contents.append(_unpacked(await _all(streams), "note"))
        elif command[1:] == ["cf", "-", "tmp/note"]:
            await streams.write(_packed("tmp/note", contents[0]))
        else:
            raise ValueError(command)
        return 0

    (tmp_path / "note").write_bytes(bytes(range(256)) * 1000)
    async with cluster(tmp_path, KubeletDoor(exec=execute)) as found:
        there = await found.kubectl("cp", str(tmp_path / "note"), "web:/tmp/note")
        back = await found.kubectl("cp", "web:tmp/note", str(tmp_path / "copy"))

    assert (there.returncode, back.returncode) == (0, 0), there.stderr + back.stderr
    assert contents == [(tmp_path / "note").read_bytes()]
    assert (tmp_path / "copy").read_bytes() == contents[0]


async def _all(streams: Streams) -> bytes:
    parts = []
    while data := await streams.read():
        parts.append(data)
    return b"".join(parts)


def _unpacked(archive: bytes, name: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        file = tar.extractfile(name)
        assert file is not None
        return file.read()


def _packed(name: str, content: bytes) -> bytes:
    buffer, entry = io.BytesIO(), tarfile.TarInfo(name)
    entry.size = len(content)
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


async def _echo(one: Pod, port: int, stream: PortStream) -> None:
    if port != 8080:
        raise ConnectionRefusedError("nobody listens there")
    while data := await stream.read():
        await stream.write(f"{port}:".encode() + data)


@asynccontextmanager
async def forwarded(found: Cluster, port: int) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """kubectl port-forward at work; the port on this side."""
    process = await asyncio.create_subprocess_exec(
        *(require_binaries().kubectl, "--kubeconfig", found.kubeconfig, "port-forward", "web", f":{port}"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            told = await process.stdout.readline()
        yield int(told.split(b"->")[0].rpartition(b":")[2]), process
    finally:
        process.kill()
        await process.communicate()


async def test_kubectl_forwards_ports_one_connection_after_the_other_and_several_at_once(tmp_path: Path):
    async def answer(port: int, data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        writer.write_eof()
        async with asyncio.timeout(30):
            found = await reader.read()
        writer.close()
        await writer.wait_closed()
        return found

    async with cluster(tmp_path, KubeletDoor(port=_echo)) as found:
        async with forwarded(found, 8080) as (port, _):
            one = await answer(port, b"ping")
            several = await asyncio.gather(*(answer(port, f"call {number}".encode()) for number in range(5)))
            large = await answer(port, b"x" * 300_000)
        async with forwarded(found, 9) as (port, process):
            # kubectl may end the connection before or after it has read what it cannot forward.
            with suppress(ConnectionResetError):
                assert await answer(port, b"ping") == b""
            assert process.stderr is not None
            async with asyncio.timeout(30):
                complaint = await process.stderr.readline()

    assert one == b"8080:ping"
    assert several == [f"8080:call {number}".encode() for number in range(5)]
    assert large.replace(b"8080:", b"") == b"x" * 300_000
    assert b"error forwarding port 9 to pod web" in complaint


async def test_the_same_kubelet_serves_a_real_kube_apiserver(tmp_path: Path):
    flags = ["--kubelet-preferred-address-types=InternalDNS"]
    with closing(ListeningDoor(KubeletDoor(port=_echo))) as door:
        async with RealControlPlane(binaries=require_binaries(), flags=flags) as plane:
            async with kubelets(plane.kubeconfig, door) as client:
                found = Cluster(client, plane.kubeconfig, tmp_path)
                log = await found.kubectl("logs", "web", "--limit-bytes=6")
                ended = await found.kubectl("exec", "-i", "web", "--", "sh", input="echo hi\nexit 3\n")
                ours = await completed(client, pod(), "sh", "-c", "echo a; exit 4")
                async with client.port_forward(pod(), 8080) as connection:
                    await connection.write(b"ping")
                    echoed = await connection.read()

    assert (log.returncode, log.stdout) == (0, "hello\n"), log.stderr
    assert (ended.returncode, ended.stdout) == (3, "hi\n"), ended.stderr
    assert ours == (4, b"a\n", b"")
    assert echoed == b"8080:ping"


async def test_a_node_that_is_lost_says_nothing_over_http_either(tmp_path: Path):
    async with cluster(tmp_path) as found:
        silence = MergePatch({"metadata": {"annotations": {LOST: "yes"}}})
        await found.client.patch(Node, silence, name="node-1")

        with pytest.raises(ApiError, match=r'Get "https://localhost:[0-9]+/containerLogs/default/web/main": EOF'):
            await _read_until_refused(found.client)
        with pytest.raises(ApiError, match="error dialing backend: EOF"):
            await completed(found.client, pod(), "true")


async def _read_until_refused(client: Client) -> None:
    async with asyncio.timeout(30):
        while True:
            await read(client, pod())

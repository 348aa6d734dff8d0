"""Logs, exec, attach and port-forward: client, API server and simulated kubelet in one loop, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Metadata, now
from kubewright.client import Client, MergePatch
from kubewright.controlplane import SimulatedNode
from kubewright.controlplane.kubelet import LOST, kubelet_loop
from kubewright.controlplane.kubelet_door import KubeletDoor, PortStream, Streams, simulated_exec
from kubewright.errors import ApiError, BadRequest, NotFound, TransportError
from kubewright.kinds.core_v1 import Container, EnvVar, Node, Pod, PodSpec
from kubewright.testing import elapse, embedded_server, virtual_time
from tests.controlplane.clusters import client_of, loops_on

PREFIX = "kubewright.dev/"


@asynccontextmanager
async def cluster(door: KubeletDoor | None = None) -> AsyncIterator[Client]:
    door = door or KubeletDoor()
    async with (
        embedded_server(kubelet=door) as server,
        client_of(server, "test") as client,
        loops_on(server, kubelet_loop([SimulatedNode(name="node-1")]), door.loop()),
    ):
        yield client


def pod(name: str = "web", command: Sequence[str] = (), **script: str) -> Pod:
    container = Container(name="main", image="busybox", command=list(command), env=[EnvVar(name="COLOUR", value="red")])
    annotations = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in script.items()}
    return Pod(
        metadata=Metadata(name=name, namespace="default", annotations=annotations),
        spec=PodSpec(containers=[container], node_name="node-1"),
    )


def is_running(found: Pod) -> bool:
    return found.status.phase == "Running"


async def running(client: Client, made: Pod) -> Pod:
    await client.create(made)
    return await client.wait_until(Pod, made.name, is_running)


async def read(client: Client, of: Pod, **options: Any) -> list[str]:
    async with client.logs(of, **options) as lines:
        return [line async for line in lines]


async def completed(client: Client, of: Pod, *command: str, **options: Any) -> tuple[int, bytes, bytes]:
    async with client.exec(of, command, **options) as process:
        ended = await process.wait()
        return ended.exit_code, ended.stdout, ended.stderr


@virtual_time()
async def test_a_log_has_the_lines_that_the_script_has_printed_so_far():
    async with cluster() as client:
        web = await running(client, pod(output="begun\n+5s later\n+1h much later"))

        at_once = await read(client, web)
        await elapse(timedelta(seconds=6))
        later = await read(client, web)

    assert at_once == ["begun"]
    assert later == ["begun", "later"]


@virtual_time()
async def test_a_log_is_cut_as_asked():
    async with cluster() as client:
        web = await running(client, pod(output="one\n+10s two\n+20s three"))
        await elapse(timedelta(seconds=25))

        last = await read(client, web, tail=1)
        since = await read(client, web, since=timedelta(seconds=16))
        stamped = await read(client, web, tail=2, timestamps=True)

    assert last == ["three"]
    assert since == ["two", "three"]
    state = web.status.container_statuses[0].state
    started = state.running.started_at if state is not None and state.running is not None else None
    assert started is not None
    stamps = [f"{started + timedelta(seconds=after):%Y-%m-%dT%H:%M:%S}.000000000Z" for after in (10, 20)]
    assert stamped == [f"{stamps[0]} two", f"{stamps[1]} three"]


@virtual_time()
async def test_a_followed_log_tells_each_line_when_it_is_printed_and_ends_with_the_container():
    async with cluster() as client:
        web = await running(client, pod(output="a\n+5s b\n+60s c\n+90s never", run_for="70s"))
        begun, told = now(), []

        async with client.logs(web, follow=True) as lines:
            async for line in lines:
                told.append((line, round((now() - begun).total_seconds())))

    assert told == [("a", 0), ("b", 5), ("c", 60)]
    assert now() - begun < timedelta(seconds=75)


@virtual_time()
async def test_a_followed_log_ends_when_the_pod_is_deleted():
    async with cluster() as client:
        web = await running(client, pod(output="a\n+1h b"))

        async with client.logs(web, follow=True) as lines:
            first = await anext(lines)
            await client.delete(web)
            rest = [line async for line in lines]

    assert (first, rest) == ("a", [])


@virtual_time()
async def test_the_log_before_a_restart_can_be_read():
    async with cluster() as client:
        made = pod(output="alive\n+3s dying", run_for="5s", exit_code="3", crashes="1")
        await client.create(made)
        await client.wait_until(Pod, "web", lambda found: any(c.restart_count for c in found.status.container_statuses))
        await client.wait_until(Pod, "web", is_running)

        before = await read(client, made, previous=True)
        after = await read(client, made)

    assert before == ["alive", "dying"]
    assert after == ["alive"]


@virtual_time()
async def test_a_container_that_never_restarted_has_no_log_before():
    async with cluster() as client:
        web = await running(client, pod())

        with pytest.raises(BadRequest, match='previous terminated container "main" in pod "web" not found'):
            await read(client, web, previous=True)


@virtual_time()
async def test_a_container_that_waits_has_no_log():
    async with cluster() as client:
        await client.create(pod(start_after="1h"))
        await client.create(pod("bad", image_pull_error="true"))
        await elapse(timedelta(seconds=1))

        with pytest.raises(BadRequest, match='container "main" in pod "web" is waiting to start: ContainerCreating'):
            await read(client, pod())
        with pytest.raises(BadRequest, match=r"is waiting to start: (image can't be|trying and failing to) pull"):
            await read(client, pod("bad"))


@pytest.mark.parametrize(
    ("command", "code", "out", "error"),
    [
        (["true"], 0, b"", b""),
        (["/bin/false"], 1, b"", b""),
        (["echo", "hello", "world"], 0, b"hello world\n", b""),
        (["sh", "-c", "echo a; echo b >&2; exit 7; echo never"], 7, b"a\n", b"b\n"),
        (["sh", "-c", "false && echo no || echo yes"], 0, b"yes\n", b""),
        (["hostname"], 0, b"web\n", b""),
        (["sleep", "3600"], 0, b"", b""),
        (["cat", "/etc/passwd"], 1, b"", b"cat: can't open '/etc/passwd': No such file or directory\n"),
        (["ls", "-l"], 127, b"", b'exec: "ls": executable file not found in $PATH\n'),
        (["sh", "-c", "ls"], 127, b"", b"sh: ls: not found\n"),
    ],
)
def test_a_command_ends_as_it_would(command: list[str], code: int, out: bytes, error: bytes):
    @virtual_time()
    async def run() -> tuple[int, bytes, bytes]:
        async with cluster() as client:
            return await completed(client, await running(client, pod()), *command)

    assert run() == (code, out, error)


@virtual_time()
async def test_the_environment_of_a_container_is_seen():
    async with cluster() as client:
        _, out, _ = await completed(client, await running(client, pod()), "env")

    assert b"COLOUR=red\n" in out
    assert b"HOSTNAME=web\n" in out


@virtual_time()
async def test_standard_input_goes_to_the_command_until_it_is_closed():
    async with cluster() as client:
        web = await running(client, pod())

        async with client.exec(web, ["cat"], stdin=True) as process:
            await process.write(b"one ")
            await process.write(b"two")
            await process.close_stdin()
            ended = await process.wait()

    assert (ended.exit_code, ended.stdout) == (0, b"one two")


@virtual_time()
async def test_a_shell_takes_commands_from_its_input():
    async with cluster() as client:
        web = await running(client, pod())

        async with client.exec(web, ["sh"], stdin=True, tty=True) as process:
            await process.write(b"echo hello\nexit 4\n")
            ended = await process.wait()

    assert (ended.exit_code, ended.stdout) == (4, b"hello\r\n")


@virtual_time()
async def test_a_test_can_say_what_commands_do():
    seen: list[Any] = []

    async def execute(found: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
        seen.append((found.name, container, list(command), streams.tty, streams.size))
        if command[0] != "psql":
            return await simulated_exec(found, container, command, streams)
        await streams.write(b"1 row\n")
        await streams.write_error("slow\n")
        return 2

    async with cluster(KubeletDoor(exec=execute)) as client:
        web = await running(client, pod())

        scripted = await completed(client, web, "psql", "-c", "select 1")
        other = await completed(client, web, "true")

    assert scripted == (2, b"1 row\n", b"slow\n")
    assert other == (0, b"", b"")
    assert seen[0] == ("web", "main", ["psql", "-c", "select 1"], False, None)


@virtual_time()
async def test_the_size_of_the_terminal_is_told():
    async def execute(found: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
        await streams.read()
        await streams.write(str(streams.size))
        return 0

    async with cluster(KubeletDoor(exec=execute)) as client:
        web = await running(client, pod())

        async with client.exec(web, ["top"], stdin=True, tty=True) as process:
            await process.resize(width=80, height=24)
            await process.write(b"q")
            ended = await process.wait()

    assert ended.stdout == b"(80, 24)"


@virtual_time()
async def test_a_command_that_breaks_is_an_error_and_no_exit_code():
    async def execute(found: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
        raise RuntimeError("no such luck")

    async with cluster(KubeletDoor(exec=execute)) as client:
        web = await running(client, pod())

        with pytest.raises(ApiError, match="error executing command in container: no such luck"):
            await completed(client, web, "true")


@virtual_time()
async def test_a_client_that_goes_away_ends_the_command():
    ended = asyncio.Event()

    async def execute(found: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async with cluster(KubeletDoor(exec=execute)) as client:
        web = await running(client, pod())

        async with client.exec(web, ["forever"]):
            await elapse(timedelta(seconds=1))

        await ended.wait()


@virtual_time()
async def test_nothing_is_run_in_a_container_that_does_not_run():
    async with cluster() as client:
        made = pod(command=["true"])
        made.spec.restart_policy = "Never"
        await client.create(made)
        await client.wait_until(Pod, "web", lambda found: found.status.phase == "Succeeded")

        with pytest.raises(ApiError, match=r'container not found \("main"\)'):
            await completed(client, made, "true")


@virtual_time()
async def test_attached_one_sees_what_is_printed_from_then_on():
    async with cluster() as client:
        web = await running(client, pod(output="early\n+5s b\n+6s c", run_for="10s", exit_code="0"))
        await elapse(timedelta(seconds=1))

        async with client.attach(web) as process:
            ended = await process.wait()

    assert (ended.exit_code, ended.stdout) == (0, b"b\nc\n")


@virtual_time()
async def test_a_port_is_served_by_the_test():
    async def serve(found: Pod, port: int, stream: PortStream) -> None:
        while data := await stream.read():
            await stream.write(f"{found.name}:{port} ".encode() + data)

    async with cluster(KubeletDoor(port=serve)) as client:
        web = await running(client, pod())

        async with client.port_forward(web, 8080) as connection:
            await connection.write(b"ping")
            first = await connection.read()
            await connection.write(b"pong")
            second = await connection.read()

    assert (first, second) == (b"web:8080 ping", b"web:8080 pong")


@virtual_time()
async def test_a_port_where_nobody_listens_refuses():
    async with cluster() as client:
        web = await running(client, pod())

        async with client.port_forward(web, 80) as connection:
            with pytest.raises(TransportError, match=r"error forwarding port 80 to pod web.*connection refused"):
                await connection.read()


@virtual_time()
async def test_what_the_kubelet_is_never_asked_is_refused_by_the_server():
    async with cluster() as client:
        await running(client, pod())
        free = pod("free")
        free.spec.node_name = None
        await client.create(free)

        with pytest.raises(BadRequest, match="pod free does not have a host assigned"):
            await completed(client, free, "true")
        with pytest.raises(BadRequest, match="container other is not valid for pod web"):
            await completed(client, pod(), "true", container="other")
        with pytest.raises(NotFound):
            await completed(client, pod("nope"), "true")


@virtual_time()
async def test_lines_come_in_the_order_of_their_times_however_they_are_scripted():
    async with cluster() as client:
        web = await running(client, pod(output="+9s third\nfirst\n+3s second", run_for="20s"))

        followed = await read(client, web, follow=True)

    assert followed == ["first", "second", "third"]


@virtual_time()
async def test_streams_end_with_the_kubelet():
    door = KubeletDoor()
    kubelet = kubelet_loop([SimulatedNode(name="node-1")])
    async with embedded_server(kubelet=door) as server, client_of(server, "test") as client:
        async with loops_on(server, kubelet, door.loop()):
            web = await running(client, pod(output="a\n+1h b"))
            following = asyncio.create_task(read(client, web, follow=True))
            sleeping = asyncio.create_task(completed(client, web, "sleep", "3600"))
            await elapse(timedelta(seconds=1))

        lines = await following
        with pytest.raises(TransportError, match="the connection ended before the command did"):
            await sleeping
        # Nobody knows the pod until the kubelet is back.
        with pytest.raises(ApiError, match="could not find the requested resource"):
            await read(client, web)

    assert lines == ["a"]


@virtual_time()
async def test_streams_end_with_the_client():
    async with cluster() as client:
        web = await running(client, pod())
        sleeping = asyncio.create_task(completed(client, web, "sleep", "3600"))
        await elapse(timedelta(seconds=1))

        await client.aclose()

        with pytest.raises(TransportError, match="the connection ended before the command did"):
            await sleeping


@virtual_time()
async def test_a_node_that_is_lost_says_nothing():
    async with cluster() as client:
        web = await running(client, pod(output="a"))
        await client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: "yes"}}}), name="node-1")
        await elapse(timedelta(seconds=1))

        with pytest.raises(ApiError, match="dial tcp node-1:10250: i/o timeout"):
            await read(client, web)
        with pytest.raises(ApiError, match="dial tcp node-1:10250: i/o timeout"):
            await completed(client, web, "true")


@virtual_time()
async def test_what_was_printed_in_the_last_part_of_a_second_is_in_the_log():
    async with cluster() as client:
        made = pod(output="+1200ms just in time\n+1600ms too late", run_for="1500ms", exit_code="0")
        made.spec.restart_policy = "Never"
        await client.create(made)
        await client.wait_until(Pod, "web", lambda found: found.status.phase == "Succeeded")
        await elapse(timedelta(seconds=5))

        lines = await read(client, made)

    assert lines == ["just in time"]


@virtual_time()
async def test_a_client_that_goes_away_ends_who_serves_the_port():
    ended = asyncio.Event()

    async def serve(found: Pod, port: int, stream: PortStream) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with cluster(KubeletDoor(port=serve)) as client:
        web = await running(client, pod())

        async with client.port_forward(web, 8080):
            await elapse(timedelta(seconds=1))

        async with asyncio.timeout(60):
            await ended.wait()

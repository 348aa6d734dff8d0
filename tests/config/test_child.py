from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from kubewright.config.child import Outcome, run_child
from tests.config.plugin_script import has_zombie, write_script

MINUTE = timedelta(minutes=1)


class Line:
    """A socket that a process holds open for as long as it lives."""

    def __init__(self) -> None:
        self.connected = asyncio.Event()
        self.broken = asyncio.Event()
        self.pids: list[int] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pids.append(int(await reader.readline()))
        self.connected.set()
        await reader.read()
        self.broken.set()
        writer.close()


HOLD_THE_LINE = """
    import signal, socket
    def hold_the_line(port):
        line = socket.create_connection(("127.0.0.1", port))
        line.sendall(b"%d\\n" % os.getpid())
        return line
"""


async def run(
    path: Path, *args: str, interactive: bool = False, time_limit: timedelta = MINUTE, env: dict[str, str] | None = None
) -> Outcome:
    return await run_child([str(path), *args], env or os.environ, interactive=interactive, time_limit=time_limit)


async def test_outcome_has_exit_code_output_and_errors(tmp_path):
    script = write_script(
        tmp_path / "script", "sys.stdout.write(sys.argv[1] + os.environ['X']); sys.stderr.write('e'); sys.exit(3)"
    )

    outcome = await run(script, "out", env={"X": "put"})

    assert (outcome.code, outcome.stdout, outcome.stderr) == (3, b"output", b"e")


async def test_outcome_has_all_of_a_large_output_and_only_the_end_of_large_errors(tmp_path):
    script = write_script(
        tmp_path / "script", "sys.stdout.write('o' * 500_000); sys.stderr.write('e' * 100_000 + 'the end')"
    )

    outcome = await run(script)

    assert len(outcome.stdout) == 500_000
    assert len(outcome.stderr) == 4096
    assert outcome.stderr.endswith(b"the end")


async def test_outcome_of_an_endless_output_is_bounded(tmp_path):
    script = write_script(tmp_path / "script", "sys.stdout.write('o' * 3_000_000)")

    outcome = await run(script)

    assert len(outcome.stdout) == 1 << 20


async def test_child_ended_by_a_signal_has_a_negative_code(tmp_path):
    script = write_script(tmp_path / "script", "os.kill(os.getpid(), 15)")

    assert (await run(script)).code == -signal.SIGTERM


async def test_child_without_a_terminal_reads_nothing_and_is_in_a_session_of_its_own(tmp_path):
    script = write_script(
        tmp_path / "script", "print(repr(sys.stdin.read()), os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())"
    )

    assert (await run(script)).stdout == b"'' True True\n"


async def test_interactive_child_stays_in_our_session(tmp_path):
    script = write_script(tmp_path / "script", "print(os.getsid(0), os.getpgrp())")

    outcome = await run(script, interactive=True)

    assert outcome.stdout.split() == [b"%d" % os.getsid(0), b"%d" % os.getpgrp()]


@pytest.mark.parametrize("interactive", [False, True])
async def test_child_is_killed_and_reaped_when_time_runs_out(tmp_path, interactive):
    script = write_script(tmp_path / "script", "import signal; signal.signal(15, signal.SIG_IGN); signal.pause()")

    with pytest.raises(TimeoutError):
        await run(script, interactive=interactive, time_limit=timedelta(milliseconds=100))

    assert not has_zombie()


async def test_cancelled_child_is_killed_with_its_children_and_reaped(tmp_path):
    grandchild, child = Line(), Line()
    script = write_script(
        tmp_path / "script",
        HOLD_THE_LINE
        + """
    port = int(sys.argv[1 if os.fork() else 2])
    line = hold_the_line(port)
    signal.pause()
    """,
    )
    async with (
        await asyncio.start_server(child.serve, "127.0.0.1") as first,
        await asyncio.start_server(grandchild.serve, "127.0.0.1") as second,
    ):
        ports = [str(server.sockets[0].getsockname()[1]) for server in (first, second)]
        running = asyncio.create_task(run(script, *ports))
        await child.connected.wait()
        await grandchild.connected.wait()

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await child.broken.wait()
        await grandchild.broken.wait()

    with pytest.raises(ProcessLookupError):
        os.kill(child.pids[0], 0)
    gc.collect()


async def test_cancelled_child_is_over_at_once_though_a_runaway_child_of_it_holds_the_output(tmp_path):
    line = Line()
    script = write_script(
        tmp_path / "script",
        HOLD_THE_LINE
        + """
    import time
    parent = os.getpid()
    if os.fork() == 0:
        os.setsid()
        while os.getppid() == parent:
            time.sleep(0.001)
        line = hold_the_line(int(sys.argv[1]))
        signal.pause()
    """,
    )
    async with await asyncio.start_server(line.serve, "127.0.0.1") as server:
        running = asyncio.create_task(run(script, str(server.sockets[0].getsockname()[1])))
        await line.connected.wait()

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        os.kill(line.pids[0], signal.SIGKILL)
        await line.broken.wait()
    gc.collect()


async def test_command_that_cannot_be_started_is_an_os_error(tmp_path):
    (tmp_path / "text").write_text("\x7f not a program")
    (tmp_path / "text").chmod(0o755)

    for name in ("absent", "text"):
        with pytest.raises(OSError, match=name):
            await run(tmp_path / name)


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
async def test_no_file_is_left_open_however_a_child_ends(tmp_path):
    good = write_script(tmp_path / "good", "print(1)")
    slow = write_script(tmp_path / "slow", "import signal; signal.pause()")
    await run(good)
    before = len(os.listdir("/proc/self/fd"))

    await run(good)
    with pytest.raises(TimeoutError):
        await run(slow, time_limit=timedelta(milliseconds=50))
    with pytest.raises(OSError, match="absent"):
        await run(tmp_path / "absent")
    await asyncio.sleep(0)

    assert len(os.listdir("/proc/self/fd")) <= before

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from kubewright.testing.process_group import ProcessGroup

OWNER = """
import sys, pathlib
from kubewright.testing.process_group import ProcessGroup

folder = pathlib.Path(sys.argv[1])
process = ProcessGroup(folder).start(["sleep", "1000"], log=folder / "log", cwd=folder)
print(process.pid, flush=True)
sys.stdin.read()
"""


def wait_for_end(pid: int) -> None:
    # A process of another parent cannot be waited for, but its pidfd becomes readable when it ends.
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        readable, _, _ = select.select([descriptor], [], [], 20)
        assert readable, f"process {pid} is still running"
    finally:
        os.close(descriptor)


def test_a_process_writes_its_output_to_its_log(tmp_path: Path) -> None:
    group = ProcessGroup(tmp_path / "folder")

    group.start(["sh", "-c", "pwd; echo bad >&2"], log=tmp_path / "log", cwd=tmp_path).wait()
    group.kill()

    assert (tmp_path / "log").read_text(encoding="utf-8") == f"{tmp_path}\nbad\n"


def test_kill_ends_every_process_and_what_it_started(tmp_path: Path) -> None:
    group = ProcessGroup(tmp_path / "folder")
    grandchild = tmp_path / "grandchild"
    os.mkfifo(grandchild)
    process = group.start(["sh", "-c", "sleep 1000 & echo $! >grandchild; wait"], log=tmp_path / "log", cwd=tmp_path)
    pid = int(grandchild.read_text(encoding="utf-8"))

    group.kill()

    assert process.returncode == -signal.SIGKILL
    wait_for_end(pid)


def test_kill_does_nothing_the_second_time(tmp_path: Path) -> None:
    group = ProcessGroup(tmp_path / "folder")
    group.kill()

    group.kill()


def test_processes_and_folder_go_when_their_python_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())

        owner.kill()
        owner.wait()

        wait_for_end(pid)
    assert not folder.exists()

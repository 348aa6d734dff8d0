"""A server whose disk is full: writes stop with a clear error, reads go on, nothing is lost."""

import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

MAPS = "/api/v1/namespaces/default/configmaps"
FILLER = "x" * 20_000

pytestmark = pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="needs limits of other processes (Linux)")


def limit_files(pid: int, size: int) -> None:
    """Let no file of a process grow beyond a size."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def fill(process) -> tuple[list[str], dict[str, str]]:
    """The objects that were created before one was refused, and the Status of that one."""
    names: list[str] = []
    for n in range(200):
        body = {"metadata": {"name": f"card-{n}"}, "data": {"filler": FILLER}}
        status, answer = process.ask(MAPS, "POST", body)
        if status != 201:
            assert status == 500
            return names, answer
        names.append(f"card-{n}")
    raise AssertionError("the disk was never full")


def names_in(process) -> list[str]:
    status, listed = process.ask(MAPS)
    assert status == 200
    return [item["metadata"]["name"] for item in listed["items"]]


def test_writes_stop_reads_go_on_and_nothing_is_lost(start, tmp_path: Path):
    data = f"--data={tmp_path / 'cluster'}"
    process = start(data)
    process.ready()
    limit_files(process.child.pid, 600_000)

    names, refusal = fill(process)
    listed = names_in(process)
    health = process.ask("/readyz")
    process.end(signal.SIGKILL)
    again = start(data)
    again.ready()

    file = tmp_path / "cluster" / "cluster.db"
    assert "reason" not in refusal
    assert refusal["message"].startswith(
        f"etcdserver: mvcc: database space exceeded: the store's file {file} cannot be written: "
    )
    assert "make room on its disk" in refusal["message"]
    assert names
    assert sorted(listed) == sorted(names)
    assert health == (200, "ok")
    assert sorted(names_in(again)) == sorted(names)


def test_writes_go_on_when_there_is_room_again(start, tmp_path: Path):
    process = start(f"--data={tmp_path / 'cluster'}")
    process.ready()
    limit_files(process.child.pid, 600_000)
    names, _ = fill(process)

    limit_files(process.child.pid, resource.RLIM_INFINITY)
    status, _ = process.ask(MAPS, "POST", {"metadata": {"name": "more"}})

    assert status == 201
    assert sorted(names_in(process)) == sorted([*names, "more"])
    assert [line for line in process.said.splitlines() if "cannot be written" in line or "written again" in line]
    assert process.said.count("cannot be written") == 1


def test_a_server_starts_on_a_full_disk_and_can_be_read(start, tmp_path: Path):
    data = tmp_path / "cluster"
    first = start(f"--data={data}")
    first.ready()
    first.ask(MAPS, "POST", {"metadata": {"name": "there"}})
    first.end()

    command = [sys.executable, "-m", "kubewright_apiserver", "--secure-port=0", f"--data={data}"]
    size = str(max(file.stat().st_size for file in data.iterdir()))
    limiter = "import os, resource, sys; s = int(sys.argv[1]); resource.setrlimit(resource.RLIMIT_FSIZE, (s, s)); "
    limiter += "os.execv(sys.argv[2], sys.argv[2:])"
    child = subprocess.Popen([sys.executable, "-c", limiter, size, *command], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    line = child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()

    assert line.startswith("serving at ")


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare, for a disk of one's own")
def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path):
    program = """
import asyncio, sys
from kubewright_apiserver.store import NoRoom, SqliteLog, Store

async def main(path):
    store, rows = Store(SqliteLog.open(path)), []
    try:
        while len(rows) < 2000:
            rows.append(await store.put("/pods", f"a/{len(rows)}", {"metadata": {}, "p": "x" * 5000}, expected=0))
    except NoRoom as error:
        assert error.__cause__.sqlite_errorname == "SQLITE_FULL", error
    assert len(store.table("/pods").list().rows) == len(rows)
    await store.close()
    again = Store(SqliteLog.open(path))
    assert {row.key: row.value for row in again.table("/pods").list().rows} == {row.key: row.value for row in rows}
    await again.close()
    sys.stdout.write(f"{len(rows)} rows")

asyncio.run(main(sys.argv[1]))
"""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = f'mount -t tmpfs -o size=1m tmpfs "{disk}" && exec "$@"'
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no disk of one's own can be mounted here")

    command = [*inside, sys.executable, "-c", program, str(disk / "store.db")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (found.returncode, found.stderr.count("Traceback")) == (0, 0), found.stderr
    assert 20 < int(found.stdout.split()[0]) < 200


def alter(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.close()


def test_a_failure_that_nobody_understands_ends_the_server_and_loses_nothing(start, tmp_path: Path):
    data, file = f"--data={tmp_path / 'cluster'}", tmp_path / "cluster/cluster.db"
    first = start(data)
    first.ready()
    first.end()
    alter(
        file,
        "CREATE TRIGGER poison BEFORE INSERT ON log WHEN NEW.key = 'default/poison' "
        "BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
    )
    process = start(data)
    process.ready()
    process.ask(MAPS, "POST", {"metadata": {"name": "good"}})

    status, refusal = process.ask(MAPS, "POST", {"metadata": {"name": "poison"}})
    code = process.child.wait(20)
    alter(file, "DROP TRIGGER poison")
    again = start(data)
    again.ready()

    assert (status, code) == (500, 1)
    assert "cannot be written: poisoned" in refusal["message"]
    assert f"Error: the store's file {file} cannot be written: poisoned" in process.said
    assert "Traceback" not in process.said
    assert names_in(again) == ["good"]


def can_be_traced() -> bool:
    command = ["strace", "-D", "-y", "-e", "trace=fdatasync", "true"]
    return (
        shutil.which("strace") is not None and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@pytest.mark.skipif(not can_be_traced(), reason="needs strace, to see the disk being flushed")
@pytest.mark.parametrize(("flags", "flushes"), [([], 0), (["--power-safe"], 3)])
def test_each_write_is_flushed_to_the_disk_when_asked_for(start, tmp_path: Path, flags: list[str], flushes: int):
    trace = tmp_path / "trace"
    under = ("strace", "-D", "-f", "-y", "-e", "trace=fdatasync", "-o", str(trace))
    process = start(f"--data={tmp_path / 'cluster'}", *flags, under=under)
    process.ready()
    before = trace.read_text().count("cluster.db-wal>")

    for name in ("one", "two", "three"):
        assert process.ask(MAPS, "POST", {"metadata": {"name": name}})[0] == 201

    assert trace.read_text().count("cluster.db-wal>") - before == flushes

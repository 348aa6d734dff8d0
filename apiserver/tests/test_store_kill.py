"""A process killed in the middle of writing: what it acknowledged is there."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright_apiserver.store import SqliteLog, Store

WRITER = """
import asyncio, sys
from kubewright_apiserver.store import SqliteLog, Store

async def write(store, key, first):
    row = store.table("/pods").get(key)
    n = row.obj["n"] if row else 0
    while True:
        n += 1
        row = await store.put("/pods", key, {"metadata": {}, "n": n}, expected=row.rev if row else 0)
        sys.stdout.write(f"{key} {n} {row.rev}\\n")
        sys.stdout.flush()
        if n % 40 == 0:
            store.compact(row.rev - 10)

async def main():
    store = Store(SqliteLog.open(sys.argv[1]))
    await asyncio.gather(*(write(store, f"a/{n}", n) for n in range(8)))

asyncio.run(main())
"""


def acknowledged_until_killed(path: Path, lines: int) -> dict[str, tuple[int, int]]:
    """The last number and revision of each key that a writer has told before it was killed."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    told += process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    whole = [line.split() for line in told if line.endswith("\n")]
    return {key: (int(n), int(rev)) for key, n, rev in whole}


@pytest.mark.parametrize("lines", [20, 300, 1000])
async def test_every_acknowledged_write_survives_a_kill(tmp_path: Path, lines: int):
    path = tmp_path / "store.db"

    for _ in range(2):
        acknowledged = acknowledged_until_killed(path, lines)
        store = Store(SqliteLog.open(path))
        found = {row.key: (row.obj["n"], row.rev) for row in store.table("/pods").list().rows}
        last = store.rev
        await store.close()

        assert len(acknowledged) == 8
        assert all(found[key] >= told for key, told in acknowledged.items())
        assert last >= max(rev for _, rev in acknowledged.values())

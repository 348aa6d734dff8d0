"""How long a server takes to start on many objects, after it ended in order and after it was killed.

``python -m soak.opening --objects 100000`` says the seconds until it is ready, those of CPU among them, and its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from kubewright_apiserver.store import SqliteLog, Store, make_folder

__all__ = ["fill", "main"]

_TOGETHER: Final = 1000


def _card(number: int) -> dict[str, Any]:
    """A ConfigMap of about a kilobyte."""
    fields = {"f:data": {".": {}, "f:padding": {}}, "f:metadata": {"f:labels": {".": {}, "f:app": {}}}}
    manager = {"manager": "soak", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    metadata = {
        "name": f"card-{number:06}",
        "namespace": "default",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "soak"},
        "managedFields": [{**manager, "time": "2026-01-01T00:00:00Z", "fieldsV1": fields}],
    }
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"padding": "x" * 500}}


async def fill(file: Path, objects: int) -> None:
    """Write so many objects into a store's file."""
    store = Store(SqliteLog.open(file))
    for start in range(0, objects, _TOGETHER):
        numbers = range(start, min(start + _TOGETHER, objects))
        await asyncio.gather(*(store.put("/configmaps", f"default/card-{n:06}", _card(n), expected=0) for n in numbers))
    await store.close()


def _start(folder: Path, ending: signal.Signals) -> str:
    """What it took until a server was ready; it is ended by the signal."""
    command = [sys.executable, "-m", "kubewright_apiserver", "--secure-port=0", f"--data={folder}"]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        seconds = time.monotonic() - began
        if not line.startswith(b"serving at "):
            raise RuntimeError("the server did not start; what it said is above")
        status = Path(f"/proc/{child.pid}/status").read_text()
        times = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        child.send_signal(ending)
    busy = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
    (resident,) = (row.split()[1] for row in status.splitlines() if row.startswith("VmRSS"))
    return f"{seconds:.2f} s ({busy:.2f} s of CPU), {int(resident) / 1024:.0f} MiB"


def main() -> None:
    """Fill a store and start servers on it."""
    parser = argparse.ArgumentParser(prog="python -m soak.opening", description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000, help="how many objects there are (default 100000)")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kubewright-soak-") as name:
        empty, folder = Path(name, "empty"), Path(name, "full")
        make_folder(folder)
        asyncio.run(fill(folder / "cluster.db", told.objects))
        size = (folder / "cluster.db").stat().st_size / 2**20
        print(f"{told.objects} objects, a file of {size:.0f} MiB; until the server is ready:", flush=True)
        for what, where, ending in (
            ("for comparison, in an empty folder", empty, signal.SIGTERM),
            ("the first start", folder, signal.SIGTERM),
            ("after it ended in order", folder, signal.SIGKILL),
            ("after it was killed", folder, signal.SIGTERM),
        ):
            print(f"  {what}: {_start(where, ending)}", flush=True)


if __name__ == "__main__":
    main()

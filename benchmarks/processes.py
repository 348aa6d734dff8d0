"""Other processes: the environment they are started in, and what they cost by Linux's account of them."""

from __future__ import annotations

import os
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["age", "children", "cpu_seconds", "environment", "memory"]

_CPU_CLOCK = 2


def environment(**added: str) -> dict[str, str]:
    """Ours, without proxies, and such that all Python is imported from bytecode, wherever it is installed."""
    proxies = {key for key in os.environ if key.lower().endswith("_proxy")}
    kept = {key: value for key, value in os.environ.items() if key not in {*proxies, "PYTHONDONTWRITEBYTECODE"}}
    return {**kept, "PYTHONPYCACHEPREFIX": _bytecode().name, **added}


@cache
def _bytecode() -> TemporaryDirectory[str]:
    """A folder that is gone when this process ends."""
    return TemporaryDirectory(prefix="kubewright-benchmarks-")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far; to the nanosecond, where /proc counts in hundredths."""
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK)


def memory(pid: int) -> int:
    """Bytes that a process has in memory now."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def age(pid: int) -> float:
    """Seconds since a process was started, to the hundredth."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return now - int(_stat(pid)[19]) / os.sysconf("SC_CLK_TCK")


def children() -> dict[str, int]:
    """The processes that this one started and that run, by name."""
    found: dict[str, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        try:
            if int(_stat(pid)[1]) == os.getpid():
                found[(folder / "comm").read_text().strip()] = pid
        except OSError:
            # It ended meanwhile.
            continue
    return found


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold anything; the first is the state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()

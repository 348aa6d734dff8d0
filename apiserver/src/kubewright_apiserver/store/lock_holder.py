"""Who holds the lock of a file, as far as the system tells."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["lock_holder"]

_LOCKS: Final = Path("/proc/locks")


def lock_holder(path: Path) -> str:
    """The process that holds a lock of that file, in words; "another process" where the system does not tell."""
    # To ask the file itself one must open it, and closing it would drop the locks of this whole process.
    try:
        wanted = path.stat().st_ino
        lines = _LOCKS.read_text().splitlines()
    except OSError:
        return "another process"
    holders = (_holder(line.split(), wanted) for line in lines)
    pid = next((pid for pid in holders if pid > 0), 0)
    if pid == os.getpid():
        return "another server in this process"
    return f"process {pid}{_name(pid)}" if pid else "another process"


def _holder(columns: list[str], wanted: int) -> int:
    """The process of a line such as ``2: POSIX ADVISORY WRITE 27646 fe:00:10373459 1073741824 1073742335``."""
    if "->" in columns or len(columns) < 6 or columns[1] != "POSIX":
        return 0
    return int(columns[4]) if columns[5].endswith(f":{wanted}") else 0


def _name(pid: int) -> str:
    try:
        return f" ({Path(f'/proc/{pid}/comm').read_text().strip()})"
    except OSError:
        return ""

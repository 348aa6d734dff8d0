"""A folder whose names survive a power failure: a file is there only when its folder says so."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["make_folder", "sync_folder"]


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a power failure, on file systems that can."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

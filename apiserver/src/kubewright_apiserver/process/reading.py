"""Files that flags name, read."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Unusable", "read_file"]


class Unusable(Exception):
    """A flag whose value cannot be used; the message names it."""


def read_file(path: str | Path) -> bytes:
    """What is in a file; `Unusable`, in Go's words, if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Unusable(f"open {path}: {os.strerror(error.errno or 0).lower()}") from None

"""Programs by the names of kube-apiserver and etcd, for tools that look for those in a folder."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

__all__ = ["write_assets"]

_PROGRAMS: Final = {"etcd": "kubewright_apiserver.process.etcd", "kube-apiserver": "kubewright_apiserver"}


def write_assets(folder: Path) -> list[Path]:
    """The programs that were written into the folder, which is made if missing; they run with this Python."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, module) for name, module in _PROGRAMS.items()]


def _write(path: Path, module: str) -> Path:
    # Not the current folder of the tool's user: a file there may have the name of a module.
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m {module} "$@"\n')
    path.chmod(0o755)
    return path

"""Programs by the names of kube-apiserver, etcd and kubectl, for tools that look for those in a folder."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

__all__ = ["write_assets"]

_PROGRAMS: Final = {"etcd": "kubewright_apiserver.process.etcd", "kube-apiserver": "kubewright_apiserver"}


def write_assets(folder: Path) -> list[Path]:
    """The programs that were written into the folder, which is made if missing; they run with this Python.

    kubectl is a link to the one that is installed, if there is one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, module) for name, module in _PROGRAMS.items()] + _link(folder / "kubectl")


def _write(path: Path, module: str) -> Path:
    # Not the current folder of the tool's user: a file there may have the name of a module.
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m {module} "$@"\n')
    path.chmod(0o755)
    return path


def _link(path: Path) -> list[Path]:
    installed = shutil.which(path.name)
    if installed is None:
        return []
    # Found here, it is there already; it may be the user's own, too.
    if not path.exists():
        path.unlink(missing_ok=True)
        path.symlink_to(Path(installed).resolve())
    return [path]

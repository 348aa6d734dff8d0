"""What is built from sources once and kept in the cache folder, beside the real Kubernetes binaries."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["built", "run"]


def built(name: str, sources: Sequence[Path], build: Callable[[Path], None]) -> Path:
    """A folder of the cache, in which was built what these sources say."""
    folder = _cache() / "peers" / name
    stamp = folder / "stamp"
    wanted = _digest(sources)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"building {name}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        build(folder)
        stamp.write_text(wanted)
    return folder


def run(command: Sequence[str | Path], folder: Path, **environment: str) -> None:
    """Run a command in a folder until it ends.

    Raises: `subprocess.CalledProcessError` if it fails.
    """
    subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=True)


def _digest(sources: Sequence[Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def _cache() -> Path:
    """The folder that tools/real/build.py uses too."""
    own, shared = os.environ.get("KUBEWRIGHT_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(shared) if shared else Path.home() / ".cache") / "kubewright"

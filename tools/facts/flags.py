"""Reads which flags kube-apiserver has: from its help, and from its Go sources those that the help no longer names."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubewright.testing import find_binaries

__all__ = ["read_flags"]

_LINE: Final = re.compile(r"^  (?:    |-\w, )--([\w-]+)(?: (\S+))?(?:   ?.*)?$", re.MULTILINE)
_DEPRECATED: Final = re.compile(r'\.MarkDeprecated\("([\w-]+)",\s*"([^"]*)"\)')
_MODULE: Final = Path(__file__).parents[1] / "real/kubernetes"
_PACKAGES: Final = {
    "k8s.io/kubernetes": ("cmd/kube-apiserver", "pkg/controlplane/apiserver/options", "pkg/kubeapiserver/options"),
    "k8s.io/apiserver": ("pkg/server/options",),
}


def read_flags() -> dict[str, dict[str, str]]:
    """For each flag the type of its value in Go's words and, if it is deprecated, what the server says then."""
    binary = find_binaries().kube_apiserver
    text = subprocess.run([binary, "--help"], check=True, capture_output=True, text=True).stdout
    flags = {name: {"type": kind or "bool"} for name, kind in _LINE.findall(text)}
    for source in _sources():
        for name, why in _DEPRECATED.findall(source):
            flags.setdefault(name, {"type": _type_in(source, name)})["deprecated"] = why
    return dict(sorted(flags.items()))


def _sources() -> Iterator[str]:
    for module, packages in _PACKAGES.items():
        command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
        root = subprocess.run(command, cwd=_MODULE, check=True, capture_output=True, text=True).stdout.strip()
        for package in packages:
            yield from (file.read_text() for file in sorted(Path(root, package).rglob("*.go")))


def _type_in(source: str, name: str) -> str:
    found = re.search(rf'fs\.(\w+?)Var\([^"]*"{name}"', source)
    return found[1].lower() if found else "string"

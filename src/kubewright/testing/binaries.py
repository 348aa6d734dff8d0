"""Where the real Kubernetes binaries are: the first place that holds all that are needed.

``RealControlPlane`` starts what is found here; ``make real`` fills the cache folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubewright.errors import KubewrightError

__all__ = ["KUBERNETES_VERSION", "Binaries", "BinariesNotFound", "find_binaries"]

KUBERNETES_VERSION: Final = "1.36.3"
"""The version of Kubernetes that ``make real`` builds, and whose folder of the cache is looked in."""

_REQUIRED: Final = ("etcd", "kube-apiserver", "kubectl")
_CONTROLLER_MANAGER: Final = "kube-controller-manager"
_SCHEDULER: Final = "kube-scheduler"

_Finder = Callable[[str], Path | None]


class BinariesNotFound(KubewrightError):
    """No place holds all the binaries needed; the message tells every place looked at and what it lacks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Binaries:
    """Paths of the real binaries, all from one place, so that their versions fit."""

    etcd: Path
    kube_apiserver: Path
    kubectl: Path
    kube_controller_manager: Path | None = None
    kube_scheduler: Path | None = None


def find_binaries(*, controller_manager: bool = False, scheduler: bool = False) -> Binaries:
    """The binaries of the first place that has etcd, kube-apiserver and kubectl.

    The places are ``KUBEBUILDER_ASSETS``, the cache folder that ``make real`` fills, and ``PATH``, in this order.
    ``controller_manager`` and ``scheduler`` say that the place must hold these two as well.

    Raises ``BinariesNotFound`` when no place has them all.
    """
    needed = [*_REQUIRED, *[_CONTROLLER_MANAGER] * controller_manager, *[_SCHEDULER] * scheduler]
    looked_at = []
    for place, find in _places():
        missing = [name for name in needed if find(name) is None]
        if not missing:
            return _binaries(find)
        looked_at.append(f"  {place}: no {', '.join(missing)}")
    places = "\n".join(looked_at)
    raise BinariesNotFound(f"The real Kubernetes binaries were not found; looked at\n{places}\nrun `make real`")


def _binaries(find: _Finder) -> Binaries:
    def found(name: str) -> Path:
        path = find(name)
        if path is None:
            raise BinariesNotFound(f"{name} vanished while it was looked for; run `make real`")
        return path

    return Binaries(
        etcd=found("etcd"),
        kube_apiserver=found("kube-apiserver"),
        kubectl=found("kubectl"),
        kube_controller_manager=find(_CONTROLLER_MANAGER),
        kube_scheduler=find(_SCHEDULER),
    )


def _places() -> list[tuple[str, _Finder]]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    cache = _cache_folder()
    return [
        (f"KUBEBUILDER_ASSETS={assets}", _in_folder(Path(assets)))
        if assets
        else ("KUBEBUILDER_ASSETS (not set)", _nowhere),
        (str(cache), _in_folder(cache)),
        ("PATH", _on_path),
    ]


def _cache_folder() -> Path:
    own = os.environ.get("KUBEWRIGHT_CACHE")
    shared = os.environ.get("XDG_CACHE_HOME")
    root = Path(own) if own else (Path(shared) if shared else Path.home() / ".cache") / "kubewright"
    return root / "real" / KUBERNETES_VERSION


def _in_folder(folder: Path) -> _Finder:
    def find(name: str) -> Path | None:
        path = folder.absolute() / name
        return path if path.is_file() and os.access(path, os.X_OK) else None

    return find


def _on_path(name: str) -> Path | None:
    found = shutil.which(name)
    return Path(found).absolute() if found else None


def _nowhere(_: str) -> None:
    return None

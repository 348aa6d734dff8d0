"""A Kubernetes API server inside a Python process: ``async with ApiServer() as server``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kubewright_apiserver.access import User
    from kubewright_apiserver.bootstrap import LoadError
    from kubewright_apiserver.request_log import Request, RequestLog
    from kubewright_apiserver.server import ApiServer
    from kubewright_apiserver.store import Snapshot

__version__ = "0.1.0"

__all__ = ["ApiServer", "LoadError", "Request", "RequestLog", "Snapshot", "User"]

_PLACES = {
    "ApiServer": "server",
    "LoadError": "bootstrap",
    "Request": "request_log",
    "RequestLog": "request_log",
    "Snapshot": "store",
    "User": "access",
}


def __getattr__(name: str) -> Any:
    # The server takes half a second to import, which `--help` and those who only look should not wait for.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

"""Where a server keeps its data: in memory, in a folder, or where the stand-in of etcd keeps its own."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

__all__ = ["ASKED_FOLDER", "MEMORY", "folder_for"]

MEMORY: Final = ":memory:"
"""Said instead of a folder."""

ASKED_FOLDER: Final = "/kubewright"
"""The path at which the stand-in of etcd says in which folder a server shall keep its data."""

_PATIENCE: Final = 2.0
_MOST: Final = 1 << 16


def folder_for(data: str, etcd_servers: Sequence[str]) -> Path | None:
    """The folder that ``--data`` and ``--etcd-servers`` mean together; None for memory."""
    if data == MEMORY:
        return None
    if data:
        return Path(data, _digest(etcd_servers)) if etcd_servers else Path(data)
    for server in etcd_servers:
        if (folder := _folder_of(server)) is not None:
            return folder
    return None


def _digest(etcd_servers: Sequence[str]) -> str:
    return f"etcd-{hashlib.sha256(','.join(sorted(etcd_servers)).encode()).hexdigest()[:12]}"


def _folder_of(server: str) -> Path | None:
    """The folder that the stand-in of etcd at an address offers; None if something else answers, or nothing."""
    try:
        with _connected(server) as connection:
            connection.sendall(f"GET {ASKED_FOLDER} HTTP/1.0\r\n\r\n".encode())
            answer = b""
            while len(answer) < _MOST and (part := connection.recv(4096)):
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        return Path(json.loads(body)["folder"]) if b" 200 " in head.partition(b"\r\n")[0] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _connected(server: str) -> socket.socket:
    url = urlsplit(server)
    if url.scheme != "unix":
        return socket.create_connection((url.hostname or "", url.port or 2379), _PATIENCE)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_PATIENCE)
    connection.connect(server.removeprefix("unix://"))
    return connection

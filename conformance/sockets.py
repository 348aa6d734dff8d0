"""Bytes on a socket to a server, for what no client library would send."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

__all__ = ["Socket"]

_PATIENCE = 30.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)\r\n")


class Socket:
    """``socket = await Socket.connect(kubeconfig)``: a connection as the administrator."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, kubeconfig: Path) -> Socket:
        """A new connection."""
        document = _read(kubeconfig)
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        address = urlsplit(cluster["server"])
        context = _context(cluster, user, kubeconfig.parent)
        reader, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
        return cls(reader, writer)

    def say(self, *parts: str | bytes) -> None:
        """Send."""
        for part in parts:
            self._writer.write(part.encode("latin-1") if isinstance(part, str) else part)

    async def hear(self) -> tuple[int, bytes]:
        """The status and the body of the next answer; 0 if the server has closed the connection."""
        async with asyncio.timeout(_PATIENCE):
            try:
                head = await self._reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return 0, b""
            length = _LENGTH.search(head)
            body = await self._reader.readexactly(int(length[1])) if length else await self._rest(head)
        return int(head.split(b" ", 2)[1]), body

    async def _rest(self, head: bytes) -> bytes:
        if b"chunked" in head.lower():
            return await self._reader.readuntil(b"0\r\n\r\n")
        return b"" if head.startswith(b"HTTP/1.1 1") else await self._reader.read()

    async def is_closed(self) -> bool:
        """Whether the server ends the connection."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._reader.read(1) == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        """End it, whatever is yet to come."""
        self._writer.transport.abort()


def _read(kubeconfig: Path) -> Any:
    return yaml.safe_load(kubeconfig.read_text())


def _context(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".pem") as file:
        for part in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[part]) + b"\n")
        file.flush()
        context.load_cert_chain(file.name)
    return context

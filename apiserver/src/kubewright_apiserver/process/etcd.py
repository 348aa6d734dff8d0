"""A stand-in of etcd for tools that start one beside kube-apiserver: it is healthy, and says where data may be kept.

``python -m kubewright_apiserver.process.etcd`` takes etcd's flags; ``--listen-client-urls`` and ``--data-dir`` matter.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from kubewright_apiserver.process.place import ASKED_FOLDER

__all__ = ["main"]

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_HELP = """\
A stand-in of etcd for kubewright-apiserver, which keeps its data itself: inside this one's data folder.

  --listen-client-urls URL,...   where to listen (default "http://localhost:2379")
  --data-dir DIR                 the folder of the data (default "default.etcd")

Other flags of etcd are accepted and have no effect.
"""


def main(arguments: Sequence[str]) -> int:
    """Answer at the addresses that the flags name until SIGTERM; the exit code."""
    flags = _read(arguments)
    if "help" in flags or "h" in flags:
        sys.stdout.write(_HELP)
        return 0
    if "version" in flags:
        sys.stdout.write("etcd Version: 3.6.8 (stand-in of kubewright-apiserver)\n")
        return 0
    folder = Path(flags.get("data-dir", "default.etcd")).resolve()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        asyncio.run(_serve(flags.get("listen-client-urls", "http://localhost:2379").split(","), folder))
    except OSError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    return 0


def _read(arguments: Sequence[str]) -> dict[str, str]:
    flags: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        name, equals, value = rest.pop(0).lstrip("-").partition("=")
        if not equals and rest and not rest[0].startswith("-"):
            value = rest.pop(0)
        flags[name] = value
    return flags


async def _serve(urls: Sequence[str], folder: Path) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    answers = {
        "/health": b'{"health":"true","reason":""}',
        "/version": b'{"etcdserver":"3.6.8","etcdcluster":"3.6.0"}',
        ASKED_FOLDER: json.dumps({"folder": str(folder / "kubewright")}).encode(),
    }

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.close()
            return
        path = head.decode("latin-1").split(" ")[1:2]
        body = answers.get(path[0] if path else "")
        status = "200 OK" if body is not None else "404 Not Found"
        told = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body or b'')}\r\n"
        writer.write(f"{told}Connection: close\r\n\r\n".encode() + (body or b""))
        writer.close()

    servers = [await _listen(answer, url) for url in urls]
    sys.stdout.write("ready to serve client requests\n")
    sys.stdout.flush()
    await stopped.wait()
    for server in servers:
        server.close()


async def _listen(answer: Answer, url: str) -> asyncio.Server:
    address = urlsplit(url)
    if address.scheme == "unix":
        return await asyncio.start_unix_server(answer, url.removeprefix("unix://"))
    return await asyncio.start_server(answer, address.hostname, address.port or 2379)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

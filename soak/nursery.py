"""Servers that are processes, one after the other on the same data, each ready in milliseconds."""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

__all__ = ["Nursery"]

# It has run a server already, so that what it forks need not read again what all servers share.
_PROGRAM = """
import asyncio, json, os, sys
from kubewright_apiserver import ApiServer
from kubewright_apiserver.process import main, serving

async def warm():
    async with ApiServer():
        pass

asyncio.run(warm())
for line in sys.stdin:
    child = os.fork()
    if not child:
        print("pid", os.getpid(), flush=True)
        code = main(json.loads(line))
        sys.stdout.flush()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""
_READY = "serving at "


class Nursery:
    """Starts servers that keep their data in a folder; at most one lives."""

    def __init__(self, folder: Path) -> None:
        self.data: Path = folder / "data"
        self._kubeconfig = folder / "kubeconfig"
        self._flags = ["--secure-port=0", f"--data={self.data}", f"--write-kubeconfig={self._kubeconfig}"]
        self._context: ssl.SSLContext | None = None
        self._server = 0
        self._child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A group of its own, so that the server goes with it.
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.communicate()

    def start(self, *flags: str) -> None:
        """Let a server begin; where it is, `address` tells."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{json.dumps([*self._flags, *flags])}\n")
        self._child.stdin.flush()
        self._server = int(self._line().removeprefix("pid "))

    def address(self) -> str:
        """The server's address, once it is ready."""
        line = self._line()
        if not line.startswith(_READY):
            raise RuntimeError(f"the server did not start but {line or 'took its nursery with it'}")
        return line.removeprefix(_READY)

    def context(self) -> ssl.SSLContext:
        """TLS as the administrator: the same for all servers, since their authority lives with the data."""
        if self._context is None:
            self._context = _context(self._kubeconfig)
        return self._context

    def kill(self, number: int = signal.SIGKILL) -> int:
        """The exit code of the server after a signal, whether it was ready or not."""
        os.kill(self._server, number)
        line = self._line()
        if line.startswith(_READY):
            line = self._line()
        self._server = 0
        return int(line.removeprefix("ended "))

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()


def _context(kubeconfig: Path) -> ssl.SSLContext:
    config = yaml.safe_load(kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    user = config["users"][0]["user"]
    pair = kubeconfig.with_name("client.pem")
    pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
    context = ssl.create_default_context(cadata=authority.decode())
    context.load_cert_chain(pair)
    return context

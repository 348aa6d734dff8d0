"""Servers that are processes of their own, and how to ask them."""

from __future__ import annotations

import base64
import http.client
import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml


class ServerProcess:
    """A server as a person starts it: ``python -m kubewright_apiserver`` with these flags."""

    def __init__(self, folder: Path, flags: tuple[str, ...], cwd: Path | None, under: tuple[str, ...] = ()) -> None:
        self.kubeconfig = folder / "kubeconfig"
        self._errors = folder / f"stderr-{len(list(folder.glob('stderr-*')))}"
        command = [*under, sys.executable, "-m", "kubewright_apiserver", *flags]
        with self._errors.open("wb") as errors:
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=cwd
            )

    def ready(self) -> str:
        """The address, once the server has told that it is ready."""
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        assert line.startswith("serving at "), f"{line}{self.said}"
        return line.removeprefix("serving at ").strip()

    @property
    def said(self) -> str:
        """What it wrote to standard error."""
        return self._errors.read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.child.send_signal(number)
        return self.child.wait(20)

    def ask(self, path: str, method: str = "GET", body: Any = None, *, as_nobody: bool = False) -> tuple[int, Any]:
        """The status and the document, or text, that the server answers the administrator, or somebody unknown."""
        with self.asking(path, method, body, as_nobody=as_nobody) as answer:
            data = answer.read()
            is_json = (answer.getheader("Content-Type") or "").startswith("application/json")
            return answer.status, json.loads(data) if is_json else data.decode()

    @contextmanager
    def asking(
        self, path: str, method: str = "GET", body: Any = None, *, as_nobody: bool = False
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer, of which nothing but the head has been read."""
        config = yaml.safe_load(self.kubeconfig.read_text())
        url = urlsplit(config["clusters"][0]["cluster"]["server"])
        context = client_context(self.kubeconfig, as_nobody=as_nobody)
        connection = http.client.HTTPSConnection(url.hostname or "", url.port, context=context, timeout=20)
        content = json.dumps(body).encode() if body is not None else None
        connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
        answer = connection.getresponse()
        yield answer
        answer.close()
        connection.close()

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout):
            if stream is not None:
                stream.close()


def client_context(kubeconfig: Path, *, as_nobody: bool = False) -> ssl.SSLContext:
    """TLS with the authority and the certificate of a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_text())
    authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
    context = ssl.create_default_context(cadata=authority.decode())
    # As Go does, and Python from 3.13 on: a certificate that is believed need not be an authority's.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not as_nobody:
        user = config["users"][0]["user"]
        pair = kubeconfig.with_name("client.pem")
        parts = (user["client-certificate-data"], user["client-key-data"])
        pair.write_bytes(b"\n".join(base64.b64decode(part) for part in parts))
        context.load_cert_chain(pair)
    return context


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Starts servers on a free port, with a kubeconfig; all are gone when the test is over."""
    started: list[ServerProcess] = []

    def start(*flags: str, cwd: Path | None = None, under: tuple[str, ...] = ()) -> ServerProcess:
        settled = ("--secure-port=0", f"--write-kubeconfig={tmp_path / 'kubeconfig'}")
        started.append(ServerProcess(tmp_path, (*settled, *flags), cwd, under))
        return started[-1]

    yield start
    for process in started:
        process.close()

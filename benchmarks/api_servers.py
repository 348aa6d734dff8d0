"""The API servers that are measured, each as processes of its own behind TLS: the real one with etcd, and ours."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from benchmarks.processes import children, cpu_seconds, environment, memory
from kubewright.testing import RealControlPlane

__all__ = ["MEMORY", "REAL", "SQLITE", "ApiServer", "Starting", "ours", "real", "starting"]

REAL, MEMORY, SQLITE = "kube-apiserver and etcd", "ours, in memory", "ours, on SQLite"

_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running server: where it is, how to be its administrator, and the processes that it consists of."""

    name: str
    url: str
    context: ssl.SSLContext
    processes: dict[str, int]

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU that each process took so far."""
        return {name: cpu_seconds(pid) for name, pid in self.processes.items()}

    def memory(self) -> int:
        """Bytes that all processes have in memory."""
        return sum(memory(pid) for pid in self.processes.values())


Starting: TypeAlias = Callable[[], AbstractAsyncContextManager[ApiServer]]


@asynccontextmanager
async def real() -> AsyncIterator[ApiServer]:
    """kube-apiserver and etcd, which does not wait for the disk."""
    before = set(children().values())
    async with RealControlPlane() as plane:
        found = {name: pid for name, pid in children().items() if pid not in before}
        processes = {name: found[name] for name in ("kube-apiserver", "etcd")}
        yield ApiServer(REAL, plane.url, _administrator(plane.kubeconfig), processes)


def ours(name: str, *, objects: int = 0) -> AbstractAsyncContextManager[ApiServer]:
    """The embedded server as a process: in memory, or on a file if its name is ``SQLITE``."""
    return _ours(name, objects)


@asynccontextmanager
async def _ours(name: str, objects: int) -> AsyncIterator[ApiServer]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--objects", str(objects)]
        if name == SQLITE:
            arguments += ["--data", f"{folder}/data.sqlite"]
        with _process(arguments) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            context = _administrator(Path(said["kubeconfig"]))
            yield ApiServer(name, said["url"], context, {"kubewright-apiserver": process.pid})


@contextmanager
def _process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.embedded", *arguments]
    pipe = subprocess.PIPE
    # Leaving closes its standard input, which is how it is told to end.
    with subprocess.Popen(command, cwd=_ROOT, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        yield process


def starting() -> dict[str, Starting]:
    """How each server is started, by name."""
    return {REAL: real, MEMORY: lambda: ours(MEMORY), SQLITE: lambda: ours(SQLITE)}


def _administrator(kubeconfig: Path) -> ssl.SSLContext:
    """TLS as the kubeconfig has it: the server's authority, the administrator's certificate."""
    document = yaml.safe_load(kubeconfig.read_text())
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    context = ssl.create_default_context(cadata=_decoded(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(_decoded(user["client-certificate-data"]) + b"\n" + _decoded(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _decoded(text: str) -> bytes:
    return base64.b64decode(text)

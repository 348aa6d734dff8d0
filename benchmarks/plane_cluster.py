"""Clusters that are measured: a real kube-apiserver with our kubelet, and somebody's control loops beside it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import children, cpu_seconds, environment, memory
from kubewright import Client, Config
from kubewright.kinds.core_v1 import Node
from kubewright.testing import RealControlPlane

__all__ = ["OURS", "REAL", "Plane", "plane"]

REAL, OURS = "kube-controller-manager and kube-scheduler", "kubewright"

_ROOT = Path(__file__).parent.parent
# The processes' names as Linux tells them, at most 15 letters.
_REAL_PROCESSES = ("kube-controller", "kube-scheduler")
# Neither side shall wait for its own limit.
_UNLIMITED = ["--kube-api-qps=10000", "--kube-api-burst=10000"]


@dataclass(frozen=True, slots=True)
class Plane:
    """A cluster whose nodes are ready: a client of it, and the processes of its control loops."""

    client: Client
    processes: tuple[int, ...]

    def cpu(self) -> float:
        """Seconds of CPU that the loops took so far."""
        return sum(map(cpu_seconds, self.processes))

    def memory(self) -> int:
        """Bytes that the loops have in memory."""
        return sum(map(memory, self.processes))


@asynccontextmanager
async def plane(name: str, nodes: int) -> AsyncIterator[Plane]:
    """A fresh cluster with the loops of that name."""
    before = set(children().values())
    flags = _UNLIMITED if name == REAL else False
    own = RealControlPlane(controller_manager=flags, scheduler=flags, disable_admission_plugins=[])
    async with own as real:
        found = {process: pid for process, pid in children().items() if pid not in before}
        async with _process("kubelet", real.kubeconfig, nodes):
            if name == REAL:
                processes = tuple(found[process] for process in _REAL_PROCESSES)
                async with _ready(real.kubeconfig, nodes) as client:
                    yield Plane(client, processes)
            else:
                async with _process("loops", real.kubeconfig, nodes) as pid, _ready(real.kubeconfig, nodes) as client:
                    yield Plane(client, (pid,))


@asynccontextmanager
async def _process(what: str, kubeconfig: Path, nodes: int) -> AsyncIterator[int]:
    with _started(what, str(kubeconfig), str(nodes)) as process:
        assert process.stdout is not None
        if not await asyncio.to_thread(process.stdout.readline):
            raise RuntimeError(f"the process {what} ended at once; what it said is above")
        yield process.pid


@contextmanager
def _started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.plane_loops", *arguments]
    pipe = subprocess.PIPE
    # Leaving closes its standard input, which is how it is told to end.
    with subprocess.Popen(command, cwd=_ROOT, env=environment(), stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@asynccontextmanager
async def _ready(kubeconfig: Path, nodes: int) -> AsyncIterator[Client]:
    async with Client(Config.from_kubeconfig(kubeconfig)) as client:
        for number in range(nodes):
            await client.wait_until(Node, f"node-{number:03}", lambda node: not node.spec.taints)
        yield client

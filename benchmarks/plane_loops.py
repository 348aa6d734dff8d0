"""Our control loops, or our kubelet alone, as a process: ``python -m benchmarks.plane_loops loops|kubelet FILE NODES``.

FILE is a kubeconfig. It writes a line when its cache is full, and ends with its standard input.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from kubewright.cluster import Cluster
from kubewright.config import Config
from kubewright.controlplane import SimulatedNode, control_plane, operator_of
from kubewright.controlplane.kubelet import kubelet_loop
from kubewright.operator import Background, Operator
from kubewright.operator.settings import Settings

__all__ = ["main"]


def main() -> None:
    """Run what is asked for."""
    what, kubeconfig, nodes = sys.argv[1:]
    operator = _kubelet(int(nodes)) if what == "kubelet" else _loops(kubeconfig)
    operator.background = (*operator.background, Background(_tell_ready))
    threading.Thread(target=_end_with_input, daemon=True).start()
    operator.run(Settings(kubeconfig=kubeconfig, listen="off", leader_election=False, log_level="error"))


def _kubelet(nodes: int) -> Operator:
    return operator_of([kubelet_loop([SimulatedNode(name=f"node-{number:03}") for number in range(nodes)])])


def _loops(kubeconfig: str) -> Operator:
    """All loops but the kubelet, whose nodes are those of another process."""
    return control_plane(nodes=0, without=["kubelet"], ca=Config.from_kubeconfig(kubeconfig).tls.ca_data)


async def _tell_ready(cluster: Cluster) -> None:
    await cluster.cache.wait_synced()
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def _end_with_input() -> None:
    # Not through sys.stdin, whose lock would be held when the interpreter ends.
    while os.read(0, 1 << 16):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()

"""``kubewright up``: a whole cluster on this machine: API server, control loops, simulated nodes."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubewright.errors import ConfigError

if TYPE_CHECKING:
    from kubewright.cluster import Cluster
    from kubewright.controlplane.kubelet_door import ListeningDoor
    from kubewright.operator import Background, Operator

__all__ = ["add_to"]

_GRACE: Final = timedelta(seconds=5)
_LONG: Final = timedelta(days=365)


def add_to(commands: Any) -> None:
    """Add the command to the command line."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "up",
        help="run a cluster",
        description="Run a cluster until Ctrl-C: an API server, the control loops of Kubernetes, and nodes that only "
        "pretend to run pods. It says when it is ready; kubectl and all else then find it by the kubeconfig. What "
        "stands after -- are flags of kube-apiserver, such as --secure-port=6443.",
        epilog="example: kubewright up --nodes 2 --kubeconfig cluster.yaml --data ./cluster -- --secure-port=6443",
    )
    parser.add_argument("--nodes", metavar="N", type=int, default=1, help="how many nodes it has; 1 by default")
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="write the kubeconfig here; else into a folder that is gone at the end"
    )
    parser.add_argument("--data", metavar="DIR", help="keep its objects in this folder; in memory if not given")
    parser.add_argument(
        "--manifests", metavar="PATH", action="append", default=[], help="YAML to begin with; may be repeated"
    )
    parser.add_argument("--stages", metavar="FILE", help="YAML that scripts what pods do, beside their annotations")
    parser.add_argument(
        "--without",
        metavar="LOOP",
        action="append",
        default=[],
        help="leave out this control loop, such as scheduler; may be repeated; a wrong name tells which there are",
    )
    parser.add_argument("flags", metavar="-- FLAG", nargs="*", help="flags of the API server")
    parser.set_defaults(command=_up)


def _up(told: argparse.Namespace) -> None:
    from kubewright.controlplane import LOOPS

    if unknown := [name for name in told.without if name not in LOOPS]:
        raise ConfigError(f"--without: there is no control loop {unknown[0]!r}; there are {', '.join(LOOPS)}")
    if told.nodes < 0:
        raise ConfigError(f"--nodes must be 0 or more, not {told.nodes}")
    _run(told)


def _run(told: argparse.Namespace) -> None:
    from kubewright.cli.embedded import embedded_process
    from kubewright.config import Config
    from kubewright.controlplane.kubelet import read_stages
    from kubewright.controlplane.kubelet_door import KubeletDoor, ListeningDoor
    from kubewright.operator.settings import Settings

    stages = read_stages(Path(told.stages)) if told.stages else []
    file = Path(told.kubeconfig) if told.kubeconfig else None
    with (
        closing(ListeningDoor(KubeletDoor(stages=stages))) as door,
        embedded_process(data=told.data, manifests=told.manifests, kubeconfig=file, flags=_flags(told)) as kubeconfig,
    ):
        ca = Config.from_kubeconfig(kubeconfig).tls.ca_data
        plane = _plane(told, door, stages, ca)
        plane.background = (*plane.background, _announcement(kubeconfig, _names(told)))
        # That Endpoints are deprecated, everybody knows who still keeps them.
        logging.getLogger("kubewright.client").setLevel(logging.ERROR)
        settings = Settings(
            kubeconfig=str(kubeconfig), listen="off", leader_election=False, log_level="warning", grace=_GRACE
        )
        plane.run(settings)


def _flags(told: argparse.Namespace) -> list[str]:
    flags = ["--kubelet-preferred-address-types=InternalDNS"]
    if "serviceaccount" not in told.without:
        # With somebody who makes the accounts, pods must have one, as everywhere.
        flags.append("--enable-admission-plugins=ServiceAccount")
    return [*flags, *told.flags]


def _plane(told: argparse.Namespace, door: ListeningDoor, stages: Sequence[Any], ca: bytes) -> Operator:
    from kubewright.controlplane import SimulatedNode, control_plane

    nodes = [SimulatedNode(name=name, kubelet_port=door.port) for name in _names(told)]
    beside = [] if "kubelet" in told.without else [door.loop()]
    return control_plane(nodes=nodes, without=told.without, instead=beside, stages=stages, ca=ca)


def _names(told: argparse.Namespace) -> list[str]:
    return [f"node-{number + 1}" for number in range(told.nodes)]


def _announcement(kubeconfig: Path, names: Sequence[str]) -> Background:
    from kubewright.kinds.core_v1 import Node
    from kubewright.operator import Background

    def is_ready(node: Node) -> bool:
        return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)

    async def tell_ready(cluster: Cluster) -> None:
        await cluster.cache.wait_synced()
        for name in names:
            await cluster.client.wait_until(Node, name, is_ready, within=_LONG)
        sys.stdout.write(f"the cluster is ready; look with: kubectl --kubeconfig {kubeconfig} get nodes\n")
        sys.stdout.flush()

    return Background(tell_ready)

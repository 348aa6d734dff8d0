"""What do control loops cost while many Deployments come up, are scaled, and are deleted?

``python -m benchmarks.plane_deployments [--quick] [--runs N]``
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import comparison
from benchmarks.comparison import Line
from benchmarks.plane_cluster import OURS, REAL, Plane, plane
from kubewright import Client, LabelSelector, MergePatch, Metadata
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec
from kubewright.kinds.core_v1 import Container, Namespace, Pod, PodSpec, PodTemplateSpec, ServiceAccount
from kubewright.testing import KUBERNETES_VERSION

__all__ = ["QUESTION", "main"]

QUESTION = "What do control loops cost while 500 Deployments come up, grow to 10,000 pods, and are deleted?"

_RUNS = 3
_AT_ONCE = 16
_NAMESPACE = "load"
_RESULTS = Path(__file__).parent / "results" / "plane_deployments.json"


class _Size(NamedTuple):
    deployments: int
    pods: int
    """Of each Deployment at first."""
    grown: int
    """Of each Deployment later."""
    nodes: int


_WHOLE, _QUICK = _Size(500, 3, 20, 200), _Size(20, 3, 10, 5)


class _Phase(NamedTuple):
    wall: float
    cpu: float


class _Figures(NamedTuple):
    idle: float
    created: _Phase
    scaled: _Phase
    resident: float
    deleted: _Phase


def main() -> None:
    """Measure both in turn, print the table, keep the results unless it was done in passing."""
    parser = argparse.ArgumentParser(description="Measures control loops beside Kubernetes' own on a real API server.")
    parser.add_argument("--quick", action="store_true", help="once and with little to do, only to see that it runs")
    parser.add_argument("--runs", type=int, default=_RUNS, help=f"how often each runs; {_RUNS} by default")
    parser.add_argument("--only", choices=("ours", "real"), help="one of them alone; nothing is kept")
    options = parser.parse_args()
    size, runs = (_QUICK, 1) if options.quick else (_WHOLE, options.runs)
    names = {"ours": [OURS], "real": [REAL], None: [REAL, OURS]}[options.only]
    busy = os.getloadavg()[2]
    rounds = [{name: asyncio.run(_once(name, size)) for name in names} for _ in range(runs)]
    results = _results(rounds, size, busy)
    print(f"\n{QUESTION}\n\n{comparison.table(results['lines'])}", flush=True)
    if not options.quick and len(names) > 1:
        _RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


async def _once(name: str, size: _Size) -> _Figures:
    async with plane(name, size.nodes) as made:
        await made.client.create(Namespace(metadata=Metadata(name=_NAMESPACE)))
        client = made.client.using(namespace=_NAMESPACE)
        await client.wait_until(ServiceAccount, "default", lambda _: True)
        idle = made.memory() / 2**20
        names = [f"web-{number:03}" for number in range(size.deployments)]
        created = await _phase(
            made,
            lambda: _each(names, lambda name: client.create(_deployment(name, size.pods))),
            lambda: _wait_available(client, names, size.pods),
        )
        growth = MergePatch({"spec": {"replicas": size.grown}})
        scaled = await _phase(
            made,
            lambda: _each(names, lambda name: client.patch(Deployment, growth, name=name)),
            lambda: _wait_available(client, names, size.grown),
        )
        resident = made.memory() / 2**20
        deleted = await _phase(
            made,
            lambda: _each(names, lambda name: client.delete(Deployment, name)),
            lambda: _wait_empty(client),
        )
    return _Figures(idle, created, scaled, resident, deleted)


async def _phase(made: Plane, act: Callable[[], Awaitable[None]], wait: Callable[[], Awaitable[None]]) -> _Phase:
    cpu, began = made.cpu(), time.perf_counter()
    await act()
    await wait()
    wall = time.perf_counter() - began
    # What is told of it comes behind: Events, status.
    await asyncio.sleep(3)
    return _Phase(wall, made.cpu() - cpu)


def _deployment(name: str, replicas: int) -> Deployment:
    labels = {"app": name}
    spec = PodSpec(containers=[Container(name="web", image="nginx:1.27")])
    template = PodTemplateSpec(metadata=Metadata(labels=labels), spec=spec)
    selector = LabelSelector(match_labels=labels)
    return Deployment(
        metadata=Metadata(name=name), spec=DeploymentSpec(replicas=replicas, selector=selector, template=template)
    )


async def _each(names: Iterable[str], send: Callable[[str], Awaitable[Any]]) -> None:
    waiting = iter(names)

    async def work() -> None:
        for name in waiting:
            await send(name)

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))


async def _wait_available(client: Client, names: Iterable[str], replicas: int) -> None:
    waiting = set(names)
    async for event in client.watch(Deployment):
        if event.type != "BOOKMARK" and event.object.status.available_replicas == replicas:
            waiting.discard(event.object.name)
        if not waiting:
            return


async def _wait_empty(client: Client) -> None:
    left: set[str] = set()
    is_whole = False
    async for event in client.watch(Pod):
        is_whole = is_whole or event.synced
        if event.type == "DELETED":
            left.discard(event.object.name)
        elif event.type != "BOOKMARK":
            left.add(event.object.name)
        if is_whole and not left:
            return


def _results(rounds: list[dict[str, _Figures]], size: _Size, busy: float) -> dict[str, Any]:
    def line(what: str, unit: str, figure: Callable[[_Figures], float]) -> Line:
        return Line(what, unit, {name: [figure(found[name]) for found in rounds] for name in rounds[0]})

    few, many = size.deployments * size.pods, size.deployments * size.grown
    lines = [
        line("memory when idle", "MiB", lambda found: found.idle),
        line(f"{size.deployments} Deployments created → {few:,} pods available", "s", lambda found: found.created.wall),
        line("the same", "CPU s", lambda found: found.created.cpu),
        line(f"scaled → {many:,} pods available", "s", lambda found: found.scaled.wall),
        line("the same", "CPU s", lambda found: found.scaled.cpu),
        line(f"memory with {many:,} pods on {size.nodes} nodes", "MiB", lambda found: found.resident),
        line("deleted → nothing left", "s", lambda found: found.deleted.wall),
        line("the same", "CPU s", lambda found: found.deleted.cpu),
    ]
    return {
        "question": QUESTION,
        "runs": len(rounds),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load before": round(busy, 1),
        "versions": {"kubernetes": KUBERNETES_VERSION},
        "lines": comparison.summary(lines),
    }


if __name__ == "__main__":
    main()

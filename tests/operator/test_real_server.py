"""The examples' operators, unchanged, on a real kube-apiserver."""

from __future__ import annotations

import importlib
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kubewright import Client, Config, Metadata
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Pod
from kubewright.operator import RunningOperator, install_crds
from kubewright.testing import RealControlPlane

EXAMPLES = Path(__file__).parent.parent.parent / "examples"

pytestmark = pytest.mark.asyncio(loop_scope="session")


def example(name: str) -> Any:
    sys.path.insert(0, str(EXAMPLES / name))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


@asynccontextmanager
async def at_work(plane: RealControlPlane, module: Any) -> AsyncIterator[tuple[Client, RunningOperator]]:
    namespace = f"{module.operator.name}-test"
    config = Config.from_kubeconfig(plane.kubeconfig)
    async with Client(config) as ours, Client(config) as theirs:
        await ours.create(Namespace(metadata=Metadata(name=namespace)))
        await install_crds(ours, module.operator)
        async with module.operator.running(theirs) as running:
            await running.wait_ready()
            yield ours.using(namespace=namespace), running


async def test_the_greeter_works_on_a_real_server(real_control_plane: RealControlPlane) -> None:
    greeter = example("greeter")
    async with at_work(real_control_plane, greeter) as (client, _):
        await client.create(greeter.Greeting(metadata=Metadata(name="a"), spec=greeter.GreetingSpec(text="hi")))
        card = await client.wait_until(ConfigMap, "a", lambda card: card.data == {"text": "hi"})
        assert card.controller_reference is not None
        await client.modify(ConfigMap, "a", lambda card: card.data.update(text="spoilt"))
        await client.wait_until(ConfigMap, "a", lambda card: card.data == {"text": "hi"})


async def test_a_podset_is_scaled_and_repaired_on_a_real_server(real_control_plane: RealControlPlane) -> None:
    podset = example("podset")

    def counts(size: int) -> Any:
        return lambda obj: obj.status is not None and len(obj.status.nodes) == size

    async with at_work(real_control_plane, podset) as (client, _):
        made = podset.PodSet(metadata=Metadata(name="sample"), spec=podset.PodSetSpec(size=3))
        await client.create(made)
        three = await client.wait_until(podset.PodSet, "sample", counts(3))
        await client.modify(podset.PodSet, "sample", lambda obj: setattr(obj.spec, "size", 5))
        await client.wait_until(podset.PodSet, "sample", counts(5))
        victim = three.status.nodes[0]
        await client.delete(Pod, victim)
        await client.wait_until(
            podset.PodSet, "sample", lambda obj: len(obj.status.nodes) == 5 and victim not in obj.status.nodes
        )
        await client.modify(podset.PodSet, "sample", lambda obj: setattr(obj.spec, "size", 1))
        await client.wait_until(podset.PodSet, "sample", counts(1))
        assert len(await client.list(Pod)) == 1

"""The same PodSet in three frameworks does the same; the peers' only under ``make peers``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from frameworks import FRAMEWORKS, Framework, beside, cluster

from kubewright import Client, Config, MergePatch, Metadata, Unstructured
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import Pod

HERE = Path(__file__).parent
PodSet = Unstructured.of("apps.jicki.cn/v1alpha1", "PodSet", plural="podsets")


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    with cluster(HERE / "crd.yaml", tmp_path) as file:
        yield file


async def names(client: Client, size: int, without: str = "") -> list[str]:
    def is_settled(podset: Unstructured) -> bool:
        nodes = (podset.get("status") or {}).get("nodes") or []
        return len(nodes) == size and without not in nodes

    found: list[str] = (await client.wait_until(PodSet, "sample", is_settled))["status"].get("nodes") or []
    return found


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_podset_of_each_framework_is_filled_scaled_repaired_and_deleted(
    framework: Framework, kubeconfig: Path, tmp_path: Path
) -> None:
    command = framework("podset")
    with beside(command, HERE, tmp_path / "operator.log", KUBECONFIG=str(kubeconfig)):
        async with Client(Config.from_kubeconfig(kubeconfig)) as client:
            await client.wait_until(
                CustomResourceDefinition, "podsets.apps.jicki.cn", lambda crd: bool(crd.status.conditions)
            )
            await client.create(PodSet(metadata=Metadata(name="sample"), content={"spec": {"size": 3}}))
            victim = (await names(client, 3))[0]
            await client.delete(Pod, victim)
            await names(client, 3, without=victim)
            await client.patch(PodSet, MergePatch({"spec": {"size": 1}}), name="sample")
            (last,) = await names(client, 1)

            await client.delete(PodSet, "sample")

            await client.wait_gone(Pod, last)

"""The same NginxOperator in three frameworks does the same; the peers' only under ``make peers``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from frameworks import FRAMEWORKS, Framework, beside, cluster

from kubewright import Client, Config, MergePatch, Metadata, Unstructured
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.apps_v1 import Deployment
from kubewright.kinds.events_v1 import Event

HERE = Path(__file__).parent
MINUTE = timedelta(minutes=1)
NginxOperator = Unstructured.of("operator.example.com/v1alpha1", "NginxOperator", plural="nginxoperators")


def conditions(found: Unstructured) -> dict[str, dict[str, Any]]:
    return {condition["type"]: condition for condition in (found.get("status") or {}).get("conditions") or []}


async def serving(client: Client, replicas: int, image: str = "nginx:1.27") -> dict[str, dict[str, Any]]:
    """The conditions, once that many pods serve with that image."""

    def serves(found: Unstructured) -> bool:
        status = found.get("status") or {}
        is_current = status.get("observedGeneration") == found.metadata.generation
        is_ready = conditions(found).get("OperandReady", {}).get("status") == "True"
        return is_current and is_ready and (status["readyReplicas"], status["image"]) == (replicas, image)

    return conditions(await client.wait_until(NginxOperator, "instance", serves, within=MINUTE))


def image_of(deployment: Deployment) -> str | None:
    return deployment.spec.template.spec.containers[0].image


def spoil(deployment: Deployment) -> None:
    deployment.spec.replicas = 5
    deployment.spec.template.spec.containers[0].image = "apache"


async def spoilt_and_mended(client: Client) -> Deployment:
    """The Deployment, changed by somebody and repaired."""
    generation = (await client.modify(Deployment, "instance", spoil)).metadata.generation

    def is_mended(found: Deployment) -> bool:
        is_later = found.metadata.generation > generation
        return is_later and (found.spec.replicas, image_of(found)) == (2, "nginx:1.27")

    return await client.wait_until(Deployment, "instance", is_mended, within=MINUTE)


async def installed(client: Client) -> None:
    name = "nginxoperators.operator.example.com"
    await client.wait_until(CustomResourceDefinition, name, lambda crd: bool(crd.status.conditions))


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    with cluster(HERE / "crd.yaml", tmp_path) as file:
        yield file


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_an_nginx_of_each_framework_is_made_repaired_redeployed_and_deleted(
    framework: Framework, kubeconfig: Path, tmp_path: Path
) -> None:
    command = framework("nginx")
    with beside(command, HERE, tmp_path / "operator.log", KUBECONFIG=str(kubeconfig)):
        async with Client(Config.from_kubeconfig(kubeconfig)) as client:
            await installed(client)
            spec = {"port": 8080, "replicas": 2}
            await client.create(NginxOperator(metadata=Metadata(name="instance"), content={"spec": spec}))
            told = await serving(client, 2)
            made = await client.get(Deployment, "instance")
            assert made.spec.template.spec.containers[0].ports[0].container_port == 8080
            assert told["Ready"]["status"] == "True"
            mended = await spoilt_and_mended(client)
            await serving(client, 2)
            await client.delete(Deployment, "instance")
            again = await client.wait_until(
                Deployment, "instance", lambda found: found.metadata.uid != mended.metadata.uid, within=MINUTE
            )
            await serving(client, 2)

            await client.patch(NginxOperator, MergePatch({"spec": {"forceRedeploy": "now"}}), name="instance")
            redeployed = await client.wait_until(
                Deployment,
                "instance",
                lambda found: found.metadata.generation == again.metadata.generation + 1,
                within=MINUTE,
            )
            assert redeployed.spec.template.metadata.annotations == {"operator.example.com/force-redeploy": "now"}
            assert (await serving(client, 2))["Ready"]["lastTransitionTime"] == told["Ready"]["lastTransitionTime"]
            reasons = {event.reason async for event in client.list(Event) if event.regarding.kind == "NginxOperator"}
            assert "OperandReady" in reasons
            await client.delete(NginxOperator, "instance")

            await client.wait_gone(Deployment, "instance")


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_an_operator_of_each_framework_rolls_the_operand_to_its_own_image_up_and_down(
    framework: Framework, kubeconfig: Path, tmp_path: Path
) -> None:
    command, at = framework("nginx"), str(kubeconfig)
    async with Client(Config.from_kubeconfig(kubeconfig)) as client:
        with beside(command, HERE, tmp_path / "first.log", KUBECONFIG=at):
            await installed(client)
            spec = {"port": 80, "replicas": 1}
            await client.create(NginxOperator(metadata=Metadata(name="instance"), content={"spec": spec}))
            await serving(client, 1)
        with beside(command, HERE, tmp_path / "second.log", KUBECONFIG=at, RELATED_IMAGE_NGINX="nginx:1.28"):
            await serving(client, 1, "nginx:1.28")
        with beside(command, HERE, tmp_path / "third.log", KUBECONFIG=at):
            await serving(client, 1)

            assert image_of(await client.get(Deployment, "instance")) == "nginx:1.27"


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_an_operand_that_the_server_refuses_is_told_in_ready_by_each_framework(
    framework: Framework, kubeconfig: Path, tmp_path: Path
) -> None:
    too_long_for_a_label = "a" * 64
    async with Client(Config.from_kubeconfig(kubeconfig)) as client:
        with beside(framework("nginx"), HERE, tmp_path / "operator.log", KUBECONFIG=str(kubeconfig)):
            await installed(client)
            spec = {"port": 80, "replicas": 1}
            await client.create(NginxOperator(metadata=Metadata(name=too_long_for_a_label), content={"spec": spec}))

            found = await client.wait_until(
                NginxOperator, too_long_for_a_label, lambda found: "Ready" in conditions(found), within=MINUTE
            )

            assert conditions(found)["Ready"]["status"] == "False"
            assert "63 " in conditions(found)["Ready"]["message"]


def test_the_operand_that_go_embeds_is_the_one_of_the_package() -> None:
    embedded = HERE / "controller_runtime/deployment.yaml"

    assert embedded.read_text() == (HERE.parent / "nginx_operator/deployment.yaml").read_text()

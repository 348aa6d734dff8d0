"""What people do to a cluster: scripts that are played on ours and on the real one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from kubewright import Client, MergePatch, Metadata
from kubewright.api import LabelSelector
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec, DeploymentStrategy, ReplicaSet, ReplicaSetSpec
from kubewright.kinds.core_v1 import (
    Container,
    ContainerPort,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
)

__all__ = ["SCRIPTS", "Script", "Stage"]


class Stage(Protocol):
    """A cluster to play on."""

    client: Client

    async def settle(self) -> None:
        """Return when nothing follows any more from what was done."""
        ...


Script = Callable[[Stage], Awaitable[None]]


def deployment(replicas: int = 3, **spec: Any) -> Deployment:
    """A Deployment called web."""
    labels = {"app": "web"}
    container = Container(name="web", image="nginx:1.27", ports=[ContainerPort(container_port=80, name="http")])
    template = PodTemplateSpec(metadata=Metadata(labels=labels), spec=PodSpec(containers=[container]))
    selector = LabelSelector(match_labels=labels)
    return Deployment(
        metadata=Metadata(name="web"),
        spec=DeploymentSpec(replicas=replicas, selector=selector, template=template, **spec),
    )


def image(tag: str) -> MergePatch:
    """A change of web's image."""
    ports = [{"containerPort": 80, "name": "http", "protocol": "TCP"}]
    container = {"name": "web", "image": f"nginx:{tag}", "ports": ports}
    return MergePatch({"spec": {"template": {"spec": {"containers": [container]}}}})


async def created(stage: Stage) -> None:
    await stage.client.create(deployment())
    await stage.settle()


async def scaled_up_and_down(stage: Stage) -> None:
    await created(stage)
    for replicas in (5, 2):
        await stage.client.patch(Deployment, MergePatch({"spec": {"replicas": replicas}}), name="web")
        await stage.settle()


async def scaled_to_nothing(stage: Stage) -> None:
    await created(stage)
    await stage.client.patch(Deployment, MergePatch({"spec": {"replicas": 0}}), name="web")
    await stage.settle()


async def image_updated(stage: Stage) -> None:
    await created(stage)
    await stage.client.patch(Deployment, image("1.28"), name="web")
    await stage.settle()


async def rolled_back(stage: Stage) -> None:
    await image_updated(stage)
    await stage.client.patch(Deployment, image("1.27"), name="web")
    await stage.settle()


async def recreated(stage: Stage) -> None:
    await stage.client.create(deployment(strategy=DeploymentStrategy(type="Recreate")))
    await stage.settle()
    await stage.client.patch(Deployment, image("1.28"), name="web")
    await stage.settle()


async def paused_updated_resumed(stage: Stage) -> None:
    await created(stage)
    await stage.client.patch(Deployment, MergePatch({"spec": {"paused": True}}), name="web")
    await stage.settle()
    await stage.client.patch(Deployment, image("1.28"), name="web")
    await stage.settle()
    await stage.client.patch(Deployment, MergePatch({"spec": {"paused": None}}), name="web")
    await stage.settle()


async def history_is_limited(stage: Stage) -> None:
    await stage.client.create(deployment(revision_history_limit=1))
    await stage.settle()
    for tag in ("1.28", "1.29", "1.30"):
        await stage.client.patch(Deployment, image(tag), name="web")
        await stage.settle()


async def pod_killed(stage: Stage) -> None:
    await created(stage)
    victim = (await stage.client.list(Pod)).items[0]
    await stage.client.delete(victim)
    await stage.settle()


async def pod_released(stage: Stage) -> None:
    await created(stage)
    pod = (await stage.client.list(Pod)).items[0]
    await stage.client.patch(pod, MergePatch({"metadata": {"labels": {"app": "other"}}}))
    await stage.settle()


async def pod_adopted(stage: Stage) -> None:
    container = Container(name="web", image="nginx:1.27")
    stray = Pod(metadata=Metadata(name="stray", labels={"app": "web"}), spec=PodSpec(containers=[container]))
    await stage.client.create(stray)
    await stage.settle()
    template = PodTemplateSpec(metadata=Metadata(labels={"app": "web"}), spec=PodSpec(containers=[container]))
    spec = ReplicaSetSpec(replicas=2, selector=LabelSelector(match_labels={"app": "web"}), template=template)
    await stage.client.create(ReplicaSet(metadata=Metadata(name="web"), spec=spec))
    await stage.settle()


async def deleted_in_the_background(stage: Stage) -> None:
    await created(stage)
    await stage.client.delete(Deployment, "web", propagation="Background")
    await stage.settle()


async def deleted_in_the_foreground(stage: Stage) -> None:
    await created(stage)
    await stage.client.delete(Deployment, "web", propagation="Foreground")
    await stage.settle()


async def deleted_with_orphans(stage: Stage) -> None:
    await created(stage)
    await stage.client.delete(Deployment, "web", propagation="Orphan")
    await stage.settle()


async def served(stage: Stage) -> None:
    await created(stage)
    port = ServicePort(name="web", port=80, target_port="http")
    await stage.client.create(
        Service(metadata=Metadata(name="web"), spec=ServiceSpec(selector={"app": "web"}, ports=[port]))
    )
    await stage.settle()
    await stage.client.patch(Deployment, MergePatch({"spec": {"replicas": 1}}), name="web")
    await stage.settle()


SCRIPTS: Final[dict[str, Script]] = {
    script.__name__: script
    for script in (
        created,
        scaled_up_and_down,
        scaled_to_nothing,
        image_updated,
        rolled_back,
        recreated,
        paused_updated_resumed,
        history_is_limited,
        pod_killed,
        pod_released,
        pod_adopted,
        deleted_in_the_background,
        deleted_in_the_foreground,
        deleted_with_orphans,
        served,
    )
}

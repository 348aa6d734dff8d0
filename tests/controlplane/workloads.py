"""Workloads for tests of the loops that keep pods, and a stand-in for the kubelet that makes the pods ready."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from kubewright import Client, LabelSelector, Metadata
from kubewright.api import now
from kubewright.client import MergePatch
from kubewright.errors import NotFound
from kubewright.kinds.apps_v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    RollingUpdateDeployment,
)
from kubewright.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse

TICK: Final = timedelta(milliseconds=500)
_QUIET: Final = 3
_LONGEST: Final = 200


def pod_spec(image: str = "nginx:1") -> PodSpec:
    return PodSpec(containers=[Container(name="main", image=image)])


def template(image: str = "nginx:1", **labels: str) -> PodTemplateSpec:
    return PodTemplateSpec(metadata=Metadata(labels={"app": "web", **labels}), spec=pod_spec(image))


def pod(name: str, *, image: str = "nginx:1", **labels: str) -> Pod:
    return Pod(metadata=Metadata(name=name, labels=labels), spec=pod_spec(image))


def replica_set(replicas: int = 3, *, name: str = "web", **spec: Any) -> ReplicaSet:
    selector = LabelSelector(match_labels={"app": "web"})
    made = ReplicaSetSpec(replicas=replicas, selector=selector, template=template())
    for field, value in spec.items():
        setattr(made, field, value)
    return ReplicaSet(metadata=Metadata(name=name), spec=made)


def deployment(replicas: int = 3, *, image: str = "nginx:1", **spec: Any) -> Deployment:
    selector = LabelSelector(match_labels={"app": "web"})
    made = DeploymentSpec(replicas=replicas, selector=selector, template=template(image), **spec)
    return Deployment(metadata=Metadata(name="web"), spec=made)


def rolling(max_surge: int | str, max_unavailable: int | str) -> DeploymentStrategy:
    limits = RollingUpdateDeployment(max_surge=max_surge, max_unavailable=max_unavailable)
    return DeploymentStrategy(type="RollingUpdate", rolling_update=limits)


def with_image(image: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": image}]}}}}


async def change(client: Client, kind: type[Deployment] | type[ReplicaSet], body: dict[str, Any]) -> None:
    await client.patch(kind, MergePatch(body), name="web")


async def make_ready(client: Client, pod: Pod, *, since: str | None = None) -> None:
    """Tell that the pod runs and is ready, as its kubelet would."""
    when = since or now().replace(microsecond=0).isoformat()
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": when}
    with suppress(NotFound):
        await client.patch(
            pod, MergePatch({"status": {"phase": "Running", "conditions": [ready]}}), subresource="status"
        )


async def _keep(client: Client, broken: str) -> None:
    for found in await client.list(Pod):
        image = found.spec.containers[0].image or ""
        if found.metadata.deletion_timestamp is not None:
            with suppress(NotFound):
                await client.delete(Pod, found.name, grace=timedelta(0))
        elif not found.status.conditions and found.status.phase == "Pending" and not (broken and broken in image):
            await make_ready(client, found)


async def settle(client: Client, *, broken: str = "", ready: bool = True) -> None:
    """Return when nothing changes any more, with pods made ready (but those of a broken image) and ended in time."""
    last: list[str] = []
    quiet = 0
    for _ in range(_LONGEST):
        if ready:
            await _keep(client, broken)
        await elapse(TICK)
        state = [f"{obj.metadata.uid} {obj.metadata.resource_version}" for obj in await everything(client)]
        quiet = quiet + 1 if state == last else 0
        last = state
        if quiet == _QUIET:
            return
    raise AssertionError("it never settles")


async def everything(client: Client) -> Sequence[Deployment | ReplicaSet | Pod]:
    return [*await client.list(Deployment), *await client.list(ReplicaSet), *await client.list(Pod)]


async def sizes(client: Client) -> dict[str, int]:
    """How large each ReplicaSet shall be, by the image of its pods."""
    return {
        (found.spec.template.spec.containers[0].image or "") if found.spec.template else "": found.spec.replicas or 0
        for found in await client.list(ReplicaSet)
    }


async def images(client: Client) -> list[str]:
    """The images of the pods that are not being deleted, sorted."""
    pods = [found for found in await client.list(Pod) if found.metadata.deletion_timestamp is None]
    return sorted(found.spec.containers[0].image or "" for found in pods)


async def notes(client: Client, reason: str) -> list[str]:
    """What Events of a reason say, in their order."""
    found = [event for event in await client.list(Event) if event.reason == reason]
    return [event.note or "" for event in sorted(found, key=lambda event: event.event_time or now())]

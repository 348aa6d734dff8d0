"""PodSet: keeps as many pods as its spec says, and tells their names in its status."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import msgspec

from kubewright import (
    Column,
    Context,
    Controller,
    Key,
    LabelSelector,
    Metadata,
    Model,
    Operator,
    Resource,
    ScalePaths,
    Watch,
)
from kubewright.cache import Cache
from kubewright.controller import Expectations, claim
from kubewright.kinds.core_v1 import Container, Pod, PodSpec
from kubewright.operation import PROGRESS, Progress, revision_of

LABEL = "apps.jicki.cn/podset"
"""On each pod: the name of the set that it belongs to."""


class PodSetSpec(Model):
    """What is wanted."""

    size: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1, extra_json_schema={"format": "int32"})]
    """How many pods there shall be."""


class PodSetStatus(Progress):
    """What is found."""

    nodes: list[str] = []
    """The names of the pods."""
    replicas: int = 0
    ready_replicas: int = 0
    selector: str = ""
    """By which an autoscaler finds the pods."""


class PodSet(
    Resource,
    group="apps.jicki.cn",
    version="v1alpha1",
    short_names=("ps",),
    columns=[Column("Size", ".spec.size", "integer"), Column("Pods", ".status.replicas", "integer"), PROGRESS],
    scale=ScalePaths(spec=".spec.size", status=".status.replicas", selector=".status.selector"),
):
    """A number of equal pods."""

    spec: PodSetSpec
    status: Annotated[PodSetStatus, msgspec.Meta(extra_json_schema={"required": ["nodes"]})] | None = None


def pod_of(podset: PodSet) -> Pod:
    """One of the set's pods."""
    sleeper = Container(name="busybox", image="busybox", command=["sleep", "3600"])
    metadata = Metadata(generate_name=f"{podset.name}-pod-", labels={LABEL: podset.name})
    return Pod(metadata=metadata, spec=PodSpec(containers=[sleeper]))


def is_alive(pod: Pod) -> bool:
    """Whether the pod counts: it is not being deleted, and has not failed, been evicted or ended."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ("Failed", "Succeeded")


def is_ready(pod: Pod) -> bool:
    """Whether the kubelet says so."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


def least_worth(pods: Sequence[Pod], count: int) -> list[Pod]:
    """Whom to delete first: without a node, not running, not ready, crowded on its node, young."""
    crowd = Counter(pod.spec.node_name for pod in pods)

    def worth(pod: Pod) -> tuple[bool, bool, bool, int, float, str]:
        created = pod.metadata.creation_timestamp
        age = -created.timestamp() if created else 0.0
        place = pod.spec.node_name
        return bool(place), pod.status.phase == "Running", is_ready(pod), -crowd[place], age, pod.name

    return sorted(pods, key=worth)[:count]


def set_of(pod: Pod, _: Cache) -> list[Key]:
    """The set that could adopt the pod, by its label; those that have a controller are its controller's business."""
    name = pod.metadata.labels.get(LABEL)
    return [Key(pod.namespace, name)] if name and pod.controller_reference is None else []


class PodSets:
    """The controller's state: which pods it has asked for and not seen yet."""

    def __init__(self) -> None:
        self.expectations = Expectations(PodSet, Pod)

    async def reconcile(self, podset: PodSet, ctx: Context) -> None:
        """Adopt and release, create what is missing, delete what is too much, tell what there is."""
        try:
            selector = LabelSelector(match_labels={LABEL: podset.name})
            pods = await claim(ctx.client, podset, candidates(podset, ctx), selector)
            if self.expectations.are_met(podset.key):
                await self.scale(podset, pods, ctx)
        finally:
            tell(podset, [pod for pod in ctx.owned(Pod) if is_alive(pod)], ctx)

    async def scale(self, podset: PodSet, pods: Sequence[Pod], ctx: Context) -> None:
        """Sweep away what has failed, and make the number of the rest right."""
        alive = [pod for pod in pods if is_alive(pod)]
        failed = [pod for pod in pods if not is_alive(pod) and pod.metadata.deletion_timestamp is None]
        for pod in failed:
            ctx.event("Warning", "PodFailed", f"{pod.name} is replaced: {pod.status.reason or pod.status.phase}")
        missing = podset.spec.size - len(alive)
        if failed or missing < 0:
            await self.expectations.delete(podset, [*failed, *least_worth(alive, max(0, -missing))], ctx.delete)
        if missing < 0:
            ctx.event("Normal", "ScaledDown", f"deleted {-missing} pods")
        if missing > 0:
            made = await self.expectations.create(podset, missing, lambda: ctx.create(pod_of(podset)))
            ctx.event("Normal", "ScaledUp", f"created {made} pods")


def candidates(podset: PodSet, ctx: Context) -> list[Pod]:
    """The pods that are the set's, or could be."""
    found = [*ctx.cache.list(Pod, owned_by=podset), *ctx.cache.list(Pod, labels={LABEL: podset.name})]
    return list({pod.metadata.uid: pod for pod in found}.values())


def tell(podset: PodSet, pods: Sequence[Pod], ctx: Context) -> None:
    """Say in the status what there is."""
    status = podset.status = podset.status or PodSetStatus()
    status.nodes = sorted(pod.name for pod in pods)
    status.replicas, status.ready_replicas = len(pods), sum(map(is_ready, pods))
    status.selector = f"{LABEL}={podset.name}"
    size, ready = podset.spec.size, status.ready_replicas
    status.observe(podset, revision_of(size), done=min(ready, size), total=max(size, len(pods)))
    if ready == len(pods) == size:
        if status.set("Ready", True, reason="Scaled", message=f"{size} of {size} pods are ready"):
            ctx.event("Normal", "Ready", f"{size} of {size} pods are ready")
    else:
        status.set("Ready", False, reason="Scaling", message=f"{ready} of {size} pods are ready")


def check(podset: PodSet) -> str | None:
    """What the schema cannot say."""
    return "metadata.name must have at most 63 characters: pods carry it as a label" if len(podset.name) > 63 else None


def new_operator() -> Operator:
    """The operator, knowing nothing."""
    sets = PodSets()
    watches, sources = [Watch(Pod, set_of)], [sets.expectations]
    controller = Controller(
        PodSet, sets.reconcile, validate=check, owns=[Pod], watches=watches, sources=sources, workers=4
    )
    return Operator("podset", [controller])


operator = new_operator()

if __name__ == "__main__":
    operator.run()

"""PodSet: keeps as many pods as its spec says, and tells their names in its status."""

from typing import Annotated

import msgspec

from kubewright import Context, Controller, Metadata, Model, Operator, Resource, Status
from kubewright.controller import slow_start
from kubewright.kinds.core_v1 import Container, Pod, PodSpec


class PodSetSpec(Model):
    """What is wanted."""

    size: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class PodSetStatus(Status):
    """What is found."""

    nodes: list[str] = []


class PodSet(Resource, group="apps.jicki.cn", version="v1alpha1"):
    """A number of equal pods."""

    spec: PodSetSpec
    status: PodSetStatus | None = None


def pod_of(podset: PodSet) -> Pod:
    """One of the set's pods."""
    sleeper = Container(name="busybox", image="busybox", command=["sleep", "3600"])
    return Pod(
        metadata=Metadata(generate_name=f"{podset.name}-pod-", labels={"app": podset.name}),
        spec=PodSpec(containers=[sleeper]),
    )


async def reconcile(podset: PodSet, ctx: Context) -> None:
    """Create what is missing, delete what is too much: the newest first."""
    pods = sorted(ctx.owned(Pod), key=lambda pod: (str(pod.metadata.creation_timestamp), pod.name))
    missing = podset.spec.size - len(pods)
    if missing > 0:
        _, failure = await slow_start(missing, lambda _: ctx.create(pod_of(podset)))
        if failure is not None:
            raise failure
        ctx.event("Normal", "ScaledUp", f"created {missing} pods")
    for pod in pods[podset.spec.size :]:
        await ctx.delete(pod)
    podset.status = podset.status or PodSetStatus()
    podset.status.nodes = sorted(pod.name for pod in ctx.owned(Pod))
    podset.status.set("Ready", True, reason="Scaled")


operator = Operator("podset", [Controller(PodSet, reconcile, owns=[Pod], workers=4)])

if __name__ == "__main__":
    operator.run()

"""The least PodSet, in kubewright."""

from kubewright import Context, Controller, Metadata, Model, Operator, Resource, Status
from kubewright.kinds.core_v1 import Container, Pod, PodSpec


class PodSetSpec(Model):
    size: int


class PodSetStatus(Status):
    nodes: list[str] = []


class PodSet(Resource, group="apps.jicki.cn", version="v1alpha1"):
    spec: PodSetSpec
    status: PodSetStatus = PodSetStatus()


def pod_of(podset: PodSet) -> Pod:
    sleeper = Container(name="busybox", image="busybox", command=["sleep", "3600"])
    return Pod(metadata=Metadata(generate_name=f"{podset.name}-pod-"), spec=PodSpec(containers=[sleeper]))


async def reconcile(podset: PodSet, ctx: Context) -> None:
    pods = ctx.owned(Pod)
    for _ in range(podset.spec.size - len(pods)):
        await ctx.create(pod_of(podset))
    for pod in pods[podset.spec.size :]:
        await ctx.delete(pod)
    podset.status.nodes = [pod.name for pod in ctx.owned(Pod)]


operator = Operator("podset", [Controller(PodSet, reconcile, owns=[Pod])])

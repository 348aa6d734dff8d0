"""PodBuggerTool: puts a debugging container into each pod that carries the labels that it names."""

from typing import Annotated

import msgspec

from kubewright import (
    Column,
    Context,
    Controller,
    LabelSelector,
    ListMap,
    Model,
    Operator,
    Resource,
    Status,
    StrategicPatch,
    Watch,
)
from kubewright.cache import Cache
from kubewright.errors import ApiError, KubewrightError, NotFound
from kubewright.kinds.core_v1 import EphemeralContainer, Pod
from kubewright.kinds.rbac_v1 import PolicyRule
from kubewright.operation import revision_of


class PodBuggerToolSpec(Model):
    """Which pods get which image."""

    selector: LabelSelector
    """The labels of the pods, in the namespace of the tool."""
    image: Annotated[str, msgspec.Meta(min_length=1)]
    """The debugging image; changing it concerns pods that have no container of this tool yet."""
    command: list[str] | None = None
    """What runs in it, if not what the image says."""


class Refusal(Model):
    """A pod that the server let nobody change."""

    pod: str
    message: str


class PodBuggerToolStatus(Status):
    """How far it is."""

    matching_pods: int = 0
    """Pods that carry the labels and have not ended."""
    equipped_pods: int = 0
    """Those of them that have the container."""
    refusals: Annotated[list[Refusal], ListMap("pod")] = []


class PodBuggerTool(
    Resource,
    group="debug.jicki.cn",
    version="v1alpha1",
    short_names=("pbt",),
    columns=[
        Column("Image", ".spec.image"),
        Column("Pods", ".status.matchingPods", "integer"),
        Column("Equipped", ".status.equippedPods", "integer"),
    ],
):
    """Maps labels to a debugging image."""

    spec: PodBuggerToolSpec
    status: PodBuggerToolStatus = PodBuggerToolStatus()


class Refused(KubewrightError):
    """Some pods could not be changed."""


def container_name(tool: PodBuggerTool) -> str:
    """The same for a tool each time, so that no pod gets it twice; a container's name has 63 characters at most."""
    name = f"bugger-{tool.name.replace('.', '-')}"
    return name if len(name) <= 63 and "." not in tool.name else f"{name[:52]}-{revision_of(tool.name)}"


def is_alive(pod: Pod) -> bool:
    """Whether there is something to debug: the pod has not ended, and is not about to."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ("Succeeded", "Failed")


def is_equipped(pod: Pod, name: str) -> bool:
    """Whether the pod has the container, whoever added it; it can neither be changed nor taken away."""
    return any(container.name == name for container in pod.spec.ephemeral_containers)


async def equip(tool: PodBuggerTool, pod: Pod, ctx: Context) -> None:
    """Add the container. The server merges by its name, so that doing it again changes nothing."""
    target = pod.spec.containers[0].name
    container = EphemeralContainer(
        name=container_name(tool), image=tool.spec.image, command=tool.spec.command or [], target_container_name=target
    )
    spec = {"ephemeralContainers": [msgspec.to_builtins(container)]}
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "spec": spec})
    await ctx.client.patch(pod, patch, subresource="ephemeralcontainers")
    ctx.event("Normal", "Equipped", f"{pod.name} has {container.name} ({container.image})", related=pod)


async def reconcile(tool: PodBuggerTool, ctx: Context) -> None:
    """Equip every living pod that matches, those older than the tool too; one refusal holds up no other pod."""
    name, status = container_name(tool), tool.status
    pods = [pod for pod in ctx.cache.list(Pod, labels=tool.spec.selector) if is_alive(pod)]
    known = {refusal.pod for refusal in status.refusals}
    refusals: list[Refusal] = []
    for pod in pods:
        try:
            if not is_equipped(pod, name):
                await equip(tool, pod, ctx)
        except NotFound:
            continue
        except ApiError as error:
            refusals.append(Refusal(pod=pod.name, message=str(error)))
            if pod.name not in known:
                ctx.event("Warning", "Refused", f"{pod.name} does not get {name}: {error}", related=pod)
    status.refusals = refusals
    status.matching_pods, status.equipped_pods = len(pods), len(pods) - len(refusals)
    if refusals:
        raise Refused(
            f"{len(refusals)} of {len(pods)} pods not equipped, first {refusals[0].pod}: {refusals[0].message}"
        )
    status.set("Ready", True, reason="Equipped", message=f"{len(pods)} of {len(pods)} pods have {name}")


def tools_for(pod: Pod, cache: Cache) -> list[PodBuggerTool]:
    """The tools whose labels the pod carries."""
    tools = cache.list(PodBuggerTool, namespace=pod.namespace)
    return [tool for tool in tools if tool.spec.selector.matches(pod.metadata.labels)]


def check(tool: PodBuggerTool) -> str | None:
    """What the schema cannot say."""
    selector = tool.spec.selector
    return None if selector.match_labels or selector.match_expressions else "spec.selector must name a label"


def new_operator() -> Operator:
    """The operator; what it adds containers with is not told by any kind that it owns, so it is said here."""
    rule = PolicyRule(api_groups=[""], resources=["pods/ephemeralcontainers"], verbs=["patch"])
    controller = Controller(PodBuggerTool, reconcile, validate=check, watches=[Watch(Pod, tools_for)])
    return Operator("podbugger", [controller], rules=[rule])


operator = new_operator()

if __name__ == "__main__":
    operator.run()

"""The least PodBuggerTool, in kubewright.

Left out of what ``examples/podbugger`` has: refusals in the status and told once only, the condition's counts and an
Event when a pod is equipped, a check that the selector is not empty, names that are too long or have a dot, a pod
replaced by its namesake, columns.
"""

import msgspec

from kubewright import Context, Controller, LabelSelector, Model, Operator, Resource, Status, StrategicPatch, Watch
from kubewright.cache import Cache
from kubewright.errors import ApiError, KubewrightError, NotFound
from kubewright.kinds.core_v1 import EphemeralContainer, Pod
from kubewright.kinds.rbac_v1 import PolicyRule


class PodBuggerToolSpec(Model):
    selector: LabelSelector
    image: str
    command: list[str] = []


class PodBuggerToolStatus(Status):
    matching_pods: int = 0
    equipped_pods: int = 0


class PodBuggerTool(Resource, group="debug.jicki.cn", version="v1alpha1"):
    spec: PodBuggerToolSpec
    status: PodBuggerToolStatus = PodBuggerToolStatus()


def is_alive(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in ("Succeeded", "Failed")


async def equip(pod: Pod, tool: PodBuggerTool, ctx: Context) -> None:
    name, target = f"bugger-{tool.name}", pod.spec.containers[0].name
    if any(container.name == name for container in pod.spec.ephemeral_containers):
        return
    spec = tool.spec
    container = EphemeralContainer(name=name, image=spec.image, command=spec.command, target_container_name=target)
    patch = StrategicPatch({"spec": {"ephemeralContainers": [msgspec.to_builtins(container)]}})
    await ctx.client.patch(pod, patch, subresource="ephemeralcontainers")


async def reconcile(tool: PodBuggerTool, ctx: Context) -> None:
    pods = [pod for pod in ctx.cache.list(Pod, labels=tool.spec.selector) if is_alive(pod)]
    refused = 0
    for pod in pods:
        try:
            await equip(pod, tool, ctx)
        except NotFound:
            continue
        except ApiError as error:
            refused += 1
            ctx.event("Warning", "Refused", f"{pod.name}: {error}")
    tool.status.matching_pods, tool.status.equipped_pods = len(pods), len(pods) - refused
    if refused:
        raise KubewrightError(f"{refused} of {len(pods)} pods are not equipped")


def tools_for(pod: Pod, cache: Cache) -> list[PodBuggerTool]:
    tools = cache.list(PodBuggerTool, namespace=pod.namespace)
    return [tool for tool in tools if tool.spec.selector.matches(pod.metadata.labels)]


equipping = PolicyRule(api_groups=[""], resources=["pods/ephemeralcontainers"], verbs=["patch"])
controller = Controller(PodBuggerTool, reconcile, watches=[Watch(Pod, tools_for)])
operator = Operator("podbugger", [controller], rules=[equipping])

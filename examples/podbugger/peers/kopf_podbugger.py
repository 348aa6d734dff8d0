"""The least PodBuggerTool, in kopf; the CRD is in ``crd.yaml``, written by hand.

Left out of what ``examples/podbugger`` has: selectors with ``matchExpressions``; the condition ``Ready`` and refusals
in the status; a retry when a pod that came or changed after the tool is refused (kopf calls a handler of events once);
an Event when a pod is equipped, and refusals told once only; names that are too long or have a dot; a pod replaced by
its namesake; columns; permissions.
"""

import asyncio
import threading
from collections import defaultdict
from typing import Any

import kopf
import kubernetes

GROUP, VERSION, PLURAL = "debug.jicki.cn", "v1alpha1", "podbuggertools"
LOCKS: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


@kopf.on.startup()
def start(**_: Any) -> None:
    kubernetes.config.load_kube_config()


def living_pods(namespace: str, labels: dict[str, str]) -> list[Any]:
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    pods = kubernetes.client.CoreV1Api().list_namespaced_pod(namespace, label_selector=selector).items
    ended = ("Succeeded", "Failed")
    return [pod for pod in pods if pod.metadata.deletion_timestamp is None and pod.status.phase not in ended]


def equip(pod: Any, tool: dict[str, Any]) -> bool:
    """Whether the pod has the container, or is gone."""
    name, spec = f"bugger-{tool['metadata']['name']}", tool["spec"]
    if any(container.name == name for container in pod.spec.ephemeral_containers or []):
        return True
    container = {"name": name, "image": spec["image"], "targetContainerName": pod.spec.containers[0].name}
    if "command" in spec:
        container["command"] = spec["command"]
    body = {"spec": {"ephemeralContainers": [container]}}
    core = kubernetes.client.CoreV1Api()
    try:
        core.patch_namespaced_pod_ephemeralcontainers(pod.metadata.name, pod.metadata.namespace, body)
    except kubernetes.client.ApiException as error:
        if error.status != 404:
            kopf.warn(tool, reason="Refused", message=f"{pod.metadata.name}: {error.body}")
            return False
    return True


def keep(namespace: str, name: str) -> int:
    """How many pods are not equipped. Handlers of one tool run at the same time, in threads: only one may count."""
    custom = kubernetes.client.CustomObjectsApi()
    with LOCKS[namespace, name]:
        try:
            tool = custom.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
        except kubernetes.client.ApiException as error:
            if error.status == 404:
                return 0
            raise
        if "deletionTimestamp" in tool["metadata"]:
            return 0
        pods = living_pods(namespace, tool["spec"]["selector"]["matchLabels"])
        equipped = sum([equip(pod, tool) for pod in pods])
        found, status = tool.get("status", {}), {"matchingPods": len(pods), "equippedPods": equipped}
        if any(found.get(key) != value for key, value in status.items()):
            body = {"status": status}
            custom.patch_namespaced_custom_object_status(GROUP, VERSION, namespace, PLURAL, name, body)
        return len(pods) - equipped


@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec")
def tool_changed(namespace: str, name: str, **_: Any) -> None:
    if refused := keep(namespace, name):
        raise kopf.TemporaryError(f"{refused} pods are not equipped")


@kopf.index(GROUP, VERSION, PLURAL)
def tools(namespace: str, name: str, spec: kopf.Spec, **_: Any) -> dict[str, tuple[str, dict[str, str]]]:
    return {namespace: (name, spec["selector"]["matchLabels"])}


@kopf.on.event("", "v1", "pods")
async def pod_changed(
    namespace: str, labels: dict[str, str], tools: kopf.Index[str, tuple[str, dict[str, str]]], **_: Any
) -> None:
    """Not in a thread, where an index may change while it is read."""
    names = [name for name, wanted in tools.get(namespace, []) if wanted.items() <= labels.items()]
    for name in names:
        await asyncio.to_thread(keep, namespace, name)

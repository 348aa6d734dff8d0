"""What befalls a cluster: nodes that are lost, pods that fail, rollouts that get stuck, namespaces that are deleted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from conformance.choreography.scripts import Script, Stage, created, deployment, image
from kubewright import MergePatch, Metadata
from kubewright.controlplane.kubelet import LOST
from kubewright.kinds.apps_v1 import Deployment, DeploymentStrategy, RollingUpdateDeployment
from kubewright.kinds.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    Node,
    Pod,
    PodSpec,
    Service,
    ServicePort,
    ServiceSpec,
    Toleration,
)

__all__ = ["TROUBLES"]

_WITHIN: Final = timedelta(minutes=3)
_GONE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def scripted(made: Deployment, **annotations: str) -> Deployment:
    """The Deployment with pods that behave so."""
    assert made.spec.template.metadata is not None
    made.spec.template.metadata.annotations = _script(annotations)
    return made


def _script(annotations: dict[str, str]) -> dict[str, str]:
    return {f"kubewright.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}


def impatient(made: Deployment) -> Deployment:
    """The Deployment with pods that leave a lost node after five seconds."""
    assert made.spec.template.spec is not None
    made.spec.template.spec.tolerations = [
        Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=5) for key in _GONE
    ]
    return made


def service(**spec: Any) -> Service:
    """A Service before the pods of web, at a named port and at one by number."""
    ports = [
        ServicePort(name="named", port=80, target_port="http"),
        ServicePort(name="metrics", port=9090, target_port=9090),
    ]
    return Service(metadata=Metadata(name="web"), spec=ServiceSpec(selector={"app": "web"}, ports=ports, **spec))


def _is_unreachable(node: Node) -> bool:
    return any(taint.key == _GONE[1] and taint.effect == "NoExecute" for taint in node.spec.taints)


async def lose_node(stage: Stage, name: str) -> None:
    """Silence a node, and wait until that is noticed and its pods are told to leave."""
    await stage.client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: "yes"}}}), name=name)
    await stage.client.wait_until(Node, name, _is_unreachable, within=_WITHIN)
    for pod in (await stage.client.list(Pod)).items:
        if pod.spec.node_name == name:
            told = await stage.client.wait_until(
                Pod, pod.name, lambda found: found.metadata.deletion_timestamp is not None, within=_WITHIN
            )
            assert told.metadata.deletion_timestamp is not None
    await stage.settle()


async def node_lost(stage: Stage) -> None:
    await stage.client.create(impatient(deployment(2)))
    await stage.settle()
    await stage.client.create(service())
    await stage.settle()
    victim = (await stage.client.list(Pod)).items[0]
    await lose_node(stage, victim.spec.node_name or "")


async def node_lost_with_pods_that_fit_nowhere_else(stage: Stage) -> None:
    made = impatient(deployment(2))
    assert made.spec.template.spec is not None
    made.spec.template.spec.node_selector = {"kubernetes.io/hostname": "node-1"}
    await stage.client.create(made)
    await stage.settle()
    await lose_node(stage, "node-1")


async def node_lost_and_back(stage: Stage) -> None:
    await stage.client.create(impatient(deployment(2)))
    await stage.settle()
    name = (await stage.client.list(Pod)).items[0].spec.node_name or ""
    await lose_node(stage, name)
    await stage.client.patch(Node, MergePatch({"metadata": {"annotations": {LOST: None}}}), name=name)
    await stage.client.wait_until(Node, name, lambda node: not node.spec.taints, within=_WITHIN)
    await stage.settle()


async def pod_evicted(stage: Stage) -> None:
    await created(stage)
    await stage.client.create(service())
    await stage.settle()
    victim = (await stage.client.list(Pod)).items[0]
    await stage.client.patch(victim, MergePatch({"metadata": {"annotations": _script({"evicted_after": "1s"})}}))
    await stage.client.wait_until(Pod, victim.name, lambda pod: pod.status.phase == "Failed", within=_WITHIN)
    await stage.settle()


async def evicted_and_scaled_down(stage: Stage) -> None:
    await pod_evicted(stage)
    await stage.client.patch(Deployment, MergePatch({"spec": {"replicas": 1}}), name="web")
    await stage.settle()


async def containers_crash(stage: Stage) -> None:
    await stage.client.create(scripted(deployment(2), exit_code="3", run_for="1s", crashes="2"))
    await stage.settle()
    for pod in (await stage.client.list(Pod)).items:
        await stage.client.wait_until(Pod, pod.name, _has_recovered, within=_WITHIN)
    await stage.settle()


def _has_recovered(pod: Pod) -> bool:
    is_ready = any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)
    return is_ready and pod.status.container_statuses[0].restart_count == 2


async def bare_pods_end(stage: Stage) -> None:
    await stage.client.create(service())
    for name, command in (("failed", ["false"]), ("done", ["true"]), ("running", ["sleep", "1h"])):
        container = Container(name="web", image="busybox", command=command)
        spec = PodSpec(containers=[container], restart_policy="Never")
        await stage.client.create(Pod(metadata=Metadata(name=name, labels={"app": "web"}), spec=spec))
    await stage.settle()


async def served_by_pods_that_are_not_ready(stage: Stage) -> None:
    await stage.client.create(scripted(deployment(2), never_ready="true"))
    await stage.client.create(service())
    await stage.settle()


async def served_though_not_ready(stage: Stage) -> None:
    await stage.client.create(scripted(deployment(2), never_ready="true"))
    await stage.client.create(service(publish_not_ready_addresses=True))
    await stage.settle()


async def served_without_a_head(stage: Stage) -> None:
    await created(stage)
    await stage.client.create(service(cluster_ip="None"))
    await stage.settle()


async def no_longer_served(stage: Stage) -> None:
    await created(stage)
    await stage.client.create(service())
    await stage.settle()
    await stage.client.delete(Service, "web")
    await stage.settle()


async def _rolled(stage: Stage, max_surge: int | str, max_unavailable: int | str) -> None:
    limits = RollingUpdateDeployment(max_surge=max_surge, max_unavailable=max_unavailable)
    strategy = DeploymentStrategy(type="RollingUpdate", rolling_update=limits)
    await stage.client.create(deployment(4, strategy=strategy))
    await stage.settle()
    await stage.client.patch(Deployment, image("1.28"), name="web")
    await stage.settle()


async def rolled_with_one_more(stage: Stage) -> None:
    await _rolled(stage, 1, 0)


async def rolled_with_one_less(stage: Stage) -> None:
    await _rolled(stage, 0, 1)


async def rolled_all_at_once(stage: Stage) -> None:
    await _rolled(stage, 0, "100%")


async def rollout_stuck(stage: Stage) -> None:
    await stage.client.create(deployment(progress_deadline_seconds=5))
    await stage.settle()
    ill = {"spec": {"template": {"metadata": {"annotations": _script({"never_ready": "true"})}}}}
    await stage.client.patch(Deployment, MergePatch(ill), name="web")
    await stage.client.wait_until(Deployment, "web", _is_stuck, within=_WITHIN)
    await stage.settle()


def _is_stuck(found: Deployment) -> bool:
    return any(one.reason == "ProgressDeadlineExceeded" for one in found.status.conditions)


async def stuck_and_rolled_back(stage: Stage) -> None:
    await rollout_stuck(stage)
    well = {"spec": {"template": {"metadata": {"annotations": None}}}}
    await stage.client.patch(Deployment, MergePatch(well), name="web")
    await stage.settle()


async def scaled_while_stuck(stage: Stage) -> None:
    await rollout_stuck(stage)
    await stage.client.patch(Deployment, MergePatch({"spec": {"replicas": 6}}), name="web")
    await stage.settle()


async def namespace_deleted(stage: Stage) -> None:
    await created(stage)
    await stage.client.create(service())
    await stage.settle()
    await stage.client.delete(Namespace, stage.client.namespace)
    await stage.client.wait_gone(Namespace, stage.client.namespace, within=_WITHIN)


async def namespace_held(stage: Stage) -> None:
    await created(stage)
    held = Metadata(name="held", finalizers=["example.com/hold"])
    await stage.client.create(ConfigMap(metadata=held))
    await stage.client.delete(Namespace, stage.client.namespace)
    await stage.client.wait_until(Namespace, stage.client.namespace, _is_held, within=_WITHIN)
    await stage.settle()


def _is_held(namespace: Namespace) -> bool:
    """Whether nothing but what a finalizer holds is left."""
    remaining = [one for one in namespace.status.conditions if one.type == "NamespaceContentRemaining"]
    return any(one.message and one.message.endswith("configmaps. has 1 resource instances") for one in remaining)


TROUBLES: Final[dict[str, Script]] = {
    script.__name__: script
    for script in (
        node_lost,
        node_lost_with_pods_that_fit_nowhere_else,
        node_lost_and_back,
        pod_evicted,
        evicted_and_scaled_down,
        containers_crash,
        bare_pods_end,
        served_by_pods_that_are_not_ready,
        served_though_not_ready,
        served_without_a_head,
        no_longer_served,
        rolled_with_one_more,
        rolled_with_one_less,
        rolled_all_at_once,
        rollout_stuck,
        stuck_and_rolled_back,
        scaled_while_stuck,
        namespace_deleted,
        namespace_held,
    )
}

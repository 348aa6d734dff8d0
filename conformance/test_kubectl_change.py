"""kubectl changes objects: patch, label, annotate, scale, set, rollout, taint, cordon, drain, wait, delete."""

from __future__ import annotations

from typing import Any

from conformance.kubectl import Kubectl
from conformance.objects import config_map, deployment, pod


def in_any_order(kubectl: Kubectl, line: str) -> None:
    """kubectl lists labels in the order of a Go map, which is none."""
    if "--list" in line:
        kubectl.told[-1]["out"] = "\n".join(sorted(kubectl.told[-1]["out"].splitlines()))


async def test_patches(kubectl: Kubectl):
    await kubectl.made(deployment("d"), config_map("a", k="v"))
    container = '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"new"}]}}}}'
    await kubectl("patch", "deployment", "d", "-p", container)
    await kubectl("patch", "deployment", "d", "--type=merge", "-p", '{"spec":{"replicas":-1}}')
    await kubectl("patch", "deployment", "d", "--type=json", "-p", '[{"op":"remove","path":"/spec/nothing"}]')
    await kubectl("patch", "deployment", "d", "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":3}}')
    await kubectl("patch", "deployment", "d", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":4}}')
    await kubectl("patch", "deployment", "d", "-p", "{")
    await kubectl("patch", "deployment", "d", "-p", '{"spec":{"replicas":"many"}}')
    await kubectl("patch", "configmap", "a", "-p", '{"data":{"k":null}}', "--dry-run=server", "-o", "yaml")
    await kubectl("patch", "configmap", "a", "-p", '{"data":{"k":"x"}}', "--dry-run=client", "-o", "yaml")
    await kubectl("patch", "configmap", "nope", "-p", "{}")
    file = kubectl.file("patch", "data: {k: y}")
    await kubectl(f"patch configmap a --patch-file={file} -o name")
    await kubectl("get deployment d -o yaml")


async def test_labels(kubectl: Kubectl):
    await kubectl.made(config_map("a"), config_map("b", labels={"x": "1"}))
    for line in (
        "configmap a x=1 y=2",
        "configmap a x=2",
        "configmap a x=2 --overwrite",
        "configmaps a b z=3",
        "configmap a --list",
        "configmaps -l x=1 w=4",
        "configmap a x- nothing-",
        "configmap a x=2 --resource-version=1",
        "configmap a bad=b@d",
        "configmap a v=1 --dry-run=server -o yaml",
        "configmap a v=1 --dry-run=client",
        "configmap nope v=1",
    ):
        await kubectl(f"label {line}")
        in_any_order(kubectl, line)
    await kubectl("get configmaps a b --show-labels")


async def test_annotations(kubectl: Kubectl):
    await kubectl.made(config_map("a"), config_map("b"))
    for line in (
        "configmap a x='one two' y=2",
        "configmap a x=2",
        "configmap a x=2 --overwrite",
        "configmap a --list",
        "configmap a x-",
        "configmap a x-",
        "configmap a bad@key=1",
        "configmaps a b v=1 --dry-run=server",
    ):
        await kubectl(f"annotate {line}")
        in_any_order(kubectl, line)
    await kubectl("get configmap a -o jsonpath={.metadata.annotations}")


async def test_scales(kubectl: Kubectl):
    await kubectl.made(deployment("d", replicas=1), config_map("a"))
    for line in (
        "deployment d --replicas=3",
        "deployment/d --current-replicas=1 --replicas=4",
        "--current-replicas=3 --replicas=2 deployment/d",
        "deployment d --replicas=5 --dry-run=server",
        "deployment d --replicas=-1",
        "deployment nope --replicas=1",
        "configmap a --replicas=1",
        "deployment d --replicas=2 --resource-version=1",
    ):
        await kubectl(f"scale {line}")
    await kubectl("autoscale deployment d --max=3")
    await kubectl("autoscale deployment d --max=3 --name=second --min=4")
    await kubectl("autoscale deployment d --max=3 --name=third --memory=100Mi -o yaml --dry-run=server")
    await kubectl("get hpa")


async def test_set(kubectl: Kubectl):
    await kubectl.made(deployment("d"), config_map("m", a="1"))
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    binding = "create rolebinding r --role=r --user=u"
    await kubectl.made(service)
    await kubectl.quietly(binding)
    for line in (
        "image deployment/d c=busybox:2",
        "image deployment/d nothing=busybox:2",
        "image deployment/d *=busybox:3 -o name",
        "env deployment/d A=b C=d",
        "env deployment/d --list",
        "env deployment/d A-",
        "env deployment/d --from=configmap/m --prefix=M_",
        "resources deployment/d --limits=cpu=1,memory=1Gi --requests=cpu=100m",
        "resources deployment/d --limits=cpu=wrong",
        "serviceaccount deployment d account",
        "selector service s app=web",
        "subject rolebinding r --user=v --group=g --serviceaccount=default:s",
        "image deployment/d c=busybox:9 --dry-run=server -o yaml",
    ):
        await kubectl(f"set {line}")
    await kubectl("get deployment d -o yaml")
    await kubectl("get service s -o jsonpath={.spec.selector}")
    await kubectl("get rolebinding r -o yaml")


async def test_rollouts(kubectl: Kubectl):
    await kubectl.made(deployment("d"))
    for line in ("pause deployment/d", "pause deployment/d", "restart deployment/d", "resume deployment/d"):
        await kubectl(f"rollout {line}")
    await kubectl("rollout resume deployment/d")
    await kubectl("rollout history deployment/d")
    await kubectl("rollout undo deployment/d")
    await kubectl("rollout status deployment/d --watch=false")
    await kubectl("rollout status deployment/d --timeout=1s")
    await kubectl("rollout status configmap/d")
    status: dict[str, Any] = {
        "observedGeneration": 9,
        "replicas": 1,
        "updatedReplicas": 1,
        "availableReplicas": 1,
        "readyReplicas": 1,
    }
    patch = str({"status": status}).replace("'", '"')
    await kubectl("patch", "deployment", "d", "--subresource=status", "--type=merge", "-p", patch)
    await kubectl("rollout status deployment/d")


async def test_history_and_undo_of_a_deployment(kubectl: Kubectl):
    made = deployment("d")
    made["metadata"]["annotations"] = {"deployment.kubernetes.io/revision": "2"}
    await kubectl.made(made)
    uid = await kubectl.quietly("get deployment d -o jsonpath={.metadata.uid}")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": uid, "controller": True}
    for revision in ("1", "2"):
        labels = {"app": "web", "pod-template-hash": revision}
        template = {**made["spec"]["template"], "metadata": {"labels": labels}}
        annotations = {
            "deployment.kubernetes.io/revision": revision,
            "kubernetes.io/change-cause": f"change {revision}",
        }
        metadata = {"name": f"d-{revision}", "labels": labels, "annotations": annotations, "ownerReferences": [owner]}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        await kubectl.made({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
    await kubectl("rollout history deployment/d")
    await kubectl("rollout history deployment/d --revision=1")
    await kubectl("rollout undo deployment/d --to-revision=1")
    await kubectl("rollout undo deployment/d --to-revision=7")
    await kubectl("describe deployment d")
    await kubectl("get replicasets -o wide")


async def test_rollouts_of_other_kinds(kubectl: Kubectl):
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": deployment()["spec"]["template"]}
    stateful = {**spec, "serviceName": "s", "updateStrategy": {"type": "OnDelete"}}
    await kubectl.made(
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}, "spec": stateful},
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "d"}, "spec": spec},
    )
    for line in (
        "status statefulset/s",
        "restart statefulset/s",
        "history statefulset/s",
        "undo statefulset/s",
        "restart daemonset d",
        "status daemonset/d --watch=false",
        "history daemonset/d",
        "undo daemonset/d",
        "pause daemonset/d",
    ):
        await kubectl(f"rollout {line}")


async def test_nodes(kubectl: Kubectl):
    name = kubectl.namespace
    await kubectl.made({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await kubectl.made(pod("p", nodeName=name))
    for line in (
        "taint node {} k=v:NoSchedule",
        "taint node {} k=w:NoSchedule",
        "taint node {} k=w:NoSchedule --overwrite",
        "taint node {} k=v:Nonsense",
        "taint node {} k:NoSchedule-",
        "taint node {} k:NoSchedule-",
        "cordon {}",
        "cordon {}",
        "get node {}",
        "get node {} -o wide",
        "uncordon {}",
        "drain {} --dry-run=server",
        "drain {} --force --dry-run=client",
        "drain {} --force --disable-eviction --grace-period=0 --timeout=5s",
        "label node {} l=1",
        "delete node {}",
        "uncordon {}",
    ):
        await kubectl(line.format(name))


async def test_waits(kubectl: Kubectl):
    await kubectl.made(config_map("a", k="v"), deployment("d"))
    for line in (
        "--for=jsonpath='{.data.k}'=v configmap/a",
        "--for=jsonpath='{.data.k}' configmap/a",
        "--for=jsonpath='{.data.k}'=w configmap/a --timeout=0.2s",
        "--for=create configmap/a --timeout=2s",
        "--for=create configmap/nope --timeout=0.2s",
        "--for=delete configmap/nope --timeout=2s",
        "--for=delete configmap/a --timeout=0.2s",
        "--for=condition=Available deployment/d --timeout=0.2s",
        "--for=condition=Available deployment/nope",
        "--for=condition=Ready pods --all --timeout=0.2s",
        "--for=nonsense configmap/a",
    ):
        await kubectl(f"wait {line}")
    condition = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
    await kubectl("patch", "deployment", "d", "--subresource=status", "--type=merge", "-p", condition)
    await kubectl("wait --for=condition=Available deployment/d")
    await kubectl("wait --for=condition=Available=False deployment/d --timeout=0.2s")


async def test_deletes(kubectl: Kubectl):
    await kubectl.made(*(config_map(name, labels={"l": "1"}) for name in "abcdef"), deployment("d"), pod("p"), pod("q"))
    file = kubectl.file("f.yaml", config_map("f"))
    for line in (
        "configmap a",
        "configmap a",
        "configmap a --ignore-not-found",
        "configmap/b cm/c -o name",
        "configmaps -l l=1 --dry-run=server",
        "configmaps d --dry-run=client",
        f"-f {file}",
        "configmaps -l l=1",
        "deployment d --cascade=foreground --wait=false",
        "deployment d --cascade=nonsense",
        "pod p --grace-period=0 --force",
        "pod q --now",
        "pods --all",
        "pods --all --field-selector=status.phase=Running",
        "configmaps",
        "all --all",
        "configmap a --grace-period=-2",
        "nothings a",
    ):
        await kubectl(f"delete {line}")
    await kubectl("get deployment d -o jsonpath={.metadata.finalizers}")


async def test_a_delete_that_waits_for_a_finalizer(kubectl: Kubectl):
    kept = config_map("a")
    kept["metadata"]["finalizers"] = ["example.com/keep"]
    await kubectl.made(kept)
    await kubectl("delete configmap a --timeout=0.3s")
    await kubectl("delete configmap a --wait=false")
    await kubectl("describe configmap a")
    await kubectl("patch", "configmap", "a", "--type=json", "-p", '[{"op":"remove","path":"/metadata/finalizers"}]')
    await kubectl("get configmap a")

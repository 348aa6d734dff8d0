"""The least PodSet, in kopf; the CRD is in ``crd.yaml``, written by hand."""

import threading
from collections import defaultdict
from typing import Any

import kopf
import kubernetes

GROUP, VERSION, PLURAL, LABEL = "apps.jicki.cn", "v1alpha1", "podsets", "apps.jicki.cn/podset"
LOCKS: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


@kopf.on.startup()
def start(settings: kopf.OperatorSettings, **_: Any) -> None:
    kubernetes.config.load_kube_config()
    settings.persistence.finalizer = "apps.jicki.cn/kopf"


def pod_of(podset: dict[str, Any]) -> dict[str, Any]:
    name = podset["metadata"]["name"]
    sleeper = {"name": "busybox", "image": "busybox", "command": ["sleep", "3600"]}
    pod = {"metadata": {"generateName": f"{name}-pod-", "labels": {LABEL: name}}, "spec": {"containers": [sleeper]}}
    kopf.append_owner_reference(pod, owner=podset)
    return pod


def living_pods(namespace: str, name: str) -> list[str]:
    found = kubernetes.client.CoreV1Api().list_namespaced_pod(namespace, label_selector=f"{LABEL}={name}")
    return sorted(pod.metadata.name for pod in found.items if pod.metadata.deletion_timestamp is None)


def keep(namespace: str, name: str) -> None:
    """Handlers of one set run at the same time, in threads: only one of them may count."""
    core, custom = kubernetes.client.CoreV1Api(), kubernetes.client.CustomObjectsApi()
    with LOCKS[namespace, name]:
        try:
            podset = custom.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
        except kubernetes.client.ApiException as error:
            if error.status == 404:
                return
            raise
        if "deletionTimestamp" in podset["metadata"]:
            return
        size, names = podset["spec"]["size"], living_pods(namespace, name)
        for _ in range(size - len(names)):
            core.create_namespaced_pod(namespace, pod_of(podset))
        for surplus in names[size:]:
            core.delete_namespaced_pod(surplus, namespace)
        nodes = living_pods(namespace, name)
        if podset.get("status", {}).get("nodes") != nodes:
            body = {"status": {"nodes": nodes}}
            custom.patch_namespaced_custom_object_status(GROUP, VERSION, namespace, PLURAL, name, body)


@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec")
def podset_changed(namespace: str, name: str, **_: Any) -> None:
    keep(namespace, name)


@kopf.on.event("", "v1", "pods", labels={LABEL: kopf.PRESENT})
def pod_changed(namespace: str, labels: dict[str, str], **_: Any) -> None:
    keep(namespace, labels[LABEL])

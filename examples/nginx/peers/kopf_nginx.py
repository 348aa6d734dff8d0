"""The least NginxOperator, in kopf; the CRD is in ``crd.yaml``, written by hand, the operand as ours.

Left out of what ``examples/nginx`` has: progress and revisions, metrics of the operand, what is said when there is no
NginxOperator, Events other than the operand's health, ``forceRedeploy`` of other types than text, the scale
subresource, columns, packaging, permissions; a retry when a Deployment cannot be repaired (kopf calls a handler of
events once). The operand is sent each time, and the server finds that nothing changed; its file is not checked against
a schema.
"""

import os
import threading
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kopf
import kubernetes
import yaml

FILE = Path(__file__).parent.parent / "nginx_operator/deployment.yaml"
GROUP, VERSION, PLURAL = "operator.example.com", "v1alpha1", "nginxoperators"
INSTANCE, REDEPLOY = "app.kubernetes.io/instance", "operator.example.com/force-redeploy"
LOCKS: defaultdict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


@kopf.on.startup()
def start(**_: Any) -> None:
    kubernetes.config.load_kube_config()


def deployment_of(nginx: dict[str, Any]) -> dict[str, Any]:
    deployment: dict[str, Any] = yaml.safe_load(FILE.read_text())
    name, wanted = nginx["metadata"]["name"], nginx["spec"]
    metadata, spec, template = deployment["metadata"], deployment["spec"], deployment["spec"]["template"]
    metadata["name"], spec["replicas"] = name, wanted["replicas"]
    for labels in (metadata["labels"], spec["selector"]["matchLabels"], template["metadata"]["labels"]):
        labels[INSTANCE] = name
    if "forceRedeploy" in wanted:
        template["metadata"]["annotations"] = {REDEPLOY: wanted["forceRedeploy"]}
    container = template["spec"]["containers"][0]
    container["ports"][0]["containerPort"] = wanted["port"]
    container["image"] = os.environ.get("RELATED_IMAGE_NGINX", container["image"])
    kopf.append_owner_reference(deployment, owner=nginx)
    return deployment


def applied(namespace: str, intent: dict[str, Any]) -> Any:
    return kubernetes.client.AppsV1Api().patch_namespaced_deployment(
        intent["metadata"]["name"],
        namespace,
        intent,
        field_manager="nginx-operator",
        force=True,
        _content_type="application/apply-patch+yaml",
    )


def condition(nginx: dict[str, Any], type: str, is_true: bool, reason: str, message: str) -> dict[str, Any]:
    found = nginx.get("status", {}).get("conditions", [])
    before: dict[str, Any] = next((condition for condition in found if condition["type"] == type), {})
    status, now = "True" if is_true else "False", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": nginx["metadata"]["generation"],
        "lastTransitionTime": before["lastTransitionTime"] if before.get("status") == status else now,
    }


def health(nginx: dict[str, Any], deployment: Any) -> dict[str, Any]:
    """The condition OperandReady, and an Event when it changes."""
    wanted, ready = nginx["spec"]["replicas"], deployment.status.ready_replicas or 0
    is_current = (deployment.status.observed_generation or 0) >= deployment.metadata.generation
    is_ready, message = is_current and ready >= wanted, f"{ready} of {wanted} pods are ready"
    found = nginx.get("status", {}).get("conditions", [])
    before = next((condition["status"] for condition in found if condition["type"] == "OperandReady"), "Unknown")
    if before != ("True" if is_ready else "False"):
        reason = "OperandReady" if is_ready else "OperandNotReady"
        kopf.event(nginx, type="Warning" if before == "True" else "Normal", reason=reason, message=message)
    return condition(nginx, "OperandReady", is_ready, "Serving" if is_ready else "NotServing", message)


def tell(nginx: dict[str, Any], status: dict[str, Any]) -> None:
    found, metadata = nginx.get("status", {}), nginx["metadata"]
    if any(found.get(key) != value for key, value in status.items()):
        kubernetes.client.CustomObjectsApi().patch_namespaced_custom_object_status(
            GROUP, VERSION, metadata["namespace"], PLURAL, metadata["name"], {"status": status}
        )


def reconcile(nginx: dict[str, Any]) -> None:
    intent = deployment_of(nginx)
    try:
        deployment = applied(nginx["metadata"]["namespace"], intent)
    except kubernetes.client.ApiException as error:
        others = [found for found in nginx.get("status", {}).get("conditions", []) if found["type"] != "Ready"]
        tell(nginx, {"conditions": [condition(nginx, "Ready", False, "ReconcileFailed", str(error.body)), *others]})
        raise
    ready = condition(nginx, "Ready", True, "Reconciled", "the operand is told what to be")
    status = {
        "observedGeneration": nginx["metadata"]["generation"],
        "readyReplicas": deployment.status.ready_replicas or 0,
        "image": intent["spec"]["template"]["spec"]["containers"][0]["image"],
        "conditions": [ready, health(nginx, deployment)],
    }
    tell(nginx, status)


def keep(namespace: str, name: str) -> None:
    """Handlers of one object run at the same time, in threads: only one of them may tell."""
    custom = kubernetes.client.CustomObjectsApi()
    with LOCKS[namespace, name]:
        try:
            nginx = custom.get_namespaced_custom_object(GROUP, VERSION, namespace, PLURAL, name)
            if "deletionTimestamp" not in nginx["metadata"]:
                reconcile(nginx)
        except kubernetes.client.ApiException as error:
            if error.status != 404:
                raise


@kopf.on.resume(GROUP, VERSION, PLURAL)
@kopf.on.create(GROUP, VERSION, PLURAL)
@kopf.on.update(GROUP, VERSION, PLURAL, field="spec")
def nginx_changed(namespace: str, name: str, **_: Any) -> None:
    keep(namespace, name)


@kopf.on.event("apps", "v1", "deployments", labels={INSTANCE: kopf.PRESENT})
def deployment_changed(namespace: str, labels: dict[str, str], **_: Any) -> None:
    keep(namespace, labels[INSTANCE])

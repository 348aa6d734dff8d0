"""The least NginxOperator, in kubewright; the operand is in ``deployment.yaml`` of the package beside this folder.

Left out of what ``examples/nginx`` has: progress and revisions, metrics of the operand, what is said when there is no
NginxOperator, Events other than the operand's health, ``forceRedeploy`` of other types than text, the scale
subresource, columns, packaging.
"""

import os
from pathlib import Path
from typing import Annotated

import msgspec

from kubewright import Context, Controller, Model, Operator, Resource, Status
from kubewright.kinds.apps_v1 import Deployment
from kubewright.operation import read_operand

FILE = Path(__file__).parent.parent / "nginx_operator/deployment.yaml"
INSTANCE, REDEPLOY = "app.kubernetes.io/instance", "operator.example.com/force-redeploy"


class NginxOperatorSpec(Model):
    port: Annotated[int, msgspec.Meta(ge=1, le=65535, extra_json_schema={"format": "int32", "default": 80})] = 80
    replicas: Annotated[int, msgspec.Meta(ge=0, extra_json_schema={"format": "int32", "default": 1})] = 1
    force_redeploy: str | None = None


class NginxOperatorStatus(Status):
    ready_replicas: int = 0
    image: str = ""


class NginxOperator(Resource, group="operator.example.com", version="v1alpha1"):
    spec: NginxOperatorSpec
    status: NginxOperatorStatus = NginxOperatorStatus()


def deployment_of(nginx: NginxOperator) -> Deployment:
    deployment = read_operand(Deployment, FILE.read_text(), FILE.name)
    spec, template = deployment.spec, deployment.spec.template
    deployment.metadata.name, spec.replicas = nginx.name, nginx.spec.replicas
    for labels in (deployment.metadata.labels, spec.selector.match_labels, template.metadata.labels):
        labels[INSTANCE] = nginx.name
    if nginx.spec.force_redeploy is not None:
        template.metadata.annotations[REDEPLOY] = nginx.spec.force_redeploy
    container = template.spec.containers[0]
    container.ports[0].container_port = nginx.spec.port
    container.image = os.environ.get("RELATED_IMAGE_NGINX", container.image)
    return deployment


async def reconcile(nginx: NginxOperator, ctx: Context) -> None:
    intent = deployment_of(nginx)
    deployment = await ctx.apply(intent)
    status, found, wanted = nginx.status, deployment.status, nginx.spec.replicas
    is_current = (found.observed_generation or 0) >= deployment.metadata.generation
    status.ready_replicas = found.ready_replicas or 0
    status.image = intent.spec.template.spec.containers[0].image or ""
    status.set("Ready", True, reason="Reconciled", message="the operand is told what to be")
    ready, message = (
        is_current and status.ready_replicas >= wanted,
        f"{status.ready_replicas} of {wanted} pods are ready",
    )
    was_ready = status.is_true("OperandReady")
    if status.set("OperandReady", ready, reason="Serving" if ready else "NotServing", message=message):
        reason = "OperandReady" if ready else "OperandNotReady"
        ctx.event("Warning" if was_ready else "Normal", reason, message)


operator = Operator("nginx-operator", [Controller(NginxOperator, reconcile, owns=[Deployment])])

"""The controller: applies the operand, and tells how it is in conditions, Events and metrics."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kubewright import Context, Controller, Operator
from kubewright.cluster import Cluster
from kubewright.kinds.apps_v1 import Deployment
from kubewright.operation import revision_of
from kubewright.operator import Required
from nginx_operator.operand import INSTANCE, deployment_of
from nginx_operator.resource import NginxOperator


class NginxOperators:
    """Reconciles with the operand's image of this version of the operator, or with another one that it is given."""

    def __init__(self, image: str | None) -> None:
        self.image = image

    async def reconcile(self, nginx: NginxOperator, ctx: Context) -> None:
        """State what the Deployment shall be (nothing is sent if it is so already), and tell what has become of it."""
        intent = deployment_of(nginx, self.image)
        is_new = not ctx.owned(Deployment)
        deployment = await ctx.apply(intent)
        if is_new:
            ctx.event("Normal", "Created", f"created Deployment {deployment.name}", related=deployment)
        nginx.status.image = intent.spec.template.spec.containers[0].image or ""
        tell(nginx, deployment, revision_of(intent.spec), ctx)


def tell(nginx: NginxOperator, deployment: Deployment, revision: str, ctx: Context) -> None:
    """Say in the status how the operand is; a Deployment that is behind its own spec says nothing of ours yet."""
    status, found, wanted = nginx.status, deployment.status, nginx.spec.replicas
    is_current = (found.observed_generation or 0) >= deployment.metadata.generation
    status.replicas, status.ready_replicas = found.replicas or 0, found.ready_replicas or 0
    status.selector = f"{INSTANCE}={nginx.name}"
    updated = min(found.updated_replicas or 0, found.available_replicas or 0, wanted) if is_current else 0
    before = status.desired_revision
    phase = status.observe(nginx, revision, done=updated, total=max(wanted, status.replicas))
    status.set("Ready", True, reason="Reconciled", message=f"the operand is told what to be: {phase}")
    if before and before != revision:
        ctx.event("Normal", "RollingOut", f"bringing {deployment.name} to {wanted} pods of {status.image}")
    ready = is_current and status.ready_replicas >= wanted
    message = f"{status.ready_replicas} of {wanted} pods are ready"
    was_ready = status.is_true("OperandReady")
    if status.set("OperandReady", ready, reason="Serving" if ready else "NotServing", message=message):
        reason = "OperandReady" if ready else "OperandNotReady"
        ctx.event("Warning" if was_ready else "Normal", reason, message)


@asynccontextmanager
async def operand_metrics(cluster: Cluster) -> AsyncIterator[None]:
    """Gauges of the operands' health, read from the cache whenever somebody scrapes them."""
    labels = ("namespace", "name")
    wanted = cluster.metrics.gauge("nginx_operand_replicas_wanted", "Pods that shall serve.", labels)
    ready = cluster.metrics.gauge("nginx_operand_replicas_ready", "Pods that serve.", labels)
    shown: set[tuple[str, str]] = set()

    def collect() -> None:
        found = {nginx.key: nginx for nginx in cluster.cache.list(NginxOperator)}
        for key in shown - {(key.namespace, key.name) for key in found}:
            wanted.remove(*key)
            ready.remove(*key)
        shown.clear()
        for key, nginx in found.items():
            shown.add((key.namespace, key.name))
            wanted.labels(key.namespace, key.name).set(nginx.spec.replicas)
            ready.labels(key.namespace, key.name).set(nginx.status.ready_replicas)

    cluster.metrics.collect(collect)
    yield
    cluster.metrics.stop_collecting(collect)


def new_operator(image: str | None = os.environ.get("RELATED_IMAGE_NGINX")) -> Operator:
    """The operator; ``image`` is the operand's, if not that of the packaged file."""
    controller = Controller(NginxOperator, NginxOperators(image).reconcile, owns=[Deployment])
    required = Required(NginxOperator, create="kubectl apply -f sample.yaml")
    return Operator("nginx-operator", [controller], lifespan=[operand_metrics], requires=[required])


operator = new_operator()

if __name__ == "__main__":
    operator.run()

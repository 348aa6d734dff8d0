"""The operand: the Deployment in the packaged YAML file, with the values of a custom resource filled in by type."""

import msgspec

from kubewright.kinds.apps_v1 import Deployment
from kubewright.operation import load_operand
from nginx_operator.resource import NginxOperator

INSTANCE = "app.kubernetes.io/instance"
"""On the operand and its pods: which custom resource they belong to."""
REDEPLOY = "operator.example.com/force-redeploy"
"""On the operand's pods: ``spec.forceRedeploy``, so that a change of it makes new ones."""


def deployment_of(nginx: NginxOperator, image: str | None = None) -> Deployment:
    """The whole intent for the operand; ``image`` in place of the file's, if given."""
    deployment = load_operand(Deployment, "nginx_operator", "deployment.yaml")
    spec, template = deployment.spec, deployment.spec.template
    deployment.metadata.name = nginx.name
    spec.replicas = nginx.spec.replicas
    for labels in (deployment.metadata.labels, spec.selector.match_labels, template.metadata.labels):
        labels[INSTANCE] = nginx.name
    if (token := nginx.spec.force_redeploy) is not None:
        text = token if isinstance(token, str) else msgspec.json.encode(token, order="deterministic").decode()
        template.metadata.annotations[REDEPLOY] = text
    container = template.spec.containers[0]
    container.ports[0].container_port = nginx.spec.port
    container.image = image or container.image
    return deployment

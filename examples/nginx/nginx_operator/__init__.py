"""NginxOperator: keeps an nginx as its custom resource says; the operand is in ``deployment.yaml`` beside this file."""

from nginx_operator.operand import deployment_of
from nginx_operator.reconciling import new_operator, operator
from nginx_operator.resource import NginxOperator, NginxOperatorSpec, NginxOperatorStatus

__all__ = [
    "NginxOperator",
    "NginxOperatorSpec",
    "NginxOperatorStatus",
    "deployment_of",
    "new_operator",
    "operator",
]

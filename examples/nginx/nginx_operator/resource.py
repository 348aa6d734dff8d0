"""The custom resource: spec and status apart, optional told from zero, conditions as a keyed list, columns, scale."""

from typing import Annotated, Any

import msgspec

from kubewright import Column, Model, Resource, ScalePaths
from kubewright.operation import PROGRESS, Progress


class NginxOperatorSpec(Model):
    """What is wanted."""

    port: Annotated[int, msgspec.Meta(ge=1, le=65535, extra_json_schema={"format": "int32", "default": 80})] = 80
    """The port on which nginx is reached inside the cluster."""
    replicas: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1, extra_json_schema={"format": "int32", "default": 1})] = 1
    """How many pods; 0 is a number like others, and not the same as leaving it out."""
    force_redeploy: Any = None
    """Any value; changing it redeploys the operand and changes nothing else."""


class NginxOperatorStatus(Progress):
    """What is found: conditions Ready (the operator does its work), OperandReady (nginx does) and Progressing."""

    replicas: int = 0
    ready_replicas: int = 0
    image: str = ""
    """The operand's image, which comes with the operator's version."""
    selector: str = ""


class NginxOperator(
    Resource,
    group="operator.example.com",
    version="v1alpha1",
    columns=[
        Column("Replicas", ".spec.replicas", "integer"),
        Column("Operand", '.status.conditions[?(@.type=="OperandReady")].status'),
        PROGRESS,
        Column("Image", ".status.image", wide=True),
    ],
    scale=ScalePaths(spec=".spec.replicas", status=".status.replicas", selector=".status.selector"),
):
    """One nginx."""

    spec: NginxOperatorSpec
    status: NginxOperatorStatus = NginxOperatorStatus()

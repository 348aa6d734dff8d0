"""How kinds look to a type checker: right uses, which mypy reads with everything else. Running them costs nothing."""

from __future__ import annotations

from datetime import datetime
from typing import assert_type

from kubewright.api import LabelSelector, Metadata, Quantity
from kubewright.kinds.apiextensions_v1 import JSONSchemaProps
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec, DeploymentStatus
from kubewright.kinds.core_v1 import Container, EnvVar, Pod, PodSpec, PodTemplateSpec, ResourceRequirements, Service


def test_type_checker_knows_the_fields_of_a_kind() -> None:
    container = Container(
        name="web",
        env=[EnvVar(name="A", value="1")],
        resources=ResourceRequirements(limits={"memory": Quantity("1Gi")}),
    )
    deployment = Deployment(
        metadata=Metadata(name="web"),
        spec=DeploymentSpec(selector=LabelSelector(), template=PodTemplateSpec(spec=PodSpec(containers=[container]))),
    )

    assert_type(deployment.name, str)
    assert_type(deployment.spec.replicas, int | None)
    assert_type(deployment.status, DeploymentStatus)
    assert_type(deployment.status.ready_replicas, int)
    assert_type(deployment.spec.template.spec, PodSpec)
    assert_type(container.env, list[EnvVar])


def test_type_checker_knows_what_may_be_absent() -> None:
    pod = Pod(spec=PodSpec(containers=[]))

    assert_type(pod.status.start_time, datetime | None)
    assert_type(pod.status.phase, str)
    assert_type(Service().spec.cluster_ips, list[str])
    assert_type(JSONSchemaProps().items, JSONSchemaProps | list[JSONSchemaProps] | None)

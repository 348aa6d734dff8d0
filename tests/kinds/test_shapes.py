"""The rules by which classes are made, seen on classes that users meet."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, get_type_hints

import msgspec
import pytest

from kubewright.api import LabelSelector as LabelSelector
from kubewright.api import ListMap, ListSet, Metadata, MicroTime, Quantity, decode, to_dict
from kubewright.kinds.apiextensions_v1 import JSONSchemaProps
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec, DeploymentStatus, ReplicaSetStatus, StatefulSetSpec
from kubewright.kinds.autoscaling_v1 import Scale
from kubewright.kinds.batch_v1 import UncountedTerminatedPods
from kubewright.kinds.coordination_v1 import LeaseSpec
from kubewright.kinds.core_v1 import (
    ConfigMap,
    Container,
    ContainerPort,
    EnvVar,
    PersistentVolumeClaim,
    Pod,
    PodSpec,
    PodTemplateSpec,
    Secret,
    ServiceSpec,
    TopologySpreadConstraint,
)
from kubewright.kinds.events_v1 import Event
from kubewright.kinds.networking_v1 import IPBlock, NetworkPolicyIngressRule
from kubewright.kinds.policy_v1 import Eviction
from kubewright.kinds.resource_v1 import DeviceAttribute


def hint(kind: type, field: str) -> Any:
    return get_type_hints(kind, include_extras=True)[field]


def deployment() -> Deployment:
    pod = PodTemplateSpec(
        metadata=Metadata(labels={"app": "web"}),
        spec=PodSpec(containers=[Container(name="web", image="nginx", env=[EnvVar(name="A", value="1")])]),
    )
    selector = LabelSelector(match_labels={"app": "web"})
    return Deployment(metadata=Metadata(name="web"), spec=DeploymentSpec(selector=selector, template=pod, replicas=0))


def test_deployment_is_written_as_kubernetes_reads_it() -> None:
    assert to_dict(deployment()) == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx", "env": [{"name": "A", "value": "1"}]}]},
            },
        },
        "status": {},
    }


def test_fields_are_written_in_the_order_of_kubernetes() -> None:
    container = Container(image="nginx", command=["run"], name="web", args=["a"])

    assert msgspec.json.encode(container) == b'{"name":"web","image":"nginx","command":["run"],"args":["a"]}'


def test_required_field_must_be_given() -> None:
    with pytest.raises(TypeError, match="containers"):
        PodSpec()  # type: ignore[call-arg]


def test_spec_must_be_given_when_it_needs_fields() -> None:
    with pytest.raises(TypeError, match="spec"):
        Deployment()  # type: ignore[call-arg]


def test_spec_is_there_when_it_needs_no_fields() -> None:
    assert PersistentVolumeClaim().spec.access_modes == []


def test_absent_scalar_and_struct_are_none() -> None:
    container = Container(name="web")

    assert container.image is None
    assert container.security_context is None


def test_absent_lists_and_maps_are_empty_and_not_written() -> None:
    config = ConfigMap(metadata=Metadata(name="a"))

    assert config.data == {}
    assert "data" not in to_dict(config)


def test_status_is_there_with_zeros_before_the_server_sets_it() -> None:
    status = deployment().status

    assert (status.ready_replicas, status.conditions, status.collision_count) == (0, [], None)


def test_required_number_of_a_status_is_always_written_and_an_optional_one_only_when_set() -> None:
    assert msgspec.json.encode(ReplicaSetStatus()) == b'{"replicas":0}'
    assert msgspec.json.encode(DeploymentStatus()) == b"{}"


@pytest.mark.parametrize(
    ("kind", "python", "wire"),
    [
        (ServiceSpec, "cluster_ip", "clusterIP"),
        (ServiceSpec, "cluster_ips", "clusterIPs"),
        (ServiceSpec, "external_traffic_policy", "externalTrafficPolicy"),
        (PodSpec, "host_pid", "hostPID"),
        (NetworkPolicyIngressRule, "from_", "from"),
        (IPBlock, "except_", "except"),
        (JSONSchemaProps, "not_", "not"),
        (JSONSchemaProps, "ref", "$ref"),
        (JSONSchemaProps, "x_kubernetes_int_or_string", "x-kubernetes-int-or-string"),
        (DeviceAttribute, "int_", "int"),
        (DeviceAttribute, "bool_", "bool"),
    ],
)
def test_python_name_stands_for_the_wire_name(kind: type[msgspec.Struct], python: str, wire: str) -> None:
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))

    assert names[python] == wire


@pytest.mark.parametrize(
    ("kind", "field", "expected"),
    [
        (Container, "env", Annotated[list[EnvVar], ListMap("name")]),
        (Container, "ports", Annotated[list[ContainerPort], ListMap("containerPort", "protocol")]),
        (
            PodSpec,
            "topology_spread_constraints",
            Annotated[list[TopologySpreadConstraint], ListMap("topologyKey", "whenUnsatisfiable")],
        ),
        (UncountedTerminatedPods, "failed", Annotated[list[str], ListSet()]),
        (PersistentVolumeClaim, "metadata", Metadata),
        (Secret, "data", dict[str, str]),
        (StatefulSetSpec, "volume_claim_templates", list[PersistentVolumeClaim]),
        (DeploymentSpec, "selector", LabelSelector),
        (LeaseSpec, "renew_time", MicroTime | None),
        (JSONSchemaProps, "items", JSONSchemaProps | list[JSONSchemaProps] | None),
        (JSONSchemaProps, "additional_properties", JSONSchemaProps | bool | None),
        (JSONSchemaProps, "default", Any),
    ],
)
def test_schema_becomes_this_python_type(kind: type, field: str, expected: object) -> None:
    assert hint(kind, field) == expected


def test_quantities_and_times_have_their_types() -> None:
    pod = decode(
        Pod,
        b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]},'
        b'"status":{"startTime":"2026-01-02T03:04:05Z"}}',
    )

    resources = pod.spec.containers[0].resources
    assert resources is not None
    assert resources.requests == {"cpu": Quantity("1.5")}
    assert isinstance(pod.status.start_time, datetime)


def test_unset_time_that_the_schema_requires_is_read_as_none() -> None:
    event = decode(Event, b'{"metadata":{"name":"a"},"eventTime":null}')

    assert event.event_time is None


def test_kinds_of_subresources_are_resources() -> None:
    assert (Scale.api_version, Scale.kind) == ("autoscaling/v1", "Scale")
    assert (Eviction.api_version, Eviction.kind) == ("policy/v1", "Eviction")

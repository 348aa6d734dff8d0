"""How kinds are treated beside what is valid: generations, parts that a write cannot change, deletion."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright_apiserver.validation import Strategy, bumps_generation, quality_of_service, strategy

DEPLOYMENT = "io.k8s.api.apps.v1.Deployment"
SLICE = "io.k8s.api.discovery.v1.EndpointSlice"


def obj(labels: dict[str, str] | None = None, **parts: Any) -> dict[str, Any]:
    return {"metadata": {"labels": labels or {}}, **parts}


def pod(*resources: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"resources": each} for each in resources], **spec}}


def test_generation_moves_when_the_spec_does():
    treated = strategy("apps", "Deployment")

    assert bumps_generation(treated, DEPLOYMENT, obj(spec={"replicas": 2}), obj(spec={"replicas": 1}))
    assert not bumps_generation(treated, DEPLOYMENT, obj(spec={}, status={"replicas": 1}), obj(spec={}))


def test_generation_stays_when_the_spec_means_the_same():
    new, old = obj(spec={"template": {"spec": {"volumes": []}}}), obj(spec={"template": {"spec": {}}})

    assert not bumps_generation(strategy("apps", "Deployment"), DEPLOYMENT, new, old)


def test_generation_of_an_endpoint_slice_moves_with_all_but_its_annotations():
    treated = strategy("discovery.k8s.io", "EndpointSlice")
    old = obj(endpoints=[])

    assert bumps_generation(treated, SLICE, obj(endpoints=[{"addresses": ["10.0.0.1"]}]), old)
    assert bumps_generation(treated, SLICE, obj({"a": "b"}, endpoints=[]), old)
    assert not bumps_generation(treated, SLICE, {"metadata": {"annotations": {"a": "b"}}, "endpoints": []}, old)


def test_generation_of_a_custom_resource_moves_with_all_but_its_metadata():
    treated = strategy("example.com", "Widget")

    assert treated.generation == 1
    assert bumps_generation(treated, "", obj(status={"a": 1}), obj())
    assert not bumps_generation(treated, "", obj({"a": "b"}, spec={}), obj(spec={}))


def test_generation_does_not_exist_for_plain_kinds():
    assert strategy("", "ConfigMap").generation == 0
    assert not bumps_generation(strategy("", "ConfigMap"), "", obj(data={"a": "b"}), obj())


@pytest.mark.parametrize(
    ("group", "kind", "subresource", "part"),
    [
        ("apps", "Deployment", "", ("status",)),
        ("apps", "Deployment", "status", ("spec",)),
        ("apps", "Deployment", "status", ("metadata", "labels")),
        ("", "Namespace", "", ("spec", "finalizers")),
        ("", "Pod", "ephemeralcontainers", ("status",)),
        ("certificates.k8s.io", "CertificateSigningRequest", "", ("spec",)),
    ],
)
def test_write_cannot_change_a_part(group, kind, subresource, part):
    assert part in strategy(group, kind).resets[subresource]


def test_status_has_an_address_where_a_write_to_it_resets_something():
    assert strategy("apps", "Deployment").has_status
    assert not strategy("", "ConfigMap").has_status


def test_pods_alone_die_gracefully():
    graceful = [kind for kind in ("Pod", "Node", "Service", "Namespace") if strategy("", kind).dies_gracefully]

    assert graceful == ["Pod"]


@pytest.mark.parametrize(("group", "kind"), [("batch", "Job"), ("", "ReplicationController")])
def test_dependents_of_old_kinds_are_orphaned_unless_asked_otherwise(group, kind):
    assert strategy(group, kind).propagation == "Orphan"
    assert Strategy().propagation == "Background"


@pytest.mark.parametrize(
    ("asking", "quality"),
    [
        (pod({}), "BestEffort"),
        (pod({"requests": {"cpu": "0"}}), "BestEffort"),
        (pod({"requests": {"cpu": "1"}}), "Burstable"),
        (
            pod({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}}),
            "Guaranteed",
        ),
        (pod({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "2", "memory": "1"}}), "Burstable"),
        (pod({"requests": {"cpu": "1", "memory": "1"}, "limits": {"cpu": "1", "memory": "1"}}, {}), "Burstable"),
        (pod({"limits": {"example.com/gpu": "1"}}), "BestEffort"),
        (pod({}, resources={"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}), "Burstable"),
    ],
)
def test_quality_of_service_follows_from_what_a_pod_asks_for(asking, quality):
    assert quality_of_service(asking) == quality

"""Objects of built-in kinds say the same in every version of their kind."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.conversion import converted, stored_version

SELECTORS = st.none() | st.just({"matchLabels": {"a": "1"}})
QUANTITIES = st.sampled_from(["1", "500m", "65Mi", "2k"])
SHARES = st.integers(1, 100)


def without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def metric(name: str, selector: Any) -> dict[str, Any]:
    return {"name": name, **without_none(selector=selector)}


def average(quantity: str) -> dict[str, Any]:
    return {"type": "AverageValue", "averageValue": quantity}


METRICS = st.one_of(
    st.builds(lambda q: {"type": "Resource", "resource": {"name": "memory", "target": average(q)}}, QUANTITIES),
    st.builds(
        lambda share: {
            "type": "ContainerResource",
            "containerResource": {
                "name": "cpu",
                "container": "c",
                "target": {"type": "Utilization", "averageUtilization": share},
            },
        },
        SHARES,
    ),
    st.builds(
        lambda q, s: {"type": "Pods", "pods": {"metric": metric("p", s), "target": average(q)}}, QUANTITIES, SELECTORS
    ),
    st.builds(
        lambda q, s: {
            "type": "External",
            "external": {"metric": metric("q", s), "target": {"type": "Value", "value": q}},
        },
        QUANTITIES,
        SELECTORS,
    ),
    st.builds(
        lambda q, s: {
            "type": "Object",
            "object": {
                "metric": metric("hits", s),
                "describedObject": {"kind": "Service", "name": "s"},
                "target": average(q),
            },
        },
        QUANTITIES,
        SELECTORS,
    ),
)
SCALERS = st.builds(
    lambda metrics, share, behavior, labels: {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", **without_none(annotations=labels)},
        "spec": {
            "maxReplicas": 3,
            "metrics": [
                *metrics,
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": share}},
                },
            ],
            **without_none(behavior=behavior),
        },
        "status": {"currentReplicas": 1, "desiredReplicas": 2, "currentMetrics": None},
    },
    st.lists(METRICS, max_size=4),
    SHARES,
    st.none() | st.just({"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 5}]}}),
    st.none() | st.just({"mine": "x"}),
)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(SCALERS)
def test_an_autoscaler_comes_back_from_version_one_as_it_was(scaler: dict[str, Any]):
    first = converted(scaler, "autoscaling/v1")

    assert first["spec"].keys() <= {"maxReplicas", "targetCPUUtilizationPercentage"}
    assert converted(first, "autoscaling/v2") == scaler


def test_annotations_of_version_one_that_cannot_be_read_say_nothing():
    prefix = "autoscaling.alpha.kubernetes.io/"
    annotations = {f"{prefix}metrics": "nonsense", f"{prefix}behavior": "[]", f"{prefix}conditions": "{}", "mine": "x"}
    scaler: dict[str, Any] = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": annotations},
        "spec": {"maxReplicas": 3},
    }

    second = converted(scaler, "autoscaling/v2")

    assert second["metadata"]["annotations"] == {"mine": "x"}
    assert [metric["resource"]["target"]["averageUtilization"] for metric in second["spec"]["metrics"]] == [80]
    assert "behavior" not in second["spec"]
    assert scaler["metadata"]["annotations"] is annotations


def test_an_event_has_other_names_in_its_own_group():
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "well", "count": 2}

    own = converted(event, "events.k8s.io/v1")

    assert (own["note"], own["deprecatedCount"]) == ("well", 2)
    assert converted(own, "v1") == event


def claim(version: str, **request: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", **request}]}},
    }


def test_a_request_for_devices_is_flat_in_the_first_beta():
    flat = claim("v1beta1", deviceClassName="c", adminAccess=False)
    nested = claim("v1", exactly={"deviceClassName": "c", "adminAccess": False})

    assert converted(flat, "resource.k8s.io/v1") == nested
    assert converted(nested, "resource.k8s.io/v1beta1") == flat
    assert converted(claim("v1beta1"), "resource.k8s.io/v1") == claim("v1")
    assert converted(flat, "resource.k8s.io/v1beta2") == {**nested, "apiVersion": "resource.k8s.io/v1beta2"}


def test_a_device_is_basic_in_the_first_beta():
    found = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"devices": [{"name": "d", "capacity": {"m": {"value": "1"}}}]},
    }

    beta = converted(found, "resource.k8s.io/v1beta1")

    assert beta["spec"]["devices"] == [{"name": "d", "basic": {"capacity": {"m": {"value": "1"}}}}]
    assert converted(beta, "resource.k8s.io/v1") == found


def test_beta_versions_are_stored_as_the_stable_one():
    assert stored_version("networking.k8s.io/v1beta1", "IPAddress") == "networking.k8s.io/v1"
    assert stored_version("events.k8s.io/v1", "Event") == "v1"
    assert stored_version("apps/v1", "Deployment") == "apps/v1"

"""When Kubernetes calls two values equal, by which generations move and immutable fields are refused."""

from __future__ import annotations

import pytest

from kubewright_apiserver.validation import same
from kubewright_apiserver.validation.equality import same_field

POD = "io.k8s.api.core.v1.PodSpec"
CONTAINER = "io.k8s.api.core.v1.Container"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({}, {"args": []}),
        ({"args": None}, {"args": []}),
        ({}, {"stdin": False}),
        ({}, {"workingDir": ""}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"cpu": "1000m"}}}),
        ({"resources": {}}, {}),
    ],
)
def test_values_are_the_same_when_they_mean_the_same(left, right):
    assert same(CONTAINER, left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"args": ["a", "b"]}, {"args": ["b", "a"]}),
        ({}, {"securityContext": {}}),
        ({}, {"securityContext": {"runAsUser": 0}}),
        ({"securityContext": {}}, {"securityContext": {"runAsUser": 0}}),
        ({"resources": {"limits": {"cpu": "1"}}}, {"resources": {"limits": {"memory": "1"}}}),
        ({"ports": [{"containerPort": 1}]}, {"ports": [{"containerPort": 1}, {"containerPort": 2}]}),
    ],
)
def test_values_differ_when_a_list_a_pointer_or_an_amount_does(left, right):
    assert not same(CONTAINER, left, right)


def test_fields_are_compared_by_their_type():
    left, right = {"nodeSelector": {}, "hostNetwork": True}, {"hostNetwork": False}

    assert same_field(POD, "nodeSelector", left, right)
    assert not same_field(POD, "hostNetwork", left, right)


def test_fields_are_compared_as_they_are_when_no_type_knows_them():
    assert not same_field("", "spec", {"spec": {}}, {})
    assert same_field("", "spec", {"spec": {"a": 1}}, {"spec": {"a": 1}})

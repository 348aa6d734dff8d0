"""Defaults that no recorded case reaches, because the server refuses such objects or makes them itself."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright_apiserver.data import resources
from kubewright_apiserver.defaulting import Context, default, prepare_create

KINDS = [(found["group"], found["version"], found["kind"]) for found in resources()["resources"]]
CONTEXT = Context(now="<now>", new_uid=lambda: "<new uid>")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "/".join(kind))
def test_an_object_that_says_nothing_can_be_completed(kind):
    group, version, name = kind
    obj: dict[str, Any] = {"metadata": {"name": "x", "uid": "u"}}

    default(group, version, name, obj)
    prepare_create(group, version, name, obj, CONTEXT)

    assert obj["metadata"]["name"] == "x"


def test_a_token_lasts_an_hour():
    request: dict[str, Any] = {}

    default("authentication.k8s.io", "v1", "TokenRequest", request)

    assert request == {"spec": {"expirationSeconds": 3600}}


def test_an_exempt_priority_level_lends_nothing():
    level: dict[str, Any] = {"spec": {"type": "Exempt", "exempt": {}}}

    default("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration", level)

    assert level["spec"]["exempt"] == {"nominalConcurrencyShares": 0, "lendablePercent": 0}


def test_the_capacity_of_an_inline_volume_is_rounded():
    inline: dict[str, Any] = {"capacity": {"storage": "1500u"}, "hostPath": {"path": "/"}}

    default("storage.k8s.io", "v1", "VolumeAttachment", {"spec": {"source": {"inlineVolumeSpec": inline}}})

    assert inline == {"capacity": {"storage": "2m"}, "hostPath": {"path": "/", "type": ""}}


def test_resources_in_the_status_of_a_pod_are_rounded():
    container = {"allocatedResources": {"cpu": "1500u"}, "resources": {"requests": {"cpu": "100u"}}}
    pod = {"status": {"containerStatuses": [container], "allocatedResources": {"cpu": "1u"}}}

    default("", "v1", "Pod", pod)

    assert container == {"allocatedResources": {"cpu": "2m"}, "resources": {"requests": {"cpu": "1m"}}}
    assert pod["status"]["allocatedResources"] == {"cpu": "1m"}


def test_the_first_address_of_a_pod_is_the_one_that_it_says_alone():
    pod: dict[str, Any] = {"status": {"podIP": "1.2.3.4", "podIPs": [{"ip": "4.3.2.1"}]}}

    default("", "v1", "Pod", pod)

    assert pod["status"]["podIPs"] == [{"ip": "1.2.3.4"}]


def test_a_pod_that_says_all_its_addresses_gets_the_first_alone():
    pod: dict[str, Any] = {"status": {"podIPs": [{"ip": "1.2.3.4"}, {"ip": "fd00::1"}]}}

    default("", "v1", "Pod", pod)

    assert pod["status"]["podIP"] == "1.2.3.4"


@pytest.mark.parametrize("profile", ["localhost/", "localhost/ padded", "other", "localhost/" + "x" * 4096])
def test_an_app_armor_annotation_that_says_nothing_is_not_copied(profile):
    annotations = {"container.apparmor.security.beta.kubernetes.io/c": profile}
    pod: dict[str, Any] = {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}

    prepare_create("", "v1", "Pod", pod, CONTEXT)

    assert pod["spec"]["containers"] == [{"name": "c"}]

"""Hashes of pod templates, compared with those that Kubernetes 1.36 computes for the same templates."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.controlplane.deployment.printed_quantity import printed_quantity
from kubewright.controlplane.deployment.template_hash import print_template, template_hash

PLAIN: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "nginx:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
}
RICH: dict[str, Any] = {
    "metadata": {"labels": {"b": "2", "a": "1"}, "annotations": {"é": "ü"}},
    "spec": {
        "volumes": [
            {"name": "v", "configMap": {"name": "c", "defaultMode": 420}},
            {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}},
        ],
        "initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}],
        "containers": [
            {
                "name": "main",
                "image": "y",
                "args": ["-v"],
                "env": [{"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
                "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"limits": {"cpu": "1500m", "memory": "100Ti"}, "requests": {"cpu": "1", "memory": "7Mi"}},
                "readinessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 3},
                "livenessProbe": {"tcpSocket": {"port": 80}},
                "securityContext": {"runAsUser": 0, "capabilities": {"drop": ["ALL"]}},
            }
        ],
        "nodeSelector": {},
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]},
                        "topologyKey": "kubernetes.io/hostname",
                    }
                ]
            }
        },
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 0}],
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 0,
    },
}


@pytest.mark.parametrize(
    ("template", "collisions", "expected"),
    [
        (PLAIN, None, "7688cfc66b"),
        (PLAIN, 0, "55d7887494"),
        (PLAIN, 1, "6c945498d7"),
        (PLAIN, 70000, "55cb9b899b"),
        (RICH, None, "659c46648d"),
        ({}, None, "85748b7f68"),
    ],
)
def test_a_template_has_the_hash_that_kubernetes_gives_it(
    template: dict[str, Any], collisions: int | None, expected: str
) -> None:
    assert template_hash(template, collisions) == expected


def test_what_the_server_leaves_out_makes_no_difference() -> None:
    bare = {"metadata": {"labels": {"a": "1"}}, "spec": {"containers": [{"name": "c"}]}}
    empty = {
        "metadata": {"labels": {"a": "1"}, "annotations": {}, "creationTimestamp": None},
        "spec": {"containers": [{"name": "c", "args": [], "resources": {}}], "hostNetwork": False, "nodeSelector": {}},
    }

    assert template_hash(empty) == template_hash(bare)


def test_a_pointer_to_nothing_is_told_from_none() -> None:
    with_context: dict[str, Any] = {"spec": {"containers": [], "securityContext": {}}}

    assert template_hash(with_context) != template_hash({"spec": {"containers": []}})


def test_a_time_of_creation_is_part_of_the_text() -> None:
    assert "ext:(int64)63902822400" in print_template({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}})


QUANTITIES = [
    ("0", "0", "0", "<nil>", "0", "DecimalSI"),
    ("100m", "100", "-3", "<nil>", "100m", "DecimalSI"),
    ("128Mi", "134217728", "0", "<nil>", "", "BinarySI"),
    ("7Mi", "7340032", "0", "<nil>", "7Mi", "BinarySI"),
    ("1k", "1", "3", "<nil>", "1k", "DecimalSI"),
    ("12e6", "12", "6", "<nil>", "12e6", "DecimalExponent"),
    (
        "100Ti",
        "0",
        "0",
        "{unscaled:(big.Int){neg:(bool)false abs:(big.nat)[8568098291072368640 5960]} scale:(inf.Scale)9}",
        "",
        "BinarySI",
    ),
    (
        "123456789012345678901",
        "0",
        "0",
        "{unscaled:(big.Int){neg:(bool)false abs:(big.nat)[14083847773602697728 6692605942]} scale:(inf.Scale)9}",
        "",
        "DecimalSI",
    ),
    ("-5", "-5", "0", "<nil>", "-5", "DecimalSI"),
    ("10n", "10", "-9", "<nil>", "10n", "DecimalSI"),
]


@pytest.mark.parametrize(("text", "value", "scale", "large", "kept", "form"), QUANTITIES)
def test_a_quantity_is_printed_as_go_keeps_it(
    text: str, value: str, scale: str, large: str, kept: str, form: str
) -> None:
    assert printed_quantity(text) == (
        f"{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} "
        f"d:(resource.infDecAmount){{Dec:(*inf.Dec){large}}} s:(string){kept} Format:(resource.Format){form}}}"
    )

"""What clients are warned of; the words are kube-apiserver's."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubewright_apiserver.access import Authority
from kubewright_apiserver.schema.numbers import written_numbers
from kubewright_apiserver.validation import object_warnings


def secret(certificate: bytes, key: bytes) -> dict[str, Any]:
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    return {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": data}


def test_a_certificate_and_its_key_are_not_warned_of():
    pair = Authority().issue_server(["localhost"])

    assert object_warnings("", "Secret", secret(pair.certificate, pair.key), None) == []


def test_a_certificate_and_another_key_are_warned_of():
    authority = Authority()
    one, other = authority.issue_server(["localhost"]), authority.issue_server(["localhost"])

    found = object_warnings("", "Secret", secret(one.certificate, other.key), None)

    assert found == ["tls: private key does not match public key"]


def test_certificate_and_key_in_each_others_place_are_warned_of():
    pair = Authority().issue_server(["localhost"])

    found = object_warnings("", "Secret", secret(pair.key, pair.certificate), None)

    what = "failed to find certificate PEM data in certificate input, but did find a private key"
    assert found == [f"tls: {what}; PEM inputs may have been switched"]


def policy(cidr: str) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"ingress": [{"from": [{"ipBlock": {"cidr": cidr}}]}]}}


@pytest.mark.parametrize(
    ("cidr", "warnings"),
    [
        ("192.0.2.0/24", []),
        ("2001:db8::/64", []),
        (
            "192.0.2.5/24",
            ['CIDR value "192.0.2.5/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.5/32"?)'],
        ),
        ("192.0.2.000/24", ['non-standard CIDR value "192.0.2.000/24" is invalid: use "192.0.2.0/24"']),
        ("::ffff:192.0.2.0/120", ['non-standard CIDR value "::ffff:192.0.2.0/120" is invalid: use "192.0.2.0/24"']),
        ("2001:DB8::/64", ['IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")']),
        ("nonsense", []),
    ],
)
def test_an_unusual_range_is_warned_of(cidr: str, warnings: list[str]):
    found = object_warnings("networking.k8s.io", "NetworkPolicy", policy(cidr), None)

    assert found == [f"spec.ingress[0].from[0].ipBlock.cidr: {warning}" for warning in warnings]


def test_a_template_is_warned_of_when_its_generation_changes():
    spec = {"template": {"spec": {"containers": [], "nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}
    old = {"metadata": {"name": "d", "generation": 1}, "spec": spec}
    new = {"metadata": {"name": "d", "generation": 2}, "spec": spec}

    assert object_warnings("apps", "Deployment", old, old) == []
    assert object_warnings("apps", "Deployment", new, old, "status") == []
    assert len(object_warnings("apps", "Deployment", new, old)) == 1


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0, 1), (1.5, 1.5), (-0.0, 0), (2.0**62, 4611686018427388000), (1e300, 1e300), (True, True)],
)
def test_a_whole_float_is_written_without_a_fraction(value: Any, written: Any):
    found = written_numbers({"a": [value]})["a"][0]

    assert found == written
    assert type(found) is type(written)

"""A proxy in front of the server: whose headers are believed, and what they say."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from kubewright_apiserver.access.certificates import Authority
from kubewright_apiserver.access.front_proxy import FrontProxy, is_issued_by

HEADERS = [
    ("x-remote-user", "alice"),
    ("X-Remote-Group", "dev"),
    ("X-Remote-Group", ""),
    ("X-Remote-Group", "ops"),
    ("X-Remote-Extra-Acme.com%2FProject", "one"),
    ("X-Remote-Extra-acme.com%2fproject", "two"),
    ("X-Remote-Uid", "42"),
    ("Other", "thing"),
]


def certificate_of(authority: Authority, name: str) -> bytes:
    pem = authority.issue_client(name, []).certificate
    return x509.load_pem_x509_certificate(pem).public_bytes(Encoding.DER)


def proxy(authority: Authority, *allowed_names: str) -> FrontProxy:
    return FrontProxy(
        authority.certificate,
        allowed_names=allowed_names,
        name_headers=["X-Remote-User"],
        uid_headers=["X-Remote-Uid"],
        group_headers=["X-Remote-Group"],
        extra_prefixes=["X-Remote-Extra-"],
    )


def test_the_headers_of_a_proxy_say_who_asks():
    authority = Authority()

    user = proxy(authority, "front").user_of(HEADERS, certificate_of(authority, "front"))

    assert user is not None
    assert (user.name, user.uid) == ("alice", "42")
    assert user.groups == ("dev", "ops", "system:authenticated")
    assert user.extra == {"acme.com/project": ("one", "two")}


def test_any_certificate_of_the_authority_will_do_without_names():
    authority = Authority()

    assert proxy(authority).user_of(HEADERS, certificate_of(authority, "whoever")) is not None


@pytest.mark.parametrize("headers", [[], [("X-Remote-User", "")], [("X-Remote-Group", "dev")]])
def test_nobody_is_named_without_a_name(headers):
    authority = Authority()

    assert proxy(authority).user_of(headers, certificate_of(authority, "front")) is None


def test_headers_of_others_are_not_believed():
    authority, other = Authority(), Authority()

    assert proxy(authority).user_of(HEADERS, None) is None
    assert proxy(authority).user_of(HEADERS, certificate_of(other, "front")) is None
    assert proxy(authority, "front").user_of(HEADERS, certificate_of(authority, "back")) is None


def test_one_of_several_authorities_is_enough():
    first, second, third = Authority(), Authority(), Authority()
    both = first.certificate + second.certificate

    assert is_issued_by(certificate_of(second, "a"), both)
    assert not is_issued_by(certificate_of(third, "a"), both)


def test_others_are_told_which_proxies_to_believe():
    authority = Authority()

    assert proxy(authority, "front", "b").told == {
        "requestheader-allowed-names": '["front","b"]',
        "requestheader-client-ca-file": authority.certificate.decode(),
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }

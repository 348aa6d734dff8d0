"""Names: which rule each kind has for them, in kube-apiserver's words, and the names that prefixes make."""

from __future__ import annotations

import pytest

from kubewright_apiserver.validation import generated_name, name_errors, validate_create
from kubewright_apiserver.validation.names import dns_label, dns_subdomain, masked, port_name, qualified_name

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "Pod", "Node", "ServiceAccount", "LimitRange"])
def test_name_is_a_subdomain_for_most_kinds(kind):
    assert [*name_errors("", kind, "A_b")] == [SUBDOMAIN]
    assert [*name_errors("", kind, "a.b-c")] == []


@pytest.mark.parametrize(("group", "kind"), [("", "Namespace"), ("", "Service"), ("apps", "StatefulSet")])
def test_name_is_a_label_for_kinds_that_end_up_in_dns(group, kind):
    assert name_errors(group, kind, "a.b")
    assert not name_errors(group, kind, "a-b")


@pytest.mark.parametrize("kind", ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"])
def test_name_of_a_role_is_anything_that_fits_into_a_path(kind):
    group = "rbac.authorization.k8s.io"

    assert not name_errors(group, kind, "system:Any Thing")
    assert [*name_errors(group, kind, "a/b%")] == ["may not contain '/'", "may not contain '%'"]
    assert [*name_errors(group, kind, "..")] == ["may not be '..'"]


def test_name_of_a_custom_resource_is_a_subdomain():
    assert [*name_errors("example.com", "Widget", "A")] == [SUBDOMAIN]
    assert not name_errors("example.com", "Widget", "a.b")


def test_name_is_refused_for_its_length():
    assert [*dns_subdomain("a" * 254)] == ["must be no more than 253 characters"]
    assert [*dns_label("a" * 64)] == ["must be no more than 63 characters"]


def test_label_is_refused_for_its_letters():
    assert [*dns_label("A")] == [LABEL]


@pytest.mark.parametrize("name", ["a", "A.b_c", "x.io/a", "a" * 63, "a.b" + "c" * 50 + "/d"])
def test_qualified_name_is_accepted(name):
    assert not qualified_name(name)


@pytest.mark.parametrize("name", ["", "a b", "/a", "a/", "a/b/c", "A/b", "-a", "a" * 64])
def test_qualified_name_is_refused(name):
    assert qualified_name(name)


def test_port_name_says_all_that_is_wrong_with_it():
    assert [*port_name("-1--")] == [
        "must contain at least one letter (a-z)",
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
    ]


def test_generated_name_is_the_prefix_and_the_letters():
    assert generated_name("web-", "x7k2p") == "web-x7k2p"


def test_generated_name_stays_a_label_when_the_prefix_is_long():
    name = generated_name("a" * 100 + "-", "x7k2p")

    assert name == "a" * 58 + "x7k2p"
    assert len(name) == 63


def test_generated_name_is_cut_between_characters():
    assert generated_name("é" * 40, "x7k2p") == "é" * 29 + "x7k2p"


@pytest.mark.parametrize(("prefix", "seen"), [("web-", "wea"), ("web", "web"), ("-", "-"), ("", "")])
def test_prefix_may_end_in_a_hyphen(prefix, seen):
    assert masked(prefix) == seen


def test_prefix_is_refused_like_a_name_but_for_its_end():
    new = {"metadata": {"generateName": "AB-", "name": "a-x7k2p", "namespace": "default"}}

    errors = validate_create("", "v1", "ConfigMap", new)

    assert [(error.field, error.detail) for error in errors] == [("metadata.generateName", SUBDOMAIN)]

"""Which rules cover which others, and how those are told that nothing covers."""

from __future__ import annotations

import pytest

from kubewright_apiserver.access.rules import FULL_AUTHORITY, described_missing, missing_rules


def rule(verbs: str, groups: str = "", resources: str = "pods", names: str = "") -> dict[str, list[str]]:
    found = {
        "verbs": verbs.split(),
        "apiGroups": groups.split(",") if groups != "-" else [],
        "resources": resources.split(),
    }
    return {**found, "resourceNames": names.split()} if names else found


def urls(verbs: str, *paths: str) -> dict[str, list[str]]:
    return {"verbs": verbs.split(), "nonResourceURLs": list(paths)}


@pytest.mark.parametrize(
    ("owned", "wanted"),
    [
        (rule("get list"), rule("get")),
        (rule("*"), rule("get delete")),
        (rule("get", "*"), rule("get", "apps")),
        (rule("get", resources="*"), rule("get", resources="pods/status secrets")),
        (rule("get", resources="*/scale"), rule("get", resources="deployments/scale")),
        (rule("get"), rule("get", names="a b")),
        (rule("get", names="a b"), rule("get", names="a")),
        (urls("get", "/healthz/*"), urls("get", "/healthz/etcd")),
        (urls("*", "*"), urls("post", "/a")),
    ],
)
def test_a_rule_covers_what_is_narrower(owned: dict[str, list[str]], wanted: dict[str, list[str]]):
    assert missing_rules([owned], [wanted]) == []


@pytest.mark.parametrize(
    ("owned", "wanted"),
    [
        (rule("get"), rule("list")),
        (rule("get"), rule("*")),
        (rule("get"), rule("get", "apps")),
        (rule("get"), rule("get", resources="pods/status")),
        (rule("get", resources="*/scale"), rule("get", resources="*")),
        (rule("get", names="a"), rule("get")),
        (rule("get", names="a"), rule("get", names="b")),
        (urls("get", "/healthz"), urls("get", "/healthz/etcd")),
        (rule("*", "*", "*"), urls("get", "/a")),
    ],
)
def test_a_rule_does_not_cover_what_is_wider(owned: dict[str, list[str]], wanted: dict[str, list[str]]):
    assert missing_rules([owned], [wanted]) == [wanted]


def test_several_rules_cover_together():
    owned = [rule("get"), rule("list"), rule("get list", "apps", "deployments")]

    assert missing_rules(owned, [rule("get list"), rule("list", "apps", "deployments")]) == []


def test_full_authority_covers_everything():
    assert missing_rules(FULL_AUTHORITY, [rule("*", "*", "*"), urls("*", "*"), rule("impersonate", "", "users")]) == []


def test_missing_rules_are_told_once_for_all_verbs_in_order():
    missing = missing_rules([], [rule("get list", ",apps", "pods"), rule("get", names="b a"), urls("get post", "/x")])

    assert described_missing(missing) == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        '{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["post"]}',
    ]

"""Acting as somebody else: by which headers, by which rights, and as whom exactly."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver.access.attributes import attributes_of
from kubewright_apiserver.access.authorization import Authorizer
from kubewright_apiserver.access.impersonation import Impersonation, wanted_user
from kubewright_apiserver.access.user import User
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.store import Store

GROUP = "rbac.authorization.k8s.io"
JANE = User(name="jane", groups=("system:authenticated",))
LIST = attributes_of("GET", "/api/v1/pods")


class Rights:
    """What jane may do."""

    def __init__(self) -> None:
        self.store = Store()
        self.impersonation = Impersonation(Authorizer(self.store))
        self.count = 0

    async def may(self, verbs: str, group: str, resource: str, *names: str) -> None:
        self.count += 1
        name = f"r{self.count}"
        rule: dict[str, Any] = {"verbs": verbs.split(), "apiGroups": [group], "resources": [resource]}
        if names:
            rule["resourceNames"] = list(names)
        role = {"metadata": {"name": name}, "rules": [rule]}
        binding = {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "apiGroup": GROUP, "name": "jane"}],
        }
        await self.store.put(f"{GROUP}/clusterroles", name, role, expected=0)
        await self.store.put(f"{GROUP}/clusterrolebindings", name, binding, expected=0)

    def acting_as(self, *headers: tuple[str, str], asker: User = JANE) -> tuple[User, str]:
        wanted = wanted_user(headers)
        assert wanted is not None
        acting = self.impersonation.acting_as(asker, wanted, LIST)
        return acting.user, acting.constraint

    def why_not(self, *headers: tuple[str, str]) -> str:
        with pytest.raises(Refusal) as caught:
            self.acting_as(*headers)
        return caught.value.message


@pytest_asyncio.fixture
async def rights() -> Rights:
    return Rights()


BOB = ("Impersonate-User", "bob")


def test_headers_that_come_twice_are_all_heard_but_only_the_first_name():
    headers = [
        ("impersonate-user", "bob"),
        ("Impersonate-User", "eve"),
        ("Impersonate-Group", "a"),
        ("impersonate-group", "b"),
        ("Impersonate-Uid", "u"),
        ("Impersonate-Extra-Acme.com%2fproject", "p1"),
        ("impersonate-extra-acme.com%2Fproject", "p2"),
        ("Accept", "x"),
    ]

    wanted = wanted_user(headers)

    assert wanted == User(name="bob", uid="u", groups=("a", "b"), extra={"acme.com/project": ["p1", "p2"]})


def test_nobody_is_asked_for_without_headers():
    assert wanted_user([("Accept", "x")]) is None


def test_groups_without_a_name_are_refused_with_what_was_asked_for():
    with pytest.raises(Refusal) as caught:
        wanted_user([("Impersonate-Group", "a"), ("Impersonate-Group", "b"), ("Impersonate-Extra-Scopes", "s")])

    expected = (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"a", "b"}, '
        'Extra:map[string][]string{"scopes":[]string{"s"}}} without impersonating a user name'
    )
    assert (caught.value.code, caught.value.message) == (400, expected)


async def test_the_first_right_that_is_missing_is_told_of(rights: Rights):
    where = 'in API group "" at the cluster scope'

    assert rights.why_not(BOB) == (
        f'pods is forbidden: User "jane" cannot impersonate-on:user-info:list resource "pods" {where}'
    )


async def test_the_older_right_makes_one_that_user_with_those_groups(rights: Rights):
    await rights.may("impersonate", "", "users", "bob")
    await rights.may("impersonate", "", "groups", "a")

    user, constraint = rights.acting_as(BOB, ("Impersonate-Group", "a"))

    assert user == User(name="bob", groups=("a", "system:authenticated"))
    assert constraint == ""
    assert 'cannot impersonate resource "groups" in API group ""' in rights.why_not(BOB, ("Impersonate-Group", "b"))


async def test_a_limited_right_needs_the_verb_and_the_user(rights: Rights):
    await rights.may("impersonate-on:user-info:list", "", "pods")
    assert 'User "jane" cannot impersonate:user-info resource "users"' in rights.why_not(BOB)

    await rights.may("impersonate:user-info", "authentication.k8s.io", "users", "bob")

    assert rights.acting_as(BOB) == (User(name="bob", groups=("system:authenticated",)), "impersonate:user-info")


async def test_a_limited_right_is_none_to_be_a_master(rights: Rights):
    await rights.may("*", "*", "*")

    user, constraint = rights.acting_as(BOB, ("Impersonate-Group", "system:masters"))

    assert user.is_master
    assert constraint == ""


async def test_a_service_account_has_its_groups(rights: Rights):
    await rights.may("impersonate", "", "serviceaccounts", "robot")

    user, _ = rights.acting_as(("Impersonate-User", "system:serviceaccount:shop:robot"))

    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated")


async def test_a_node_has_its_group_by_a_limited_right_alone(rights: Rights):
    node = ("Impersonate-User", "system:node:n1")
    await rights.may("impersonate", "", "users", "system:node:n1")
    assert rights.acting_as(node)[0].groups == ("system:authenticated",)

    await rights.may("impersonate-on:arbitrary-node:list impersonate:arbitrary-node", "*", "*")
    other = Impersonation(Authorizer(rights.store))
    wanted = wanted_user([node])
    assert wanted is not None
    user, constraint = other.acting_as(JANE, wanted, LIST)

    assert (user.groups, constraint) == (("system:nodes", "system:authenticated"), "impersonate:arbitrary-node")


async def test_anonymous_stays_unauthenticated(rights: Rights):
    await rights.may("*", "*", "*")

    assert rights.acting_as(("Impersonate-User", "system:anonymous"))[0].groups == ("system:unauthenticated",)


async def test_what_else_is_known_needs_a_right_for_each_value(rights: Rights):
    await rights.may("impersonate", "", "users")
    await rights.may("impersonate", "authentication.k8s.io", "userextras/scopes", "view")
    await rights.may("impersonate", "authentication.k8s.io", "uids", "u")

    user, _ = rights.acting_as(BOB, ("Impersonate-Extra-Scopes", "view"), ("Impersonate-Uid", "u"))

    assert (user.extra, user.uid) == ({"scopes": ["view"]}, "u")
    assert 'cannot impersonate resource "userextras/scopes"' in rights.why_not(BOB, ("Impersonate-Extra-Scopes", "x"))
    assert 'cannot impersonate resource "uids"' in rights.why_not(BOB, ("Impersonate-Uid", "v"))

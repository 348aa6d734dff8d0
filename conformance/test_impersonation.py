"""Acting as somebody else: who one becomes, and who may."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS
from conformance.rights import Rights, rule

pytestmark = pytest.mark.section("1.13")

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
AUTHENTICATION = "authentication.k8s.io"


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        ("jane", ()),
        ("jane", ("b", "a", "b")),
        ("jane", ("system:authenticated",)),
        ("jane", ("system:unauthenticated",)),
        ("system:anonymous", ()),
        ("system:anonymous", ("a",)),
        ("system:serviceaccount:shop:robot", ()),
        ("system:serviceaccount:shop:robot", ("a",)),
        ("system:serviceaccount:shop", ()),
        ("system:serviceaccount:Shop:robot", ()),
        ("system:node:n", ("system:nodes",)),
        ("kubernetes-admin", ("system:masters",)),
    ],
)
async def test_whom_one_becomes(api: Api, user: str, groups: tuple[str, ...]):
    await api.acting_as(user, *groups).post(WHO, {})


async def test_all_that_is_known_of_somebody(api: Api):
    extra = {"scopes": "view", "Acme.com%2Fproject": "x", "bad%zz": "y"}
    await api.acting_as("jane", "a", uid="u-1", extra=extra).post(WHO, {})
    twice = (("Impersonate-User", "jane"), ("Impersonate-Extra-Scopes", "a"), ("impersonate-extra-scopes", "b"))
    await api.with_headers(*twice).post(WHO, {})


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-Group", "a")],
        [("Impersonate-Uid", "u")],
        [("Impersonate-Extra-A", "b"), ("Impersonate-Extra-A", "c"), ("Impersonate-Group", "x")],
        [("Impersonate-User", ""), ("Impersonate-Group", "a")],
        [("Impersonate-User", "")],
        [("Impersonate-Nothing", "a")],
    ],
)
async def test_acting_as_nobody_in_particular(api: Api, headers: list[tuple[str, str]]):
    await api.with_headers(*headers).get(f"{MAPS}/a")


@pytest.fixture
def robot(api: Api, stranger: Api) -> Any:
    """What asks with the token of an account of the case."""

    async def ask(*headers: tuple[str, str]) -> Api:
        with api.unrecorded():
            path = "/api/v1/namespaces/{ns}/serviceaccounts"
            await api.post(path, {"metadata": {"name": "robot"}})
            token = (await api.post(f"{path}/robot/token", {})).body["status"]["token"]
        return stranger.with_headers(("Authorization", f"Bearer {token}"), *headers)

    return ask


def name_of(api: Api) -> str:
    return f"system:serviceaccount:{api.namespace}:robot"


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-User", "jane")],
        [("Impersonate-User", "system:serviceaccount:shop:robot")],
        [("Impersonate-User", "system:node:n")],
        [("Impersonate-User", "jane"), ("Impersonate-Group", "system:masters")],
        [("Impersonate-User", "system:serviceaccount:shop:robot"), ("Impersonate-Uid", "u")],
    ],
)
async def test_who_may_not_act_as_somebody(api: Api, robot: Any, headers: list[tuple[str, str]]):
    await (await robot(*headers)).get(f"{MAPS}/a")


async def test_who_may_act_as_a_user_may_not_as_a_group(api: Api, robot: Any, rights: Rights):
    await rights.grant(name_of(api), rule("impersonate", "users", resourceNames=["jane"]), everywhere=True)
    jane = ("Impersonate-User", "jane")
    await (await robot(jane)).post(WHO, {})
    await (await robot(("Impersonate-User", "joe"))).post(WHO, {})
    await (await robot(jane, ("Impersonate-Group", "a"))).post(WHO, {})
    await (await robot(jane, ("Impersonate-Uid", "u"))).post(WHO, {})
    await (await robot(jane, ("Impersonate-Extra-Scopes", "view"))).post(WHO, {})
    await (await robot(jane)).get(f"{MAPS}/a")


async def test_who_may_act_as_users_with_all_they_have(api: Api, robot: Any, rights: Rights):
    known = rule("impersonate", "userextras/scopes,uids", AUTHENTICATION)
    await rights.grant(name_of(api), rule("impersonate", "users,groups"), known, everywhere=True)
    jane = ("Impersonate-User", "jane")
    everything = (("Impersonate-Group", "a"), ("Impersonate-Uid", "u"), ("Impersonate-Extra-Scopes", "view"))
    await (await robot(jane, *everything)).post(WHO, {})
    await (await robot(jane, ("Impersonate-Extra-Other", "view"))).post(WHO, {})
    await (await robot(jane, ("Impersonate-Group", "system:masters"))).get(f"{MAPS}/a")


async def test_who_may_act_as_accounts_of_a_namespace(api: Api, robot: Any, rights: Rights):
    await rights.grant(name_of(api), rule("impersonate", "serviceaccounts"))
    await (await robot(("Impersonate-User", f"system:serviceaccount:{api.namespace}:other"))).post(WHO, {})
    await (await robot(("Impersonate-User", "system:serviceaccount:default:other"))).post(WHO, {})


async def test_who_may_act_as_a_user_for_some_things_only(api: Api, robot: Any, rights: Rights):
    await rights.grant(
        name_of(api),
        rule("impersonate:user-info", "users", AUTHENTICATION, resourceNames=["jane"]),
        rule("impersonate-on:user-info:create", "selfsubjectreviews", AUTHENTICATION),
        everywhere=True,
    )
    jane = ("Impersonate-User", "jane")
    await (await robot(jane)).post(WHO, {})
    await (await robot(jane)).get(f"{MAPS}/a")
    await (await robot(jane, ("Impersonate-Group", "a"))).post(WHO, {})
    await (await robot(("Impersonate-User", "joe"))).post(WHO, {})


async def test_who_may_act_as_an_account_for_some_things_only(api: Api, robot: Any, rights: Rights):
    await rights.grant(
        name_of(api),
        rule("impersonate:serviceaccount", "serviceaccounts", AUTHENTICATION),
        rule("impersonate-on:serviceaccount:create", "selfsubjectreviews", AUTHENTICATION),
        everywhere=True,
    )
    await (await robot(("Impersonate-User", "system:serviceaccount:default:other"))).post(WHO, {})
    await (await robot(("Impersonate-User", "jane"))).post(WHO, {})


async def test_who_may_act_as_any_node_for_some_things_only(api: Api, robot: Any, rights: Rights):
    await rights.grant(
        name_of(api),
        rule("impersonate:arbitrary-node", "nodes", AUTHENTICATION),
        rule("impersonate-on:arbitrary-node:create", "selfsubjectreviews", AUTHENTICATION),
        everywhere=True,
    )
    await (await robot(("Impersonate-User", "system:node:n"))).post(WHO, {})

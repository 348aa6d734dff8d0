"""Roles and bindings that would give away more than their author has."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver.access.authorization import Authorizer
from kubewright_apiserver.access.escalation import check_escalation
from kubewright_apiserver.access.user import User
from kubewright_apiserver.path import Address
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.store import Store

GROUP = "rbac.authorization.k8s.io"
JANE = User(name="jane", groups=("devs", "system:authenticated"))
ROLES = Address(GROUP, "v1", "roles", "shop")
CLUSTER_ROLES = Address(GROUP, "v1", "clusterroles")
BINDINGS = Address(GROUP, "v1", "rolebindings", "shop")


class Rights:
    def __init__(self) -> None:
        self.store = Store()
        self.authorizer = Authorizer(self.store)

    async def put(self, plural: str, key: str, obj: dict[str, Any]) -> None:
        await self.store.put(f"{GROUP}/{plural}", key, obj, expected=0)

    async def may(self, *rules: dict[str, Any]) -> None:
        """Let jane do something in the namespace shop."""
        await self.put("roles", "shop/own", {"metadata": {"name": "own", "namespace": "shop"}, "rules": list(rules)})
        reference = {"apiGroup": GROUP, "kind": "Role", "name": "own"}
        subjects = [{"kind": "User", "apiGroup": GROUP, "name": "jane"}]
        metadata = {"name": "own", "namespace": "shop"}
        await self.put("rolebindings", "shop/own", {"metadata": metadata, "roleRef": reference, "subjects": subjects})

    def check(self, address: Address, obj: dict[str, Any], live: dict[str, Any] | None = None) -> None:
        check_escalation(self.authorizer, JANE, address, obj, live)

    def why_not(self, address: Address, obj: dict[str, Any], live: dict[str, Any] | None = None) -> Refusal:
        with pytest.raises(Refusal) as caught:
            self.check(address, obj, live)
        return caught.value


@pytest_asyncio.fixture
async def rights() -> Rights:
    return Rights()


def role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "r"}, "rules": list(rules), **more}


def binding(kind: str = "Role", name: str = "r") -> dict[str, Any]:
    return {"metadata": {"name": "b"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}}


def rule(verbs: str, resources: str, group: str = "") -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split()}


async def test_a_role_may_hold_what_its_author_holds(rights: Rights):
    await rights.may(rule("get list", "pods"))

    rights.check(ROLES, role(rule("get", "pods")))


async def test_a_role_may_not_hold_more(rights: Rights):
    await rights.may(rule("get", "pods"))

    refusal = rights.why_not(ROLES, role(rule("get list delete", "pods")))

    assert refusal.code == 403
    assert refusal.message == (
        'roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) '
        "is attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "delete"]}'
    )


async def test_who_may_escalate_may_write_any_role(rights: Rights):
    await rights.may(rule("escalate", "roles", GROUP))

    rights.check(ROLES, role(rule("*", "*", "*")))


async def test_a_role_whose_rules_stay_is_looked_at_only_if_more_than_its_owners_change(rights: Rights):
    live = role(rule("get", "secrets"))
    owned = {**live, "metadata": {"name": "r", "ownerReferences": [{"uid": "u"}], "finalizers": ["a/b"]}}
    labelled = {**live, "metadata": {"name": "r", "labels": {"a": "b"}}}

    rights.check(ROLES, owned, live)

    assert "not currently held" in rights.why_not(ROLES, labelled, live).message


async def test_gathering_rules_needs_full_authority(rights: Rights):
    gathering = role(aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]})

    refusal = rights.why_not(CLUSTER_ROLES, gathering)

    why = "must have cluster-admin privileges to use the aggregationRule"
    assert refusal.message == f'clusterroles.rbac.authorization.k8s.io "r" is forbidden: {why}'
    assert why in rights.why_not(CLUSTER_ROLES, role(), gathering).message


async def test_a_binding_may_give_what_its_author_holds(rights: Rights):
    await rights.may(rule("get", "pods secrets"))
    await rights.put("roles", "shop/r", role(rule("get", "pods")))

    rights.check(BINDINGS, binding())


async def test_a_binding_may_not_give_more(rights: Rights):
    await rights.put("clusterroles", "r", role(rule("get", "pods")))

    refusal = rights.why_not(BINDINGS, binding("ClusterRole"))

    assert refusal.message.startswith('rolebindings.rbac.authorization.k8s.io "b" is forbidden: user "jane"')
    assert refusal.message.endswith('\n{APIGroups:[""], Resources:["pods"], Verbs:["get"]}')


async def test_who_may_bind_a_role_need_not_hold_it(rights: Rights):
    await rights.may({**rule("bind", "clusterroles", GROUP), "resourceNames": ["r"]})
    await rights.put("clusterroles", "r", role(rule("*", "*", "*")))

    rights.check(BINDINGS, binding("ClusterRole"))

    assert rights.why_not(BINDINGS, binding("ClusterRole", "other")).code == 404


async def test_a_binding_of_a_role_that_is_not_there_is_refused(rights: Rights):
    refusal = rights.why_not(BINDINGS, binding())

    assert (refusal.code, refusal.message) == (404, 'rolebindings.rbac.authorization.k8s.io "r" not found')


async def test_roles_that_are_bound_but_not_there_are_told_of(rights: Rights):
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": "jane"}]
    await rights.put("clusterrolebindings", "gone", {**binding("ClusterRole", "gone"), "subjects": subjects})

    message = rights.why_not(ROLES, role(rule("get", "pods"))).message

    assert message.endswith('; resolution errors: [roles.rbac.authorization.k8s.io "gone" not found]')


async def test_masters_and_other_resources_are_not_looked_at(rights: Rights):
    master = User(name="root", groups=("system:masters",))

    check_escalation(rights.authorizer, master, ROLES, role(rule("*", "*", "*")), None)
    rights.check(Address("", "v1", "configmaps", "shop"), role(rule("*", "*", "*")))

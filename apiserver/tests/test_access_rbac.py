"""What roles and bindings allow, why, and in which words it is refused."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver.access.attributes import Attributes, attributes_of
from kubewright_apiserver.access.authorization import Authorizer, read_modes, refused_request
from kubewright_apiserver.access.rbac import Rbac
from kubewright_apiserver.access.user import User, account_groups, account_name
from kubewright_apiserver.store import Store

GROUP = "rbac.authorization.k8s.io"
JANE = User(name="jane", groups=("devs", "system:authenticated"))
GET_POD = Attributes("get", "", "pods", "", "shop", "p")


class Roles:
    """A store of roles and bindings."""

    def __init__(self) -> None:
        self.store = Store()
        self.rbac = Rbac(self.store)

    async def put(self, plural: str, name: str, content: dict[str, Any], namespace: str = "") -> None:
        key = f"{namespace}/{name}" if namespace else name
        row = self.store.table(f"{GROUP}/{plural}").get(key)
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        obj = {"metadata": metadata, **content}
        await self.store.put(f"{GROUP}/{plural}", key, obj, expected=row.rev if row is not None else 0)

    async def role(self, *rules: dict[str, Any], name: str = "r", namespace: str = "") -> None:
        await self.put("roles" if namespace else "clusterroles", name, {"rules": list(rules)}, namespace)

    async def bind(self, *subjects: dict[str, str], name: str = "b", namespace: str = "", kind: str = "") -> None:
        kind = kind or ("Role" if namespace else "ClusterRole")
        reference = {"apiGroup": GROUP, "kind": kind, "name": "r"}
        plural = "rolebindings" if namespace else "clusterrolebindings"
        await self.put(plural, name, {"roleRef": reference, "subjects": list(subjects)}, namespace)

    def allows(self, verb: str, resource: str, namespace: str = "", **more: str) -> bool:
        name, _, part = resource.partition("/")
        asked = Attributes(verb, more.get("group", ""), name, part, namespace, more.get("name", ""))
        return self.rbac.decide(JANE, asked).allowed


@pytest_asyncio.fixture
async def roles() -> Roles:
    return Roles()


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "apiGroup": GROUP, "name": name}


def group(name: str) -> dict[str, str]:
    return {"kind": "Group", "apiGroup": GROUP, "name": name}


def rule(verbs: str, resources: str, groups: str = "", names: str = "") -> dict[str, list[str]]:
    found = {"verbs": verbs.split(), "apiGroups": groups.split(","), "resources": resources.split()}
    return {**found, "resourceNames": names.split()} if names else found


async def test_nothing_is_allowed_without_a_binding(roles: Roles):
    await roles.role(rule("*", "*", "*"))

    assert roles.rbac.decide(JANE, GET_POD) == (False, "")


async def test_a_cluster_binding_allows_in_every_namespace_and_in_none(roles: Roles):
    await roles.role(rule("get list", "pods"))
    await roles.bind(user("jane"))

    assert roles.allows("get", "pods", "shop")
    assert roles.allows("list", "pods")
    assert not roles.allows("delete", "pods", "shop")
    assert not roles.allows("get", "secrets", "shop")
    assert not roles.allows("get", "pods", "shop", group="apps")


async def test_a_binding_in_a_namespace_allows_there_alone(roles: Roles):
    await roles.role(rule("get", "pods"), namespace="shop")
    await roles.bind(user("jane"), namespace="shop")

    assert roles.allows("get", "pods", "shop")
    assert not roles.allows("get", "pods", "other")
    assert not roles.allows("get", "pods")


async def test_a_cluster_role_bound_in_a_namespace_allows_there_alone(roles: Roles):
    await roles.role(rule("get", "pods"))
    await roles.bind(user("jane"), namespace="shop", kind="ClusterRole")

    assert roles.allows("get", "pods", "shop")
    assert not roles.allows("get", "pods", "other")


@pytest.mark.parametrize(
    ("resources", "asked", "expected"),
    [
        ("pods", "pods/status", False),
        ("pods/status", "pods/status", True),
        ("pods/status", "pods", False),
        ("*/status", "pods/status", True),
        ("*/status", "pods", False),
        ("*/status", "pods/scale", False),
        ("*", "pods/status", True),
        ("*", "pods", True),
    ],
)
async def test_subresources_are_resources_of_their_own(roles: Roles, resources: str, asked: str, expected: bool):
    await roles.role(rule("get", resources))
    await roles.bind(user("jane"))

    assert roles.allows("get", asked) is expected


async def test_names_limit_a_rule_to_those_who_name_one(roles: Roles):
    await roles.role(rule("get list", "configmaps", names="a b"))
    await roles.bind(user("jane"))

    assert roles.allows("get", "configmaps", "shop", name="a")
    assert not roles.allows("get", "configmaps", "shop", name="c")
    assert not roles.allows("list", "configmaps", "shop")


@pytest.mark.parametrize(
    ("urls", "path", "expected"),
    [
        (["/healthz"], "/healthz", True),
        (["/healthz"], "/healthz/etcd", False),
        (["/healthz/*"], "/healthz/etcd", True),
        (["/healthz/*"], "/healthz", False),
        (["*"], "/anything", True),
    ],
)
async def test_paths_are_allowed_by_rules_for_paths(roles: Roles, urls: list[str], path: str, expected: bool):
    await roles.role({"verbs": ["get"], "nonResourceURLs": urls})
    await roles.bind(user("jane"))

    assert roles.rbac.decide(JANE, attributes_of("GET", path)).allowed is expected
    assert not roles.rbac.decide(JANE, attributes_of("POST", path)).allowed


async def test_groups_are_bound_like_users(roles: Roles):
    await roles.role(rule("get", "pods"))
    await roles.bind(user("eve"), group("devs"))

    decision = roles.rbac.decide(JANE, GET_POD)

    assert decision == (True, 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "devs"')
    assert not roles.rbac.decide(User(name="devs"), GET_POD).allowed


async def test_service_accounts_are_bound_by_namespace_and_name(roles: Roles):
    await roles.role(rule("get", "pods"), namespace="shop")
    await roles.bind({"kind": "ServiceAccount", "name": "robot"}, namespace="shop")
    robot = User(name=account_name("shop", "robot"), groups=account_groups("shop"))
    stranger = User(name=account_name("other", "robot"), groups=account_groups("other"))

    decision = roles.rbac.decide(robot, GET_POD)

    assert decision == (True, 'RBAC: allowed by RoleBinding "b/shop" of Role "r" to ServiceAccount "robot/shop"')
    assert not roles.rbac.decide(stranger, GET_POD).allowed


async def test_a_role_that_is_not_there_is_told_of(roles: Roles):
    await roles.bind(user("jane"))
    await roles.bind(user("jane"), namespace="shop")

    decision = roles.rbac.decide(JANE, GET_POD)

    told = 'clusterrole.rbac.authorization.k8s.io "r" not found, role.rbac.authorization.k8s.io "r" not found'
    assert decision == (False, f"RBAC: [{told}]")


async def test_changes_of_roles_and_bindings_count_at_once(roles: Roles):
    await roles.role(rule("get", "pods"))
    await roles.bind(user("jane"))
    assert roles.allows("get", "pods")

    await roles.role(rule("list", "pods"))
    assert not roles.allows("get", "pods")

    await roles.bind(user("eve"))
    assert not roles.allows("list", "pods")


async def test_rights_are_those_of_the_store_as_it_was_put_back(roles: Roles):
    await roles.role(rule("get", "pods"))
    before = roles.store.snapshot()
    await roles.bind(user("jane"))
    assert roles.allows("get", "pods")

    roles.store.restore(before)
    roles.rbac.forget()

    assert not roles.allows("get", "pods")


async def test_all_rules_of_somebody_are_listed_with_what_could_not_be_found(roles: Roles):
    await roles.role(rule("get", "pods"), name="r")
    await roles.bind(user("jane"))
    await roles.bind(user("jane"), name="c", namespace="shop")

    found = roles.rbac.rules_for(JANE, "shop")

    assert found == ([rule("get", "pods")], [("Role", "r")])


async def test_masters_may_do_everything_in_every_mode():
    master = User(name="root", groups=("system:masters",))

    assert all(Authorizer(Store(), [mode]).decide(master, GET_POD) == (True, "") for mode in ("RBAC", "AlwaysDeny"))


async def test_modes_are_asked_one_after_the_other():
    assert Authorizer(Store(), ["RBAC", "AlwaysAllow"]).decide(JANE, GET_POD).allowed
    assert Authorizer(Store(), ["Node", "RBAC"]).decide(JANE, GET_POD) == (False, "")
    assert Authorizer(Store(), ["AlwaysDeny"]).decide(JANE, GET_POD) == (False, "Everything is forbidden.")


def test_modes_are_read_as_the_flag_takes_them():
    assert read_modes("Node,RBAC") == ("Node", "RBAC")
    assert read_modes(["AlwaysAllow"]) == ("AlwaysAllow",)
    with pytest.raises(ValueError, match="must be of AlwaysAllow, AlwaysDeny, Node, RBAC, not 'ABAC'"):
        read_modes("RBAC,ABAC")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            attributes_of("GET", "/api/v1/pods"),
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope',
        ),
        (
            attributes_of("PATCH", "/apis/apps/v1/namespaces/shop/deployments/d/scale"),
            'deployments.apps "d" is forbidden: User "jane" cannot patch resource "deployments/scale" '
            'in API group "apps" in the namespace "shop"',
        ),
        (attributes_of("GET", "/<a>&"), 'forbidden: User "jane" cannot get path "/&lt;a&gt;&amp;"'),
    ],
)
def test_a_refusal_names_who_cannot_do_what_where(attributes: Attributes, message: str):
    refusal = refused_request(JANE, attributes)

    assert (refusal.code, refusal.reason, refusal.message) == (403, "Forbidden", message)


def test_a_refusal_gives_the_reason_if_there_is_one():
    refusal = refused_request(JANE, attributes_of("GET", "/api/v1/namespaces/a/pods/p"), "RBAC: x not found")

    assert refusal.message.endswith('in the namespace "a": RBAC: x not found')
    assert refusal.details == {"name": "p", "kind": "pods"}

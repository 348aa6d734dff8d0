"""ClusterRoles gather the rules of others."""

from __future__ import annotations

from kubewright import Client, LabelSelector, MergePatch, Metadata
from kubewright.controlplane.cluster_roles import cluster_role_aggregation_loop
from kubewright.kinds.rbac_v1 import AggregationRule, ClusterRole, PolicyRule
from kubewright.testing import virtual_time, wait_idle
from tests.controlplane.clusters import loops_running

TO_VIEW = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}


def rule(resource: str) -> PolicyRule:
    return PolicyRule(api_groups=["shop.example.com"], resources=[resource], verbs=["get"])


def role(name: str, *rules: PolicyRule, labels: dict[str, str] | None = None) -> ClusterRole:
    return ClusterRole(metadata=Metadata(name=name, labels=labels or {}), rules=list(rules))


async def rules_of(client: Client, name: str) -> list[PolicyRule]:
    await wait_idle()
    return (await client.get(ClusterRole, name)).rules


@virtual_time()
async def test_a_role_with_the_label_is_gathered_into_view_edit_and_admin() -> None:
    async with loops_running(cluster_role_aggregation_loop()) as client:
        await client.create(role("shop-view", rule("orders"), labels=TO_VIEW))

        for name in ("view", "edit", "admin"):
            assert rule("orders") in await rules_of(client, name)
        assert rule("orders") not in await rules_of(client, "cluster-admin")


@virtual_time()
async def test_what_is_no_longer_selected_is_no_longer_gathered() -> None:
    async with loops_running(cluster_role_aggregation_loop()) as client:
        before = await rules_of(client, "view")
        made = await client.create(role("shop-view", rule("orders"), labels=TO_VIEW))
        await wait_idle()
        await client.patch(made, MergePatch({"metadata": {"labels": None}}))

        assert await rules_of(client, "view") == before


@virtual_time()
async def test_rules_are_gathered_once_in_the_order_of_names_and_never_from_itself() -> None:
    selector = LabelSelector(match_labels={"gather": "me"})
    async with loops_running(cluster_role_aggregation_loop()) as client:
        await client.create(role("b", rule("x"), rule("y"), labels={"gather": "me"}))
        await client.create(role("a", rule("y"), labels={"gather": "me"}))
        all_of_them = role("all", labels={"gather": "me"})
        all_of_them.aggregation_rule = AggregationRule(cluster_role_selectors=[selector])
        await client.create(all_of_them)

        assert await rules_of(client, "all") == [rule("y"), rule("x")]


@virtual_time()
async def test_the_rules_are_put_back_when_somebody_changes_them() -> None:
    async with loops_running(cluster_role_aggregation_loop()) as client:
        before = await rules_of(client, "view")
        await client.patch(ClusterRole, MergePatch({"rules": []}), name="view")

        assert await rules_of(client, "view") == before

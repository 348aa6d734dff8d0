"""The life of an operator: start order, leadership, background work, the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from kubewright import Background, Client, Context, Controller, InProcessTransport, Operator
from kubewright.cluster import Cluster
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.operator import install_crds
from kubewright.testing import elapse, embedded_server, running, virtual_time
from kubewright.testing.faults import Cut
from tests.controller.sites import Site, card, operator_of, site, write_card


async def nothing(obj: Site, ctx: Context) -> None:
    pass


@virtual_time()
async def test_resources_open_in_order_before_the_first_reconcile_and_close_in_reverse_after_the_last() -> None:
    log: list[str] = []

    def resource(name: str):
        @asynccontextmanager
        async def opened(cluster: Cluster) -> AsyncIterator[None]:
            log.append(f"open {name}")
            yield
            log.append(f"close {name}")

        return opened

    async def reconcile(obj: Site, ctx: Context) -> None:
        log.append("begin")
        await elapse(timedelta(seconds=5))
        log.append("end")

    operator = Operator("sites", [Controller(Site, reconcile)], lifespan=[resource("a"), resource("b")])
    async with running(operator) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))

    assert log == ["open a", "open b", "begin", "end", "close b", "close a"]


@virtual_time()
async def test_a_reconcile_that_does_not_end_in_time_is_cancelled_and_writes_no_status() -> None:
    cancelled: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        try:
            await elapse(timedelta(hours=1))
        except asyncio.CancelledError:
            cancelled.append(obj.name)
            raise

    operator = Operator("sites", [Controller(Site, reconcile, timeout=None)], grace=timedelta(seconds=10))
    async with embedded_server() as server:
        async with running(operator, server=server) as cluster:
            await cluster.client.create(site())
            await elapse(timedelta(seconds=1))
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun == pytest.approx(10, abs=1.5)
        async with Client(transport=InProcessTransport(server.handle)) as client:
            assert (await client.get(Site, "a")).status is None

    assert cancelled == ["a"]


@virtual_time()
async def test_background_work_runs_beside_the_controllers_and_begins_again_if_it_fails() -> None:
    begun = 0

    async def report(cluster: Cluster) -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise RuntimeError("boom")
        await cluster.client.create(card("report", "done"))

    async with running(Operator("sites", [], background=[Background(report)])) as cluster:
        await cluster.wait_until(ConfigMap, "report", lambda found: found.data == {"text": "done"})

    assert begun == 2


@virtual_time()
async def test_of_two_replicas_one_works_and_the_other_is_warm() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    async with embedded_server() as server:
        async with running(operator, server=server, identity="a") as first:
            await elapse(timedelta(seconds=1))
            async with running(operator, server=server, identity="b") as second:
                await first.client.create(site("x", text="hi"))
                await first.wait_until(ConfigMap, "x", lambda _: True)

                assert (first.operator.is_leader, second.operator.is_leader) == (True, False)
                assert [obj.name for obj in second.operator.cluster.cache.list(Site)] == ["x"]
                lease = await first.client.get(Lease, "sites")
                assert lease.spec.holder_identity == "a"


@virtual_time()
async def test_a_standby_takes_over_what_the_dead_leader_left() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    cut = Cut()
    async with embedded_server() as server, running(operator, server=server, identity="a", interceptors=[cut]) as first:
        await elapse(timedelta(seconds=1))
        async with running(operator, server=server, identity="b") as second:
            await elapse(timedelta(seconds=5))
            cut.cut()
            await second.client.create(site("x", text="hi"))

            await second.wait_until(ConfigMap, "x", lambda found: found.data == {"text": "hi"})

            assert second.operator.is_leader
            assert not first.operator.is_leader
        cut.mend()


@virtual_time()
async def test_a_replica_that_lost_the_lease_works_again_when_it_leads_again() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    cut = Cut()
    async with embedded_server() as server, running(operator, server=server, identity="a", interceptors=[cut]) as first:
        await elapse(timedelta(seconds=1))
        cut.cut()
        await elapse(timedelta(minutes=1))
        await first.client.create(site("x", text="hi"))
        assert not first.operator.is_leader
        cut.mend()

        await first.wait_until(ConfigMap, "x", lambda found: found.data == {"text": "hi"})


@virtual_time()
async def test_an_operator_can_run_twice_in_one_process() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    async with running(operator) as one, running(operator) as other:
        await one.client.create(site("x", text="hi"))
        await one.wait_until(ConfigMap, "x", lambda _: True)

        assert len(await other.client.list(Site)) == 0


@virtual_time()
async def test_only_the_named_namespaces_are_looked_at() -> None:
    from kubewright import Metadata
    from kubewright.kinds.core_v1 import Namespace

    operator = Operator("sites", [Controller(Site, write_card, owns=[ConfigMap])], namespaces=["here"])
    async with running(operator) as cluster:
        for name in ("here", "there"):
            await cluster.client.create(Namespace(metadata=Metadata(name=name)))
            made = site("x", text="hi")
            made.metadata.namespace = name
            await cluster.client.create(made)
        await cluster.wait_until(ConfigMap, "x", lambda _: True, namespace="here")
        await elapse(timedelta(minutes=1))

        found = await cluster.client.list(ConfigMap, namespace="there")

    assert [config.name for config in found if config.name == "x"] == []


@virtual_time()
async def test_a_crd_that_comes_later_is_seen_without_a_restart() -> None:
    operator = operator_of(write_card, owns=[ConfigMap])
    async with embedded_server() as server:
        client = Client(transport=InProcessTransport(server.handle))
        inside = Client(transport=InProcessTransport(server.handle))
        async with client, inside, operator.running(inside) as at_work:
            await elapse(timedelta(minutes=5))
            assert "informer-sites.tests.example.com" in at_work.ready_checks()
            assert at_work.ready_checks()["informer-sites.tests.example.com"] != ""
            await install_crds(client, operator)
            await client.create(site("x", text="hi"))

            await client.wait_until(ConfigMap, "x", lambda _: True, within=timedelta(minutes=2))

            assert set(at_work.ready_checks().values()) == {""}


def test_two_controllers_need_two_names() -> None:
    with pytest.raises(ValueError, match="two controllers are called 'site'; give one a name="):
        Operator("sites", [Controller(Site, nothing), Controller(Site, nothing)])


@pytest.mark.parametrize("name", ["", "Sites", "a_b", "x" * 64])
def test_a_name_that_kubernetes_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="an operator's name is lower-case"):
        Operator(name, [])


def test_rules_follow_from_the_controllers() -> None:
    operator = operator_of(nothing, owns=[ConfigMap])

    rules = {
        (group, resource): set(rule.verbs)
        for rule in operator.rules
        for group in rule.api_groups
        for resource in rule.resources
    }

    assert rules["tests.example.com", "sites"] == {"get", "list", "watch", "patch", "update"}
    assert rules["tests.example.com", "sites/status"] == {"get", "patch", "update"}
    assert rules["tests.example.com", "sites/finalizers"] == {"update"}
    assert rules["", "configmaps"] == {"get", "list", "watch", "create", "delete", "patch", "update"}
    assert rules["events.k8s.io", "events"] == {"create", "patch"}


@virtual_time()
async def test_metrics_have_the_names_that_dashboards_know() -> None:
    async with running(operator_of(write_card, owns=[ConfigMap]), identity="a") as cluster:
        await elapse(timedelta(seconds=3))
        await cluster.client.create(site("x", text="hi"))
        await cluster.wait_until(ConfigMap, "x", lambda _: True)
        await elapse(timedelta(seconds=1))

        text = cluster.operator.metrics.render()

    for line in (
        'controller_runtime_reconcile_total{controller="site",result="success"} 1',
        'controller_runtime_max_concurrent_reconciles{controller="site"} 1',
        'leader_election_master_status{name="sites"} 1',
        "workqueue_adds_total{",
        'rest_client_requests_total{method="PATCH",code="201"} 1',
    ):
        assert line in text, line

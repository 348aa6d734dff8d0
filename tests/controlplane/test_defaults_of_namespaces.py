"""What each namespace has from the start: its default ServiceAccount and the certificate of the API server."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright.api import Metadata
from kubewright.client import Client
from kubewright.controlplane.root_ca import root_ca_loop
from kubewright.controlplane.service_account import service_account_loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap, Namespace, ServiceAccount
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import refuse
from tests.controlplane.clusters import loops_running
from tests.controlplane.crashes import When, end_after_crash

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
CA = b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
ROOT = "kube-root-ca.crt"


async def shop(client: Client) -> Namespace:
    return await client.create(Namespace(metadata=Metadata(name="shop")))


async def root(client: Client) -> ConfigMap:
    return await client.get(ConfigMap, ROOT, namespace="shop")


@virtual_time()
async def test_each_namespace_has_a_default_account() -> None:
    async with loops_running(service_account_loop()) as client:
        await shop(client)

        await elapse(SECOND)

        account = await client.get(ServiceAccount, "default", namespace="shop")
        assert [entry.manager for entry in account.metadata.managed_fields] in ([], ["kube-controller-manager"])
        assert (await client.get(ServiceAccount, "default", namespace="kube-system")).name == "default"


@virtual_time()
async def test_a_default_account_that_is_deleted_comes_back() -> None:
    async with loops_running(service_account_loop()) as client:
        await shop(client)
        await elapse(SECOND)
        before = await client.get(ServiceAccount, "default", namespace="shop")

        await client.delete(before)
        await elapse(SECOND)

        after = await client.get(ServiceAccount, "default", namespace="shop")
        assert after.metadata.uid != before.metadata.uid


@virtual_time()
async def test_a_namespace_that_ends_gets_no_account() -> None:
    async with loops_running(service_account_loop()) as client:
        namespace = await shop(client)
        await elapse(SECOND)
        await client.delete(namespace)

        await client.delete(ServiceAccount, "default", namespace="shop")
        await elapse(MINUTE)

        with pytest.raises(NotFound):
            await client.get(ServiceAccount, "default", namespace="shop")


@virtual_time()
async def test_an_account_that_cannot_be_made_is_tried_again_without_an_event() -> None:
    fault = refuse(500, verb="create", kind=ServiceAccount, namespace="shop", times=3)
    async with loops_running(service_account_loop(), interceptors=[fault]) as client:
        await shop(client)

        await elapse(MINUTE)

        assert fault.struck == 3
        assert (await client.get(ServiceAccount, "default", namespace="shop")).name == "default"
        assert [event.reason for event in await client.list(Event)] == []


@virtual_time()
async def test_each_namespace_has_the_certificate_of_the_server() -> None:
    async with loops_running(root_ca_loop(CA)) as client:
        await shop(client)

        await elapse(SECOND)

        found = await root(client)
        assert found.data == {"ca.crt": CA.decode()}
        assert found.metadata.annotations["kubernetes.io/description"].startswith("Contains a CA bundle that can be")


@virtual_time()
async def test_a_certificate_that_is_changed_or_deleted_comes_back() -> None:
    async with loops_running(root_ca_loop(CA)) as client:
        await shop(client)
        await elapse(SECOND)
        changed = await root(client)
        changed.data = {"ca.crt": "mine", "other": "x"}
        await client.update(changed)
        await elapse(SECOND)
        assert (await root(client)).data == {"ca.crt": CA.decode()}

        changed = await root(client)
        changed.metadata.annotations.clear()
        await client.update(changed)
        await elapse(SECOND)
        assert "kubernetes.io/description" in (await root(client)).metadata.annotations

        await client.delete(await root(client))
        await elapse(SECOND)
        assert (await root(client)).data == {"ca.crt": CA.decode()}


@virtual_time()
async def test_a_namespace_that_ends_gets_no_certificate() -> None:
    async with loops_running(root_ca_loop(CA)) as client:
        namespace = await shop(client)
        await elapse(SECOND)
        await client.delete(namespace)

        await client.delete(await root(client))
        await elapse(MINUTE)

        with pytest.raises(NotFound):
            await root(client)


async def a_shop_opened(client: Client) -> None:
    await elapse(SECOND)
    await shop(client)


async def defaults(client: Client) -> list[object]:
    account = await client.get(ServiceAccount, "default", namespace="shop")
    return [account.name, (await root(client)).data]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, 11))
@virtual_time()
async def test_the_defaults_are_there_whichever_write_the_loops_die_at(n: int, when: When) -> None:
    found, died = await end_after_crash(
        lambda: [service_account_loop(), root_ca_loop(CA)], a_shop_opened, defaults, n=n, when=when
    )

    assert died
    assert found == ["default", {"ca.crt": CA.decode()}]

"""controller-runtime's own examples run as service accounts that may do what a generated role says, and no more."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Protocol

import aiohttp
import pytest

from conformance.objects import deployment
from conformance.peers.account import Account, Accounts
from conformance.peers.defined import define
from conformance.peers.go_programs import GoPrograms
from conformance.peers.logged import Logged, logged
from kubewright import Client, MergePatch, Metadata, Unstructured
from kubewright.errors import AlreadyExists
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.apps_v1 import ReplicaSet
from kubewright.kinds.core_v1 import ConfigMap, Namespace, Pod, Secret
from kubewright_apiserver.access import Authority

# Two at a time would want the same ports.
pytestmark = pytest.mark.xdist_group("controller-runtime")

# Where the examples listen, which cannot be changed: metrics, and webhooks.
_METRICS, _WEBHOOKS = 8080, 9443
_PAUSE = 0.1
_PATIENCE = 60.0
_FROM, _TO = "namespace-to-sync-all-secrets-from", "namespace-to-sync-all-secrets-to"

ChaosPod = Unstructured.of("chaosapps.metamagical.io/v1", "ChaosPod", plural="chaospods")
Ingress = Unstructured.of("networking.k8s.io/v1", "Ingress", plural="ingresses")


class Start(Protocol):
    """Starts an example as an account."""

    def __call__(self, name: str, account: Account) -> AbstractAsyncContextManager[Logged]:
        """The example while it runs."""


@pytest.fixture
def start(programs: GoPrograms, tmp_path: Path) -> Start:
    for port in (_METRICS, _WEBHOOKS):
        with socket.socket() as taken:
            if taken.connect_ex(("127.0.0.1", port)) == 0:
                pytest.skip(f"the examples listen on port {port}, which something else has")
    certificates = tmp_path / "k8s-webhook-server/serving-certs"
    certificates.mkdir(parents=True)
    pair = Authority().issue_server(["localhost"])
    (certificates / "tls.crt").write_bytes(pair.certificate)
    (certificates / "tls.key").write_bytes(pair.key)

    def begin(name: str, account: Account) -> AbstractAsyncContextManager[Logged]:
        return logged(programs.program(name), kubeconfig=account.kubeconfig, folder=tmp_path)

    return begin


def replica_set(name: str) -> Unstructured:
    return Unstructured.from_dict(deployment(name) | {"kind": "ReplicaSet"})


def is_greeted(found: ReplicaSet) -> bool:
    return found.metadata.labels.get("hello") == "world"


async def reconciled(controller: str, result: str = "success") -> float:
    """How often the running example has reconciled, with this result."""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{_METRICS}/metrics") as answer:
        text = await answer.text()
    name = f'controller_runtime_reconcile_total{{controller="{controller}",result="{result}"}}'
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def wait_reconciled(controller: str) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                if await reconciled(controller):
                    return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(_PAUSE)


async def test_builtins_labels_replica_sets(programs: GoPrograms, start: Start, accounts: Accounts, client: Client):
    account = await accounts.new("builtins", programs.roles("builtins"))
    await client.create(replica_set("listed"))

    async with start("builtins", account):
        await client.wait_until(ReplicaSet, "listed", is_greeted)
        await client.create(replica_set("watched"))
        found = await client.wait_until(ReplicaSet, "watched", is_greeted)

    assert [entry.manager for entry in found.metadata.managed_fields if entry.manager != "kubewright"] == ["builtins"]


async def test_builtins_waits_for_rights_that_it_does_not_have(
    programs: GoPrograms, start: Start, accounts: Accounts, client: Client
):
    account = await accounts.new("builtins")
    await client.create(replica_set("listed"))

    async with start("builtins", account) as example:
        await example.wait_for(
            'replicasets.apps is forbidden: User \\"system:serviceaccount:',
            'cannot list resource \\"replicasets\\" in API group \\"apps\\" at the cluster scope',
        )
        await example.wait_for('pods is forbidden: User \\"system:serviceaccount:')
        assert example.told("Starting workers") is None
        assert not is_greeted(await client.get(ReplicaSet, "listed"))

        await account.grant(*programs.roles("builtins"))
        await client.wait_until(ReplicaSet, "listed", is_greeted)


async def test_builtins_is_refused_the_verb_that_its_role_does_not_have(
    programs: GoPrograms, start: Start, accounts: Accounts, client: Client
):
    account = await accounts.new("builtins", programs.roles("builtins-reader"))
    await client.create(replica_set("listed"))

    async with start("builtins", account) as example:
        await example.wait_for(
            "could not write ReplicaSet",
            f'replicasets.apps \\"listed\\" is forbidden: User \\"{account.user}\\" cannot update resource '
            f'\\"replicasets\\" in API group \\"apps\\" in the namespace \\"{client.namespace}\\"',
        )

    assert not is_greeted(await client.get(ReplicaSet, "listed"))


@pytest.fixture
async def chaos_pods(programs: GoPrograms, client: Client) -> AsyncIterator[None]:
    """Chaos pods are served."""
    await define(client, programs.definition)
    yield
    await client.delete(CustomResourceDefinition, programs.definition["metadata"]["name"])


@pytest.mark.usefixtures("chaos_pods")
async def test_crd_makes_and_replaces_pods_of_chaos_pods(
    programs: GoPrograms, start: Start, accounts: Accounts, client: Client
):
    account = await accounts.new("crd", programs.roles("crd"))
    template = {"spec": {"containers": [{"name": "c", "image": "busybox"}]}}

    async with start("crd", account) as example:
        made = await client.create(
            ChaosPod(metadata=Metadata(name="a", namespace=client.namespace), content={"spec": {"template": template}})
        )
        pod = await client.wait_until(Pod, "a", lambda _: True)
        chaos = await client.wait_until(ChaosPod, "a", lambda found: "nextStop" in found["spec"])
        assert example.told("unable to") is None

        await client.patch(ChaosPod, MergePatch({"spec": {"nextStop": "2020-01-01T00:00:00Z"}}), name="a")
        await client.wait_until(Pod, "a", lambda found: found.metadata.uid != pod.metadata.uid)

    (owner,) = pod.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("ChaosPod", "a", made.metadata.uid, True)
    assert chaos["spec"]["template"]["spec"]["containers"] == [{"name": "c", "image": "busybox", "resources": {}}]


async def test_typed_reconciles_ingresses(programs: GoPrograms, start: Start, accounts: Accounts, client: Client):
    account = await accounts.new("typed", programs.roles("typed"))
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    spec = {"spec": {"defaultBackend": backend}}
    await client.create(Ingress(metadata=Metadata(name="i"), content=spec))

    async with start("typed", account):
        await wait_reconciled("ingress_controller")

        assert await reconciled("ingress_controller", "error") == 0


async def test_priorityqueue_reconciles_config_maps(
    programs: GoPrograms, start: Start, accounts: Accounts, client: Client
):
    account = await accounts.new("priorityqueue", programs.roles("priorityqueue"))
    await client.create(ConfigMap(metadata=Metadata(name="a")))

    async with start("priorityqueue", account) as example:
        line = await example.wait_for("Reconciling")

    assert '"controllerKind":"ConfigMap"' in line


async def test_multiclustersync_copies_secrets(programs: GoPrograms, start: Start, accounts: Accounts, client: Client):
    account = await accounts.new("multiclustersync", programs.roles("multiclustersync"))
    for name in (_FROM, _TO):
        with suppress(AlreadyExists):
            await client.create(Namespace(metadata=Metadata(name=name)))
    secret = Secret(metadata=Metadata(name=client.namespace, namespace=_FROM), data={"a": "MQ=="})

    async with start("multiclustersync", account):
        made = await client.create(secret)
        copy = await client.wait_until(Secret, secret.name, lambda _: True, namespace=_TO)
        await client.delete(made)
        await client.wait_gone(Secret, secret.name, namespace=_TO)

    assert copy.data == {"a": "MQ=="}

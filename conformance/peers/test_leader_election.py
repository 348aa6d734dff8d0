"""Replicas of an operator with controller-runtime elect a leader by a Lease, under roles that controller-gen made."""

from __future__ import annotations

import re
import socket
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from conformance.peers.account import Account, Accounts
from conformance.peers.go_programs import GoPrograms
from conformance.peers.logged import Logged, logged
from kubewright import Client, Metadata
from kubewright.kinds.coordination_v1 import Lease
from kubewright.kinds.core_v1 import ConfigMap, Event

_LEASE = timedelta(seconds=4)
_RETRY = timedelta(seconds=0.5)
_KEYS = "conformance.example.com/keys"
_LEADS = "Successfully acquired lease"


class Replicas:
    """Starts replicas of the operator, all as one account."""

    def __init__(self, program: Path, account: Account, namespace: str, folder: Path) -> None:
        self.account = account
        self._command = (program, "--namespace", namespace)
        self._folder = folder

    def start(self, *flags: str) -> AbstractAsyncContextManager[Logged]:
        """One more replica, while it runs."""
        return logged(*self._command, *flags, kubeconfig=self.account.kubeconfig, folder=self._folder)


@pytest.fixture
async def replicas(programs: GoPrograms, accounts: Accounts, client: Client, tmp_path: Path) -> Replicas:
    account = await accounts.new("counter", programs.roles("operator", "election", "metrics"))
    return Replicas(programs.program("operator"), account, client.namespace, tmp_path)


async def count(client: Client, name: str) -> ConfigMap:
    """A new ConfigMap once the operator has counted its keys."""
    await client.create(ConfigMap(metadata=Metadata(name=name, labels={"counted": "yes"}), data={"a": "1", "b": "2"}))
    return await client.wait_until(ConfigMap, name, lambda found: found.metadata.annotations.get(_KEYS) == "2")


async def test_one_replica_leads_and_the_other_takes_over_when_it_is_killed(replicas: Replicas, client: Client):
    async with replicas.start() as first:
        await first.wait_for(_LEADS)
        async with replicas.start() as second:
            await second.wait_for("Attempting to acquire leader lease")
            await count(client, "by-the-first")
            before = await client.get(Lease, "counter")
            assert second.told(_LEADS) is None
            assert second.told("Starting workers") is None

            await first.kill()
            await second.wait_for(_LEADS, within=2 * _LEASE.total_seconds())
            after = await client.get(Lease, "counter")
            await count(client, "by-the-second")

    identity = re.compile(re.escape(socket.gethostname()) + r"_[0-9a-f-]{36}")
    assert identity.fullmatch(before.spec.holder_identity or "")
    assert identity.fullmatch(after.spec.holder_identity or "")
    assert before.spec.holder_identity != after.spec.holder_identity
    assert (before.spec.lease_transitions, after.spec.lease_transitions) == (0, 1)
    assert before.spec.lease_duration_seconds == after.spec.lease_duration_seconds == _LEASE.total_seconds()
    assert before.spec.acquire_time is not None
    assert before.spec.renew_time is not None
    assert after.spec.acquire_time is not None
    assert before.spec.acquire_time <= before.spec.renew_time < after.spec.acquire_time
    assert after.spec.acquire_time - before.spec.renew_time >= _LEASE - _RETRY


async def test_the_leader_gives_the_lease_back_when_it_ends(replicas: Replicas, client: Client):
    async with replicas.start() as first, replicas.start() as second:
        await count(client, "counted")
        leader, other = (first, second) if first.told(_LEADS) else (second, first)

        await leader.terminate()
        await other.wait_for(_LEADS, within=_LEASE.total_seconds())


async def test_events_of_the_election_and_of_the_operator_are_recorded(replicas: Replicas, client: Client):
    async with replicas.start() as leader:
        await leader.wait_for(_LEADS)
        await count(client, "counted")

        found = {}
        async for change in client.watch(Event):
            if change.type == "ADDED":
                found[change.object.reason] = change.object
            if {"LeaderElection", "Counted"} <= found.keys():
                break

    assert found["LeaderElection"].involved_object.kind == "Lease"
    assert (found["LeaderElection"].message or "").endswith(" became leader")
    assert found["Counted"].involved_object.name == "counted"
    assert (found["Counted"].reporting_component, found["Counted"].action) == ("counter", "Count")


async def test_nobody_leads_without_a_right_to_leases(
    programs: GoPrograms, accounts: Accounts, client: Client, tmp_path: Path
):
    account = await accounts.new("counter", programs.roles("operator"))
    replicas = Replicas(programs.program("operator"), account, client.namespace, tmp_path)

    async with replicas.start() as replica:
        await replica.wait_for(
            f'leases.coordination.k8s.io \\"counter\\" is forbidden: User \\"{account.user}\\" cannot get resource'
        )

        assert replica.told(_LEADS) is None


async def test_metrics_are_for_those_whom_the_server_lets(programs: GoPrograms, accounts: Accounts, replicas: Replicas):
    stranger = await accounts.new("stranger")
    scraper = await accounts.new("scraper", programs.roles("scraper"))
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]

    async with replicas.start("--metrics", f"127.0.0.1:{port}") as replica:
        await replica.wait_for(_LEADS)
        await replica.wait_for("Serving metrics server")
        statuses = []
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:
            for token in ("", "x.y.z", stranger.token, scraper.token):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                async with session.get(f"https://127.0.0.1:{port}/metrics", headers=headers) as answer:
                    statuses.append(answer.status)

    # Whom the server does not know, controller-runtime cannot tell from a server that does not work.
    assert statuses == [401, 500, 403, 200]

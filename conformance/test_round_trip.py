"""On the real server: objects with every settable field, and all that a cluster has when it starts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from conformance.round_trip.coverage import all_fields, seen_fields
from conformance.round_trip.golden import MISSING
from conformance.round_trip.maker import FLAGS, RUNTIME_CONFIG, Made, listable, make_all
from conformance.round_trip.schema import schemas
from conformance.round_trip.typed import class_of, essence, read, typed_alone
from kubewright import Client, Config
from kubewright.api import Resource, base_of, encode, same
from kubewright.client import ALL_NAMESPACES
from kubewright.kinds.core_v1 import ServiceAccount
from kubewright.testing import RealControlPlane
from tests.real import require_binaries

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made() -> Made:
    """What the maker gets from a server on which every gate is open."""
    binaries = require_binaries()
    async with RealControlPlane(binaries=binaries, runtime_config=RUNTIME_CONFIG, flags=FLAGS) as plane:
        return await make_all(Config.from_kubeconfig(plane.kubeconfig))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster() -> AsyncIterator[Client]:
    """A client of a fresh cluster whose controllers have begun to work."""
    binaries = require_binaries(controller_manager=True, scheduler=True)
    plane = RealControlPlane(
        binaries=binaries,
        runtime_config="api/ga=true,api/beta=true",
        flags=["--feature-gates=AllBeta=true"],
        controller_manager=True,
        scheduler=True,
    )
    async with plane, Client(Config.from_kubeconfig(plane.kubeconfig)) as client:
        async with asyncio.timeout(60):
            await wait_for_service_account(client)
        yield client


async def wait_for_service_account(client: Client) -> None:
    async for event in client.watch(ServiceAccount, namespace="kube-system"):
        if event.object.name == "default":
            return


async def test_server_takes_every_field_but_those_listed_as_missing(made: Made):
    unseen = all_fields(schemas()) - seen_fields(schemas(), [*made.bootstrap, *made.objects])

    assert {str(field) for field in unseen} <= json.loads(MISSING.read_text()).keys()


async def test_objects_that_the_server_takes_are_the_same_after_decode_and_encode(made: Made):
    for document in [*made.bootstrap, *made.objects]:
        check(read(document), document)


async def test_every_object_of_a_bootstrap_is_the_same_after_decode_and_encode(cluster: Client):
    for resource in listable():
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        listed = await cluster.list(class_of(resource.api_version, resource.kind), namespace=ALL_NAMESPACES)

        assert listed.undecodable == []
        for obj in listed:
            check(obj, {**head, **msgspec.json.decode(base_of(obj) or b"")})


def check(obj: Resource, document: dict[str, Any]) -> None:
    assert same(msgspec.json.decode(encode(obj)), document)
    assert same(essence(typed_alone(obj)), essence(document))

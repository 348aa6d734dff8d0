"""Kinds and namespaces that go while the operator runs, and come again."""

from __future__ import annotations

from datetime import timedelta

from kubewright import Client, Metadata
from kubewright.crd import crd_of
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import ConfigMap, Namespace
from kubewright.testing import elapse, virtual_time
from tests.loop.reference import Flock, FlockSpec, Garden, GardenSpec, flock, garden
from tests.loop.world import world

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@virtual_time()
async def test_the_operator_goes_on_with_a_kind_that_was_removed_and_installed_again() -> None:
    async with world() as place:
        await place.client.create(flock(size=2))
        await place.client.create(garden())
        await place.wait_converged()
        await place.client.delete(CustomResourceDefinition, "flocks.tests.example.com")
        await elapse(SECOND)
        tried = await place.requests_during(10 * MINUTE)
        await place.client.create(garden("meanwhile"))
        await elapse(SECOND)
        await place.client.apply(crd_of(Flock), force=True)
        await elapse(SECOND)
        await place.client.create(flock(size=4))

        await place.wait_converged(within=2 * MINUTE)

        assert tried < 60


@virtual_time()
async def test_the_others_do_not_notice_that_a_kind_is_missing() -> None:
    async with world() as place:
        await place.client.create(flock(size=2))
        await place.wait_converged()
        await place.client.delete(CustomResourceDefinition, "flocks.tests.example.com")
        await place.client.create(garden())

        found = await place.cluster.wait_until(Garden, "a", lambda obj: obj.status is not None, within=10 * SECOND)

        assert found.status is not None
        assert found.status.is_true("Ready")
        assert place.cluster.operator.ready_checks()["informer-flocks.tests.example.com"] != ""


async def finish(client: Client, name: str) -> None:
    """What the namespace controller does: delete all that is in it, then let it go."""
    there = client.using(namespace=name)
    for kind in (Flock, Garden, ConfigMap):
        await there.delete_all(kind)
    await elapse(5 * SECOND)
    namespace = await client.get(Namespace, name)
    namespace.spec.finalizers = []
    await client.replace(namespace, subresource="finalize")


@virtual_time()
async def test_an_operator_whose_namespace_is_deleted_under_it_calms_down_and_works_elsewhere() -> None:
    async with world() as place:
        await place.client.create(Namespace(metadata=Metadata(name="doomed")))
        there = place.client.using(namespace="doomed")
        await there.create(Flock(metadata=Metadata(name="a"), spec=FlockSpec(size=2)))
        await there.create(Garden(metadata=Metadata(name="a"), spec=GardenSpec(text="hi")))
        await elapse(SECOND)
        await place.client.delete(Namespace, "doomed")
        await there.modify(Flock, "a", lambda obj: setattr(obj.spec, "size", 5))
        await there.delete(ConfigMap, "a-card")
        refused = await place.requests_during(10 * MINUTE)
        await finish(place.client, "doomed")
        await elapse(5 * MINUTE)
        calm = await place.requests_during(10 * MINUTE)
        await place.client.create(flock("elsewhere", size=2))

        await place.wait_converged(within=MINUTE)

        assert refused < 200
        assert calm < 30
        assert place.outside.records == {}
        assert [obj.name async for obj in place.client.list(Namespace) if obj.name == "doomed"] == []

"""ReplicaSet's own parts: expectations, and claiming by selector."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright import Client, Context, InProcessTransport, Key, LabelSelector, Metadata
from kubewright.cache import Cache, Change
from kubewright.controller import Expectations, Wake, claim, slow_start
from kubewright.errors import ApiStatus, ConnectError, RequestTimeout, ServerTimeout
from kubewright.kinds.core_v1 import ConfigMap, Container, Pod, PodSpec
from kubewright.testing import elapse, embedded_server, running, virtual_time
from kubewright.testing.faults import delay_events
from tests.controller.sites import Site, operator_of, site

OWNER = Key("default", "a")


def pod(name: str, **labels: str) -> Pod:
    container = Container(name="main", image="busybox")
    return Pod(metadata=Metadata(name=name, labels=labels), spec=PodSpec(containers=[container]))


async def test_nothing_awaited_is_met() -> None:
    assert Expectations(Site, Pod).are_met(OWNER)


async def test_creations_are_awaited_until_taken_back() -> None:
    expectations = Expectations(Site, Pod)
    expectations.expect_creations(OWNER, 2)
    assert not expectations.are_met(OWNER)
    expectations.creation_failed(OWNER)
    assert not expectations.are_met(OWNER)
    expectations.creation_failed(OWNER)

    assert expectations.are_met(OWNER)


async def test_deletions_are_awaited_by_key() -> None:
    expectations = Expectations(Site, Pod)
    expectations.expect_deletions(OWNER, [Key("default", "x"), Key("default", "y")])
    expectations.deletion_failed(OWNER, Key("default", "x"))
    expectations.deletion_failed(OWNER, Key("default", "x"))
    assert not expectations.are_met(OWNER)
    expectations.deletion_failed(OWNER, Key("default", "y"))

    assert expectations.are_met(OWNER)


@virtual_time()
async def test_what_never_comes_is_forgotten_after_a_while() -> None:
    expectations = Expectations(Site, Pod)
    expectations.expect_creations(OWNER, 1)
    await elapse(timedelta(minutes=4))
    assert not expectations.are_met(OWNER)
    await elapse(timedelta(minutes=2))

    assert expectations.are_met(OWNER)


class Seen:
    """A source that knows what the watch has told, without the operator's own writes: a cache as Go's is."""

    kinds = (Pod,)

    def __init__(self) -> None:
        self.pods: set[Key] = set()

    async def run(self, wake: Wake, cache: Cache) -> None:
        def see(change: Change[Pod]) -> None:
            (self.pods.discard if change.type == "deleted" else self.pods.add)(change.key)

        handler = cache.informer(Pod).add_handler(see)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            handler.remove()


@virtual_time()
async def test_a_lagging_cache_makes_no_double_pods() -> None:
    """The controller reads only what the watch has told, as ReplicaSet's does, and that comes a second late."""
    expectations = Expectations(Site, Pod)
    seen = Seen()
    created = 0

    async def reconcile(obj: Site, ctx: Context) -> None:
        nonlocal created
        if not expectations.are_met(obj.key):
            return
        missing = (obj.spec.size or 0) - len(seen.pods)
        if missing <= 0:
            return
        expectations.expect_creations(obj.key, missing)

        async def make(number: int) -> None:
            nonlocal created
            twin = pod("")
            twin.metadata.generate_name = f"{obj.name}-"
            await ctx.create(twin)
            created += 1

        made, failure = await slow_start(missing, make)
        expectations.creation_failed(obj.key, missing - made)
        if failure is not None:
            raise failure

    slow = delay_events(timedelta(seconds=1), kind=Pod)
    operator = operator_of(reconcile, owns=[Pod], sources=[seen, expectations])
    async with running(operator, interceptors=[slow]) as cluster:
        await cluster.client.create(site("a", size=3))
        for number in range(20):
            await cluster.client.modify(Site, "a", lambda obj, n=number: setattr(obj.spec, "text", str(n)))  # type: ignore[misc]
            await elapse(timedelta(milliseconds=100))
        await elapse(timedelta(seconds=10))

        assert created == 3
        assert len(await cluster.client.list(Pod)) == 3
        assert expectations.are_met(OWNER)


@virtual_time()
async def test_a_creation_that_is_taken_back_does_not_cut_the_wait_after_a_failure_short() -> None:
    expectations = Expectations(Site, Pod)
    rounds = 0

    async def reconcile(obj: Site, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        expectations.expect_creations(obj.key, 1)
        expectations.creation_failed(obj.key)
        raise RuntimeError("full")

    async with running(operator_of(reconcile, owns=[Pod], sources=[expectations])) as cluster:
        await cluster.client.create(site("a"))
        await elapse(timedelta(seconds=10))

        assert 5 < rounds < 20


@virtual_time()
async def test_orphans_that_match_are_adopted_and_own_ones_that_do_not_are_released() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        owner = await client.create(ConfigMap(metadata=Metadata(name="owner")))
        other = await client.create(ConfigMap(metadata=Metadata(name="other")))
        orphan, stray, foreign, unrelated = pod("orphan", app="x"), pod("stray"), pod("foreign", app="x"), pod("u")
        stray.metadata.owner_references = [owner.owner_reference]
        foreign.metadata.owner_references = [other.owner_reference]
        pods = [await client.create(each) for each in (orphan, stray, foreign, unrelated)]

        claimed = await claim(client, owner, pods, LabelSelector(match_labels={"app": "x"}))

        assert [found.name for found in claimed] == ["orphan"]
        assert (await client.get(Pod, "orphan")).is_controlled_by(owner)
        assert (await client.get(Pod, "stray")).controller_reference is None
        assert (await client.get(Pod, "foreign")).is_controlled_by(other)


@virtual_time()
async def test_an_owner_that_was_replaced_by_a_namesake_adopts_nothing() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        owner = await client.create(ConfigMap(metadata=Metadata(name="owner")))
        await client.delete(ConfigMap, "owner")
        await client.create(ConfigMap(metadata=Metadata(name="owner")))
        orphan = await client.create(pod("orphan", app="x"))

        assert await claim(client, owner, [orphan], LabelSelector(match_labels={"app": "x"})) == []
        assert (await client.get(Pod, "orphan")).controller_reference is None


@virtual_time()
async def test_children_are_made_with_a_slow_start_and_what_was_not_made_is_not_awaited() -> None:
    expectations = Expectations(Site, Pod)
    calls = 0

    async def refuse_after_two() -> None:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise RuntimeError("the quota is used up")

    with pytest.raises(RuntimeError, match="quota"):
        await expectations.create(site(), 10, refuse_after_two)

    assert calls == 3
    assert not expectations.are_met(Key("", "a"))
    expectations.creation_failed(Key("", "a"), 2)
    assert expectations.are_met(Key("", "a"))


@pytest.mark.parametrize(
    ("error", "is_awaited"),
    [(RequestTimeout("no answer"), True), (ConnectError("refused"), False), (ServerTimeout(ApiStatus(code=504)), True)],
)
@virtual_time()
async def test_a_creation_whose_answer_was_lost_stays_awaited(error: Exception, is_awaited: bool) -> None:
    expectations = Expectations(Site, Pod)

    async def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        await expectations.create(site(), 1, fail)

    assert expectations.are_met(Key("", "a")) is not is_awaited


@virtual_time()
async def test_no_more_than_a_burst_is_made_or_deleted_at_once() -> None:
    expectations = Expectations(Site, Pod)
    calls: list[str] = []

    async def call(child: Pod | None = None) -> None:
        calls.append("create" if child is None else "delete")

    made = await expectations.create(site(), 10, call, burst=3)
    deleted = await expectations.delete(site(), [pod(f"p{number}") for number in range(5)], call, burst=2)

    assert (made, deleted) == (3, 2)
    assert calls == ["create"] * 3 + ["delete"] * 2


@virtual_time()
async def test_of_children_that_are_deleted_only_those_that_went_are_awaited() -> None:
    expectations = Expectations(Site, Pod)

    async def delete(child: Pod) -> None:
        if child.name == "held":
            raise RuntimeError("held")

    with pytest.raises(RuntimeError, match="held"):
        await expectations.delete(site(), [pod("held"), pod("gone")], delete)

    assert not expectations.are_met(Key("", "a"))
    expectations.deletion_failed(Key("", "a"), Key("", "gone"))
    assert expectations.are_met(Key("", "a"))

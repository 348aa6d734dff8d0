"""User code that raises, hangs, or blocks: it is told, tried again, and harms nobody else."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kubewright import Context, Controller, Key, Metadata, Operator
from kubewright.cache import Cache, Change
from kubewright.client import Request, Response, Send
from kubewright.controller import Predicate, Watch
from kubewright.errors import LeadershipLost
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.operator import Cached
from kubewright.operator.watchdog import watching_the_loop
from kubewright.testing import elapse, running, virtual_time
from kubewright.testing.faults import Fault, refuse
from tests.loop.reference import Garden, GardenStatus, garden
from tests.loop.world import Network, gardening

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Nameless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("an error that cannot be told")


def leave_nonsense(obj: Garden) -> None:
    obj.status = "nonsense"  # type: ignore[assignment]


def raise_nameless(obj: Garden) -> None:
    raise Nameless


def raise_cancelled(obj: Garden) -> None:
    raise asyncio.CancelledError


def raise_group(obj: Garden) -> None:
    raise ExceptionGroup("several", [ValueError("one"), ValueError("two")])


@pytest.mark.parametrize("misbehave", [leave_nonsense, raise_nameless, raise_cancelled, raise_group])
@virtual_time()
async def test_a_worker_survives_and_tries_again_whatever_reconcile_does(misbehave: Callable[[Garden], None]) -> None:
    network, healed = Network(), False

    async def reconcile(obj: Garden, ctx: Context) -> None:
        if obj.name == "bad" and not healed:
            misbehave(obj)
        await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name)))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden("bad"))
        await elapse(5 * MINUTE)
        assert len(network.begun) < 100
        await cluster.client.create(garden("good"))
        await cluster.wait_until(ConfigMap, "good", lambda _: True)
        healed = True

        await cluster.wait_until(ConfigMap, "bad", lambda _: True, within=10 * MINUTE)


@virtual_time()
async def test_a_reconcile_that_hangs_holds_up_only_its_own_object() -> None:
    async def reconcile(obj: Garden, ctx: Context) -> None:
        if obj.name == "bad":
            await asyncio.Event().wait()
        await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name)))

    async with gardening(reconcile, owns=[ConfigMap], workers=2, timeout=MINUTE) as cluster:
        await cluster.client.create(garden("bad"))
        await cluster.client.create(garden("good"))
        await cluster.wait_until(ConfigMap, "good", lambda _: True, within=SECOND)
        bad = await cluster.wait_until(Garden, "bad", lambda obj: obj.status is not None, within=2 * MINUTE)

    assert bad.status is not None
    condition = bad.status.get("Ready")
    assert condition is not None
    assert condition.reason == "ReconcileTimedOut"


@virtual_time()
async def test_a_hanging_reconcile_is_cut_off_at_the_end_after_the_grace_and_leaves_no_status() -> None:
    network, ended = Network(), False

    async def reconcile(obj: Garden, ctx: Context) -> None:
        nonlocal ended
        obj.status = GardenStatus(text="half done")
        try:
            await asyncio.Event().wait()
        finally:
            ended = True

    operator = Operator("gardens", [Controller(Garden, reconcile, timeout=None)], grace=10 * SECOND)
    loop = asyncio.get_running_loop()
    async with running(operator, interceptors=[network]) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)
        begun = loop.time()

    assert ended
    assert 10 <= loop.time() - begun < 12
    assert [sent for sent in network.writes if sent.subresource == "status"] == []


@virtual_time()
async def test_a_reconcile_that_ends_within_the_grace_writes_its_status() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        await elapse(5 * SECOND)
        obj.status = GardenStatus(text="done")

    async with gardening(reconcile, network) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)

    assert len([sent for sent in network.writes if sent.subresource == "status"]) == 1


@virtual_time()
async def test_a_reconcile_that_refuses_to_be_cancelled_does_not_keep_the_operator_from_ending(
    caplog: pytest.LogCaptureFixture,
) -> None:
    released = asyncio.Event()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    loop = asyncio.get_running_loop()
    operator = Operator("gardens", [Controller(Garden, reconcile, timeout=None)], grace=10 * SECOND)
    async with running(operator) as cluster:
        await cluster.client.create(garden())
        await elapse(SECOND)
        begun = loop.time()
    assert loop.time() - begun < 30
    released.set()
    await elapse(SECOND)

    assert "does not end although it was cancelled" in caplog.text


def broken(change: Change[Any]) -> bool:
    raise RuntimeError("a predicate that is broken")


@virtual_time()
async def test_a_predicate_that_raises_is_logged_and_lets_the_change_pass(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(obj: Garden, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name)))

    predicates = [Predicate("broken", broken)]
    async with gardening(reconcile, owns=[ConfigMap], predicates=predicates) as cluster:
        await cluster.client.create(garden())
        await cluster.wait_until(ConfigMap, "a", lambda _: True)
        metrics = cluster.operator.metrics.render()

    assert "a predicate that is broken" in caplog.text
    assert 'kubewright_cache_handler_errors_total{resource="gardens.tests.example.com"} 1' in metrics


@virtual_time()
async def test_a_mapping_that_raises_on_the_old_object_is_still_asked_about_the_new(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[str] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        found = ctx.cache.get(ConfigMap, "config")
        seen.append(found.data["for"] if found is not None else "")

    def gardens_of(config: ConfigMap, cache: Cache) -> list[Key]:
        return [Key(config.namespace, {"garden a": "a"}[config.data["for"]])]

    async with gardening(reconcile, watches=[Watch(ConfigMap, gardens_of)]) as cluster:
        await cluster.client.create(garden())
        await cluster.client.create(ConfigMap(metadata=Metadata(name="config"), data={"for": "nobody known"}))
        await elapse(SECOND)
        await cluster.client.modify(ConfigMap, "config", lambda config: config.data.update({"for": "garden a"}))
        await elapse(SECOND)
        await cluster.client.modify(ConfigMap, "config", lambda config: config.data.update({"for": "nobody again"}))
        await elapse(SECOND)

    assert seen == ["", "garden a", "nobody again"]
    assert caplog.text.count("KeyError: 'nobody known'") == 2


@virtual_time()
async def test_an_index_that_raises_is_logged_and_the_object_is_found_otherwise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[tuple[int, int]] = []

    async def reconcile(obj: Garden, ctx: Context) -> None:
        by_color = ctx.cache.list(ConfigMap, where={"color": "red"})
        seen.append((len(ctx.cache.list(ConfigMap)), len(by_color)))

    def color_of(config: ConfigMap) -> list[str]:
        return [config.data["color"]]

    controller = Controller(Garden, reconcile, reads=[ConfigMap])
    operator = Operator("gardens", [controller], cached=[Cached(ConfigMap, indexes={"color": color_of})])
    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="one"), data={"color": "red"}))
        await cluster.client.create(ConfigMap(metadata=Metadata(name="two"), data={}))
        await elapse(SECOND)
        await cluster.client.create(garden())
        await elapse(SECOND)

    assert seen == [(2, 1)]
    assert "the index 'color' failed on ConfigMap default/two" in caplog.text


async def test_code_that_blocks_the_loop_is_told_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "the event loop has not turned" in record.getMessage():
                told.set()

    async def the_culprit() -> bool:
        return told.wait(timeout=10)

    listener = Listener()
    logging.getLogger("kubewright.operator").addHandler(listener)
    try:
        with watching_the_loop(timedelta(milliseconds=50)):
            was_told = await the_culprit()
    finally:
        logging.getLogger("kubewright.operator").removeHandler(listener)

    assert was_told
    assert "in the_culprit" in caplog.text
    assert "told.wait(timeout=10)" in caplog.text
    assert "use ctx.in_thread" in caplog.text


@virtual_time()
async def test_a_conflict_in_a_task_group_is_no_failure_either() -> None:
    network = Network()

    async def reconcile(obj: Garden, ctx: Context) -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("one", "two"):
                group.create_task(ctx.apply(ConfigMap(metadata=Metadata(name=name))))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        with network.having(refuse(409, verb="apply", times=2)):
            await cluster.client.create(garden())
            await cluster.wait_until(ConfigMap, "two", lambda _: True, within=10 * SECOND)
        found = await cluster.wait_until(Garden, "a", lambda obj: obj.status is not None)

    assert found.status is not None
    assert found.status.get("Ready") is None


@virtual_time()
async def test_several_failures_in_a_task_group_are_told_one_by_one() -> None:
    async def reconcile(obj: Garden, ctx: Context) -> None:
        raise_group(obj)

    async with gardening(reconcile) as cluster:
        await cluster.client.create(garden())
        found = await cluster.wait_until(Garden, "a", lambda obj: obj.status is not None)

    assert found.status is not None
    condition = found.status.get("Ready")
    assert condition is not None
    assert condition.message == "ValueError: one; ValueError: two; next try in 1 s"


@virtual_time()
async def test_a_write_that_was_refused_for_want_of_leadership_is_tried_again_if_the_lead_lasts() -> None:
    async def refuse_to_begin(request: Request, send: Send) -> Response:
        raise LeadershipLost("not renewed in time")

    network = Network(Fault(refuse_to_begin, verb="apply", times=1))

    async def reconcile(obj: Garden, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name)))

    async with gardening(reconcile, network, owns=[ConfigMap]) as cluster:
        await cluster.client.create(garden())

        await cluster.wait_until(ConfigMap, "a", lambda _: True, within=10 * SECOND)

    assert [sent.subresource for sent in network.writes if sent.kind == "Garden"] == ["status"]

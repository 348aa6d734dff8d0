"""What a reconcile gets and what becomes of what it returns, raises and leaves."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta

import pytest

from kubewright import Context, Controller, Operator, Terminal
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, running, virtual_time
from kubewright.testing.faults import refuse
from tests.controller.sites import Site, SiteStatus, card, operator_of, site, write_card


@virtual_time()
async def test_an_object_is_reconciled_when_it_comes_and_when_it_changes() -> None:
    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi"})
        await cluster.client.modify(Site, "a", lambda obj: setattr(obj.spec, "text", "bye"))

        await cluster.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "bye"})


@virtual_time()
async def test_objects_that_were_there_before_are_reconciled_at_the_start() -> None:
    async with running(operator_of(write_card, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await cluster.wait_until(ConfigMap, "a", lambda _: True)
        server = cluster.server
        await cluster.client.delete(ConfigMap, "a")
        await elapse(timedelta(seconds=1))
        again = running(operator_of(write_card, owns=[ConfigMap]), server=server)
        async with again as second:
            await second.wait_until(ConfigMap, "a", lambda found: found.data == {"text": "hi"})


@virtual_time()
async def test_the_objects_spec_is_a_private_copy() -> None:
    seen: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        seen.append(obj.spec.text)
        obj.spec.text = "spoilt"

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site(text="hi"))
        await elapse(timedelta(seconds=1))
        await cluster.client.modify(Site, "a", lambda obj: obj.metadata.labels.update(look="again"))
        await elapse(timedelta(seconds=1))

        assert seen == ["hi", "hi"]
        assert (await cluster.client.get(Site, "a")).spec.text == "hi"


@virtual_time()
async def test_a_change_of_the_spec_that_is_not_sent_is_told_with_its_field(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        obj.spec.text = "spoilt"

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site(text="hi"))
        await elapse(timedelta(seconds=1))

    assert 'Site "default/a": reconcile changed spec.text in memory, and that is not sent' in caplog.text


@virtual_time()
async def test_a_timedelta_lets_it_look_again_after_that_time() -> None:
    times: list[float] = []

    async def reconcile(obj: Site, ctx: Context) -> timedelta | None:
        times.append(asyncio.get_running_loop().time())
        return timedelta(seconds=30) if len(times) < 3 else None

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=4))

    assert [round(later - earlier) for earlier, later in itertools.pairwise(times)] == [30, 30]


@virtual_time()
async def test_a_settled_object_is_left_alone_until_the_resync() -> None:
    rounds: list[tuple[str, ...]] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        rounds.append(ctx.reasons)

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=2))
        assert rounds == [("added",)]
        await elapse(timedelta(minutes=6))

    assert rounds[1] == ("resync",)


@virtual_time()
async def test_what_it_leaves_in_the_status_is_written_with_the_observed_generation() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        obj.status = obj.status or SiteStatus()
        obj.status.seen = obj.spec.text

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site(text="hi"))

        found = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None and obj.status.seen == "hi")

        assert found.status is not None
        assert found.status.observed_generation == 1


@virtual_time()
async def test_its_own_writes_do_not_wake_it_again() -> None:
    rounds = 0

    async def reconcile(obj: Site, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        obj.status = obj.status or SiteStatus()
        obj.status.rounds = rounds
        await write_card(obj, ctx)

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        await elapse(timedelta(minutes=1))

    assert rounds == 1


@virtual_time()
async def test_an_exception_is_tried_again_with_longer_and_longer_waits() -> None:
    times: list[float] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        times.append(asyncio.get_running_loop().time())
        raise RuntimeError("boom")

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=2))

    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(waits) > 8
    assert all(later > 1.5 * earlier for earlier, later in itertools.pairwise(waits))


@virtual_time()
async def test_a_failure_stands_in_the_ready_condition_and_goes_when_it_succeeds() -> None:
    healthy = False

    async def reconcile(obj: Site, ctx: Context) -> None:
        if not healthy:
            raise RuntimeError("boom")

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        failed = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None)
        assert failed.status is not None
        condition = failed.status.get("Ready")
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "ReconcileFailed")
        assert condition.message == "RuntimeError: boom; next try in 1 s"
        assert failed.status.observed_generation is None

        healthy = True
        mended = await cluster.wait_until(
            Site, "a", lambda obj: obj.status is not None and obj.status.is_true("Ready"), within=timedelta(minutes=10)
        )

        assert mended.status is not None
        assert mended.status.observed_generation == 1


@virtual_time()
async def test_a_failure_makes_one_warning_event_however_often_it_is_tried() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        raise RuntimeError("boom")

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=2))

        events = [event async for event in cluster.client.list(Event)]

    assert [(event.type, event.reason, event.note) for event in events] == [
        ("Warning", "ReconcileFailed", "RuntimeError: boom")
    ]
    assert events[0].regarding.name == "a"
    assert events[0].series is None


@virtual_time()
async def test_terminal_waits_for_the_next_change() -> None:
    rounds = 0

    async def reconcile(obj: Site, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        raise Terminal("size must not be negative")

    async with running(operator_of(reconcile)) as cluster:
        created = await cluster.client.create(site())
        await elapse(timedelta(minutes=2))
        assert rounds == 1
        found = await cluster.client.get(Site, "a")
        assert found.status is not None
        condition = found.status.get("Ready")
        assert condition is not None
        assert (condition.reason, condition.message) == ("ReconcileRefused", "size must not be negative")
        assert found.status.observed_generation == 1
        found.spec.text = "other"
        await cluster.client.update(found)
        await elapse(timedelta(seconds=1))

    assert rounds == 2
    assert created.metadata.generation == 1


@virtual_time()
async def test_a_reconcile_that_takes_too_long_is_cut_off_and_tried_again() -> None:
    rounds = 0

    async def reconcile(obj: Site, ctx: Context) -> None:
        nonlocal rounds
        rounds += 1
        if rounds == 1:
            await elapse(timedelta(seconds=3600))

    async with running(operator_of(reconcile, timeout=timedelta(seconds=10))) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=10.001))
        found = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None)
        assert found.status is not None
        condition = found.status.get("Ready")
        assert condition is not None
        assert condition.reason in ("ReconcileTimedOut", "Reconciled")
        await elapse(timedelta(seconds=1))
        text = cluster.operator.metrics.render()

    assert rounds == 2
    assert 'controller_runtime_reconcile_timeouts_total{controller="site"} 1' in text


@virtual_time()
async def test_a_result_that_is_neither_none_nor_a_positive_timedelta_is_an_error() -> None:
    async def reconcile(obj: Site, ctx: Context) -> timedelta | None:
        return timedelta(0)

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        found = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None)

    assert found.status is not None
    condition = found.status.get("Ready")
    assert condition is not None
    assert "return None (settled) or a positive timedelta" in condition.message


@virtual_time()
async def test_tasks_left_behind_are_cancelled_and_background_ones_are_not() -> None:
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await elapse(timedelta(seconds=60))
            ended.append(f"{name} done")
        except asyncio.CancelledError:
            ended.append(f"{name} cancelled")
            raise

    async def reconcile(obj: Site, ctx: Context) -> None:
        ctx.background(work("background"))
        obj.__dict__["stray"] = asyncio.create_task(work("stray"))
        await asyncio.sleep(0)

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(minutes=2))

    assert ended == ["stray cancelled", "background done"]


@virtual_time()
async def test_reasons_say_what_changed() -> None:
    reasons: list[tuple[str, ...]] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        reasons.append(ctx.reasons)
        await write_card(obj, ctx)

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site(text="hi"))
        found = await cluster.wait_until(ConfigMap, "a", lambda _: True)
        found.data["text"] = "spoilt"
        await cluster.client.update(found)
        await cluster.wait_until(ConfigMap, "a", lambda card: card.data["text"] == "hi")
        await elapse(timedelta(seconds=1))

    assert reasons == [("added",), ("ConfigMap default/a updated",)]


@virtual_time()
async def test_an_object_that_is_gone_never_reaches_reconcile() -> None:
    seen: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        seen.append(obj.name)

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await elapse(timedelta(seconds=1))
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(minutes=10))
        with pytest.raises(NotFound):
            await cluster.client.get(Site, "a")

    assert seen == ["a"]


@virtual_time()
async def test_a_controller_without_a_ready_condition_makes_no_events_of_failures() -> None:
    async def reconcile(obj: ConfigMap, ctx: Context) -> None:
        raise ValueError("no")

    for condition, expected in (("Ready", ["ReconcileFailed"]), (None, [])):
        operator = Operator("maps", [Controller(ConfigMap, reconcile, ready_condition=condition)])
        async with running(operator) as cluster:
            await cluster.client.create(card("a", "x"))
            await elapse(timedelta(seconds=1))

            assert [event.reason for event in await cluster.client.list(Event)] == expected


@virtual_time()
async def test_a_status_is_sent_whole_for_those_who_may_not_patch_it() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        obj.status = obj.status or SiteStatus()
        obj.status.seen = obj.spec.text

    operator = operator_of(reconcile, replaces_status=True)
    async with running(operator, interceptors=[refuse(403, verb="patch")]) as cluster:
        await cluster.client.create(site("a", text="x"))
        found = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None and obj.status.seen == "x")

        assert found.status is not None
        assert found.status.observed_generation == 1


@virtual_time()
async def test_the_end_of_a_failure_is_told_although_the_condition_is_the_reconciles_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")

    async def reconcile(obj: Site, ctx: Context) -> None:
        obj.status = obj.status or SiteStatus()
        obj.status.set("Ready", True, reason="Serving")
        if ctx.attempt < 5:
            raise RuntimeError("boom")

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        await cluster.wait_until(Site, "a", lambda obj: obj.status is not None and obj.status.is_true("Ready"))
        await elapse(timedelta(seconds=5))
        events = [event async for event in cluster.client.list(Event)]

    assert [(event.type, event.reason) for event in events] == [
        ("Warning", "ReconcileFailed"),
        ("Normal", "Reconciled"),
    ]
    assert "reconciles again after it had failed" in caplog.messages
    assert "reconcile failed: RuntimeError: boom; next try in 1 s" in caplog.messages


@virtual_time()
async def test_a_condition_that_stays_false_keeps_its_time_whatever_the_reconcile_set_before_it_raised() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        obj.status = obj.status or SiteStatus()
        obj.status.set("Ready", True, reason="Serving")
        raise RuntimeError("boom")

    async with running(operator_of(reconcile)) as cluster:
        await cluster.client.create(site())
        first = await cluster.wait_until(Site, "a", lambda obj: obj.status is not None)
        await elapse(timedelta(minutes=5))
        last = await cluster.client.get(Site, "a")

    assert first.status is not None
    assert last.status is not None
    before, after = first.status.get("Ready"), last.status.get("Ready")
    assert before is not None
    assert after is not None
    assert after.message != before.message
    assert after.last_transition_time == before.last_transition_time

"""The PodBuggerTool operator, in virtual time on a cluster in this process: API server, control loops, two nodes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lives import Stage, When, crashed_at, on_stage
from podbugger import PodBuggerTool, PodBuggerToolSpec, container_name, new_operator

from kubewright import Client, LabelSelector, Metadata
from kubewright.kinds.core_v1 import Container, Pod, PodSpec
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import delay_events, lose_answer, refuse


def pod(name: str, command: str = "sleep 36000", restart: str = "Always", **labels: str) -> Pod:
    container = Container(name="main", image="busybox", command=command.split())
    return Pod(
        metadata=Metadata(name=name, labels=labels), spec=PodSpec(containers=[container], restart_policy=restart)
    )


def tool(name: str = "shell", **labels: str) -> PodBuggerTool:
    spec = PodBuggerToolSpec(selector=LabelSelector(match_labels=labels or {"debug": "yes"}), image="busybox")
    return PodBuggerTool(metadata=Metadata(name=name), spec=spec)


async def containers(stage: Stage, name: str) -> list[str]:
    found = await stage.client.get(Pod, name)
    return sorted(container.name for container in found.spec.ephemeral_containers)


@virtual_time()
async def test_a_pod_gets_the_container_and_it_runs() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(tool())
        await stage.client.create(pod("web", debug="yes"))
        await stage.client.create(pod("other", debug="no"))
        await stage.settle()

        web = await stage.client.get(Pod, "web")

        status = web.status.ephemeral_container_statuses[0]
        assert (status.name, status.image) == ("bugger-shell", "docker.io/library/busybox:latest")
        assert status.state is not None
        assert status.state.running is not None
        assert web.spec.ephemeral_containers[0].target_container_name == "main"
        assert await containers(stage, "other") == []


@virtual_time()
async def test_a_pod_older_than_the_tool_or_labelled_later_gets_it_too() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(pod("old", debug="yes"))
        await stage.client.create(pod("later"))
        await stage.settle()
        await stage.client.create(tool())
        await stage.settle()
        assert await containers(stage, "old") == ["bugger-shell"]
        assert await containers(stage, "later") == []

        await stage.client.modify(Pod, "later", lambda found: found.metadata.labels.update(debug="yes"))
        await stage.settle()

        assert await containers(stage, "later") == ["bugger-shell"]


@virtual_time()
async def test_several_tools_work_on_one_pod_and_none_twice() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(tool("shell"))
        await stage.client.create(tool("net", app="web"))
        await stage.client.create(pod("web", debug="yes", app="web"))
        await stage.settle()
        await stage.client.modify(Pod, "web", lambda found: found.metadata.labels.update(more="labels"))
        await stage.client.delete(PodBuggerTool, "shell")
        await stage.client.create(tool("shell"))
        await stage.settle()

        assert await containers(stage, "web") == ["bugger-net", "bugger-shell"]


@virtual_time()
async def test_a_pod_that_has_ended_is_left_alone() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(pod("job", command="sleep 1", restart="Never", debug="yes"))
        await elapse(timedelta(seconds=10))
        assert (await stage.client.get(Pod, "job")).status.phase == "Succeeded"
        await stage.client.create(tool())
        await stage.settle()

        assert await containers(stage, "job") == []
        found = await stage.client.get(PodBuggerTool, "shell")
        assert (found.status.matching_pods, found.status.is_true("Ready")) == (0, True)


@virtual_time()
async def test_a_refusal_is_told_in_an_event_and_holds_up_no_other_pod() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start(refuse(403, reason="Forbidden", verb="patch", kind=Pod, name="first", times=4))
        for name in ("first", "second"):
            await stage.client.create(pod(name, debug="yes"))
        await stage.client.create(tool())
        await stage.client.wait_until(
            PodBuggerTool, "shell", lambda found: [refusal.pod for refusal in found.status.refusals] == ["first"]
        )
        assert await containers(stage, "second") == ["bugger-shell"]
        failed = await stage.client.get(PodBuggerTool, "shell")
        condition = failed.status.get("Ready")
        assert condition is not None
        assert condition.message.startswith("Refused: 1 of 2 pods not equipped, first first: ")
        assert condition.message.endswith("next try in 1 s")

        await stage.settle()

        assert await containers(stage, "first") == ["bugger-shell"]
        mended = await stage.client.get(PodBuggerTool, "shell")
        assert mended.status.is_true("Ready")
        events = [event async for event in stage.client.list(Event) if event.regarding.kind == "PodBuggerTool"]
        refused = [event for event in events if event.reason == "Refused"]
        assert len(refused) == 1
        assert refused[0].series is None
        assert (refused[0].note or "").startswith("first does not get bugger-shell: ")
        assert refused[0].related is not None
        assert refused[0].related.name == "first"
        assert "reconciles again" in [event.note for event in events]


@virtual_time()
async def test_nothing_is_written_when_nothing_changed_nor_on_a_restart() -> None:
    async with on_stage(new_operator) as stage:
        first = await stage.start()
        await stage.client.create(tool())
        for number in range(3):
            await stage.client.create(pod(f"web-{number}", debug="yes"))
        await stage.settle()

        idle = await stage.writes_in_the_next(timedelta(minutes=30))
        await first.crash()
        await stage.start()
        after_restart = await stage.writes_in_the_next(timedelta(minutes=30))

        assert idle == []
        assert after_restart == []


@virtual_time()
async def test_a_stale_cache_never_adds_a_container_too_many() -> None:
    async with on_stage(new_operator) as stage:
        late = delay_events(timedelta(seconds=20), kind=Pod)
        await stage.start(late, lose_answer(verb="patch", kind=Pod, times=2))
        await stage.client.create(tool())
        await stage.client.create(pod("web", debug="yes"))
        await elapse(timedelta(minutes=5))

        assert await containers(stage, "web") == ["bugger-shell"]


async def play(client: Client) -> None:
    await client.create(pod("old", debug="yes"))
    await client.create(tool())
    await client.wait_until(Pod, "old", lambda found: bool(found.spec.ephemeral_containers))
    await client.create(pod("new", debug="yes"))
    await client.wait_until(Pod, "new", lambda found: bool(found.spec.ephemeral_containers))
    await client.wait_until(PodBuggerTool, "shell", lambda found: found.status.equipped_pods == 2)


@pytest.mark.parametrize("when", ["before", "after"])
@virtual_time(limit=timedelta(days=2))
async def test_it_converges_after_a_crash_at_any_write(when: When) -> None:
    n = 0
    came_so_far = True
    while came_so_far:
        n += 1
        async with on_stage(new_operator) as stage:
            came_so_far = await crashed_at(stage, n, when, play)

            assert [await containers(stage, name) for name in ("old", "new")] == [["bugger-shell"]] * 2, n
            assert await stage.writes_in_the_next(timedelta(minutes=1)) == [], n
    assert n > 3


@virtual_time()
async def test_a_selector_that_names_no_label_is_refused() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(pod("web"))
        spec = PodBuggerToolSpec(selector=LabelSelector(), image="busybox")
        await stage.client.create(PodBuggerTool(metadata=Metadata(name="all"), spec=spec))
        await stage.settle()

        condition = (await stage.client.get(PodBuggerTool, "all")).status.get("Ready")

        assert condition is not None
        assert (condition.reason, condition.message) == ("Invalid", "spec.selector must name a label")
        assert await containers(stage, "web") == []


@pytest.mark.parametrize("name", ["a" * 253, "a.b", "a-b", "x" * 60])
def test_a_containers_name_is_short_enough_and_its_tools_own(name: str) -> None:
    found = container_name(tool(name))

    assert len(found) <= 63
    assert "." not in found
    assert found != container_name(tool(name[:-1] + "z"))

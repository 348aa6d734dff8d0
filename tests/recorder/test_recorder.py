"""Event objects, as people see them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from kubewright import Client, InProcessTransport, Metadata
from kubewright.client import Request, Response, Send
from kubewright.kinds.core_v1 import ConfigMap, Node
from kubewright.kinds.events_v1 import Event
from kubewright.metrics import Registry
from kubewright.recorder import Recorder
from kubewright.testing import elapse, virtual_time
from kubewright.testing.embedded import embedded_server


@asynccontextmanager
async def recording(**options: object) -> AsyncIterator[tuple[Client, Recorder, ConfigMap]]:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        about = await client.create(ConfigMap(metadata=Metadata(name="a")))
        async with Recorder(client, component="tests", instance="tests-0", **options) as recorder:  # type: ignore[arg-type]
            yield client, recorder, about


async def events_of(client: Client) -> list[Event]:
    await elapse(timedelta(seconds=1))
    return [event async for event in client.list(Event, namespace="*")]


@virtual_time()
async def test_an_event_says_who_tells_what_about_whom() -> None:
    async with recording() as (client, recorder, about):
        recorder.event(about, "Normal", "Written", "wrote it", action="Write")

        (event,) = await events_of(client)

    assert (event.type, event.reason, event.note, event.action) == ("Normal", "Written", "wrote it", "Write")
    assert (event.reporting_controller, event.reporting_instance) == ("tests", "tests-0")
    assert (event.regarding.kind, event.regarding.name, event.regarding.uid) == ("ConfigMap", "a", about.metadata.uid)
    assert event.namespace == "default"
    assert event.series is None


@virtual_time()
async def test_the_same_event_again_is_one_object_with_a_count() -> None:
    async with recording() as (client, recorder, about):
        for _ in range(5):
            recorder.event(about, "Warning", "Failed", "no luck")
            await elapse(timedelta(seconds=10))

        (event,) = await events_of(client)

    assert event.series is not None
    assert event.series.count == 5


@virtual_time()
async def test_an_event_after_a_long_silence_is_a_new_one() -> None:
    async with recording() as (client, recorder, about):
        recorder.event(about, "Warning", "Failed", "no luck")
        await elapse(timedelta(minutes=7))
        recorder.event(about, "Warning", "Failed", "no luck")

        assert len(await events_of(client)) == 2


@virtual_time()
async def test_many_different_notes_for_one_reason_are_combined() -> None:
    async with recording() as (client, recorder, about):
        for number in range(20):
            recorder.event(about, "Warning", "Failed", f"no luck {number}")

        events = await events_of(client)

    assert len(events) == 10
    (combined,) = [event for event in events if event.note == "(combined from similar events)"]
    assert combined.series is not None
    assert combined.series.count == 11


@virtual_time()
async def test_a_flood_about_one_object_is_held_back_and_others_are_still_told() -> None:
    async with recording() as (client, recorder, about):
        for number in range(100):
            recorder.event(about, "Normal", f"Reason{number}", "flood")
        other = await client.create(ConfigMap(metadata=Metadata(name="b")))
        recorder.event(other, "Normal", "Calm", "one")

        events = await events_of(client)

    assert sum(event.regarding.name == "a" for event in events) == 25
    assert sum(event.regarding.name == "b" for event in events) == 1


@virtual_time()
async def test_events_of_cluster_scoped_objects_are_in_the_default_namespace() -> None:
    async with recording() as (client, recorder, _):
        recorder.event(await client.create(Node(metadata=Metadata(name="n"))), "Normal", "Seen", "a node")

        (event,) = await events_of(client)

    assert (event.namespace, event.regarding.namespace) == ("default", None)


@virtual_time()
async def test_a_long_note_is_cut_at_what_the_server_takes() -> None:
    async with recording() as (client, recorder, about):
        recorder.event(about, "Normal", "Long", "ä" * 2000)

        (event,) = await events_of(client)

    assert event.note is not None
    assert len(event.note.encode()) <= 1024
    assert event.note.endswith("…")


@virtual_time()
async def test_what_the_server_refuses_is_dropped_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Registry()
    async with recording(metrics=metrics) as (client, recorder, about):
        recorder.event(about, "Wrong", "Type", "the server refuses it")  # type: ignore[arg-type]
        recorder.event(about, "Normal", "Right", "the next one")

        events = await events_of(client)

    assert [event.reason for event in events] == ["Right"]
    assert 'kubewright_recorder_events_total{outcome="dropped"} 1' in metrics.render()
    assert "was not written" in caplog.text


@virtual_time()
async def test_an_event_that_has_expired_is_created_again() -> None:
    async with recording() as (client, recorder, about):
        recorder.event(about, "Warning", "Failed", "no luck")
        (event,) = await events_of(client)
        await client.delete(event)
        recorder.event(about, "Warning", "Failed", "no luck")

        (again,) = await events_of(client)

    assert again.series is not None
    assert again.series.count == 2


@virtual_time()
async def test_the_end_writes_what_waits_but_does_not_wait_for_ever() -> None:
    async def refuse_to_answer(request: Request, send: Send) -> Response:
        if "events" in request.target and request.method == "POST":
            await elapse(timedelta(hours=1))
        return await send(request)

    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        about = await client.create(ConfigMap(metadata=Metadata(name="a")))
        async with Recorder(client, component="tests") as recorder:
            recorder.event(about, "Normal", "Last", "written at the end")
        assert len(await events_of(client)) == 1
        async with Recorder(client.intercepted(refuse_to_answer), component="tests") as recorder:
            recorder.event(about, "Normal", "Lost", "never written")
        assert len(await events_of(client)) == 1

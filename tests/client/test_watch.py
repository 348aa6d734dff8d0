"""Watches: in order, complete, resumed; told when that cannot be."""

from __future__ import annotations

from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest

from kubewright.client import Watch, WatchEvent
from kubewright.errors import Gone, InternalError, ProtocolError, TransportError
from kubewright.kinds.core_v1 import ConfigMap
from tests.client.peer import serving, streams
from tests.client.scripted import Server, Stream, bookmark, failure, line, page, thing
from tests.client.test_http import client_of

EXPIRED = failure(410, "Expired", "too old resource version: 5 (99)")


async def take(watch: Watch[ConfigMap], count: int) -> list[WatchEvent[ConfigMap]]:
    found: list[WatchEvent[ConfigMap]] = []
    async with aclosing(aiter(watch)) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


def told(events: list[WatchEvent[ConfigMap]]) -> list[tuple[str, str]]:
    return [(event.type, event.resource_version) for event in events]


async def test_a_watch_from_a_revision_gives_what_came_after():
    server = Server(
        (200, Stream(line("MODIFIED", thing(version=6)), line("DELETED", thing(version=7)), then="silence"))
    )

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 2)

    assert told(events) == [("MODIFIED", "6"), ("DELETED", "7")]
    assert events[0].object.name == "a"
    assert (
        server.calls[0].query.items()
        >= {"watch": "true", "resourceVersion": "5", "allowWatchBookmarks": "true"}.items()
    )


async def test_a_watch_from_nothing_streams_all_objects_and_says_when_they_are_complete():
    stream = Stream(line("ADDED", thing("a", 3)), line("ADDED", thing("b", 2)), bookmark(8, synced=True))
    server = Server((200, stream), (200, Stream(line("ADDED", thing("c", 9)), then="silence")))

    async with server.client() as client:
        events = await take(client.watch(ConfigMap), 4)

    assert [event.synced for event in events] == [False, False, True, False]
    assert (
        server.calls[0].query.items() >= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}.items()
    )
    assert server.calls[1].query["resourceVersion"] == "8"


async def test_a_server_without_streaming_lists_is_listed_and_not_asked_again():
    refusal = (422, failure(422, "Invalid", "sendInitialEvents: Forbidden"))
    server = Server(refusal, (200, page(thing("a", 3), version=5)), (200, page(version=6)))

    async with server.client() as client:
        first = await take(client.watch(ConfigMap), 2)
        second = await take(client.watch(ConfigMap), 1)

    assert told(first) == [("ADDED", "3"), ("BOOKMARK", "5")]
    assert first[1].synced
    assert told(second) == [("BOOKMARK", "6")]
    assert sum("sendInitialEvents" in target for target in server.targets) == 1


@pytest.mark.parametrize("then", ["end", TransportError("cut")], ids=["ended", "cut"])
async def test_a_broken_watch_resumes_after_the_last_event(then: Any):
    server = Server(
        (200, Stream(line("ADDED", thing(version=6)), bookmark(8), then=then)),
        (200, Stream(line("MODIFIED", thing(version=9)), then="silence")),
    )

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 3)

    assert told(events) == [("ADDED", "6"), ("BOOKMARK", "8"), ("MODIFIED", "9")]
    assert [call.query["resourceVersion"] for call in server.calls] == ["5", "8"]


async def test_a_silent_watch_is_given_up_and_resumed():
    server = Server(
        (200, Stream(line("ADDED", thing(version=6)), then="silence")),
        (200, Stream(line("MODIFIED", thing(version=7)), then="silence")),
    )

    async with server.client() as client:
        watch = client.watch(ConfigMap, resource_version="5", idle_timeout=timedelta(milliseconds=20))
        events = await take(watch, 2)

    assert told(events) == [("ADDED", "6"), ("MODIFIED", "7")]


async def test_initial_objects_come_all_or_none():
    server = Server(
        (200, Stream(line("ADDED", thing("gone", 3)), then=TransportError("cut"))),
        (200, Stream(line("ADDED", thing("b", 4)), bookmark(8, synced=True), then="silence")),
        (200, Stream(then="silence")),
    )

    async with server.client() as client:
        events = await take(client.watch(ConfigMap), 2)

    assert [event.object.name for event in events if event.type == "ADDED"] == ["b"]


async def test_a_revision_too_old_in_the_stream_is_gone():
    server = Server((200, Stream(line("ERROR", EXPIRED))))

    async with server.client() as client:
        with pytest.raises(Gone, match="too old resource version"):
            await take(client.watch(ConfigMap, resource_version="5"), 1)


async def test_a_revision_too_old_before_the_stream_is_gone():
    server = Server((410, EXPIRED))

    async with server.client() as client:
        with pytest.raises(Gone):
            await take(client.watch(ConfigMap, resource_version="5"), 1)


async def test_another_error_in_the_stream_is_raised_as_the_server_told_it():
    server = Server((200, Stream(line("ERROR", failure(500, "InternalError", "etcd is sad")))))

    async with server.client() as client:
        with pytest.raises(InternalError, match="etcd is sad"):
            await take(client.watch(ConfigMap, resource_version="5"), 1)


async def test_a_line_of_five_megabytes_is_one_event():
    big = line("ADDED", thing(version=6, data={"k": "x" * 5_000_000}))
    pieces = [big[at : at + 65536] for at in range(0, len(big), 65536)]
    server = Server((200, Stream(*pieces, then="silence")))

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 1)

    assert len(events[0].object.data["k"]) == 5_000_000


async def test_lines_are_found_however_the_bytes_are_cut():
    whole = line("ADDED", thing("ü", 6)) + line("MODIFIED", thing("b", 7)) + line("DELETED", thing("c", 8))
    server = Server((200, Stream(*[bytes((byte,)) for byte in whole], then="silence")))

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 3)

    assert [event.object.name for event in events] == ["ü", "b", "c"]


async def test_a_truncated_line_is_fetched_again():
    cut = line("MODIFIED", thing(version=7))[:40]
    server = Server(
        (200, Stream(line("ADDED", thing(version=6)), cut)),
        (200, Stream(line("MODIFIED", thing(version=7)), then="silence")),
    )

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 2)

    assert told(events) == [("ADDED", "6"), ("MODIFIED", "7")]


async def test_a_server_that_never_sends_a_watch_event_is_given_up():
    server = Server((200, Stream(b"<html>\n")))

    async with server.client() as client:
        watch = client.watch(ConfigMap, resource_version="5")
        watch.patience = 3
        with pytest.raises(ProtocolError, match="not a watch event"):
            await take(watch, 1)

    assert len(server.calls) == 3


async def test_one_undecodable_object_does_not_break_the_watch():
    server = Server(
        (200, Stream(line("ADDED", thing(version=6, data=[1])), line("ADDED", thing("b", 7)), then="silence"))
    )

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 2)

    assert events[1].object.name == "b"
    with pytest.raises(Exception, match=r"does not fit its Python type.*\$\.data"):
        _ = events[0].object


async def test_over_a_socket_a_cut_connection_is_resumed_as_well():
    first = streams(line("ADDED", thing(version=6)), end="cut")
    second = streams(line("MODIFIED", thing(version=7)), end="silent")
    async with serving(first, second) as peer, client_of(peer.url) as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 2)

    assert told(events) == [("ADDED", "6"), ("MODIFIED", "7")]


async def test_watches_do_not_starve_requests_over_sockets():
    from tests.client.peer import Exchange, answers

    async def either(exchange: Exchange) -> None:
        script = streams(bookmark(6), end="silent") if "watch=true" in exchange.target else answers(200, thing())
        await script(exchange)

    async with serving(either) as peer, client_of(peer.url) as client:
        watches = [aiter(client.watch(ConfigMap, resource_version="5")) for _ in range(150)]
        for watch in watches:
            await anext(watch)

        assert (await client.get(ConfigMap, "a")).name == "a"
        for watch in watches:
            await watch.aclose()


Batches = list[list[tuple[str, str]]]


async def batches(watch: Watch[ConfigMap], count: int, found: Batches | None = None) -> Batches:
    found = [] if found is None else found
    async with aclosing(watch.batches()) as stream:
        async for batch in stream:
            found.append(told(batch))
            if len(found) == count:
                break
    return found


async def test_batches_are_what_came_together_after_a_first_one_that_says_that_the_server_has_begun():
    together = line("ADDED", thing("a", 6)) + line("MODIFIED", thing("a", 7))
    cut = line("DELETED", thing("a", 8))
    server = Server((200, Stream(together + cut[:30], cut[30:], bookmark(9), then="silence")))

    async with server.client() as client:
        found = await batches(client.watch(ConfigMap, resource_version="5"), 4)

    assert found == [[], [("ADDED", "6"), ("MODIFIED", "7")], [("DELETED", "8")], [("BOOKMARK", "9")]]


async def test_batches_go_on_with_changes_in_the_stream_that_brought_all_objects():
    initial = line("ADDED", thing("a", 3)) + bookmark(8, synced=True)
    server = Server((200, Stream(initial, line("MODIFIED", thing("a", 9)), then="silence")))

    async with server.client() as client:
        found = await batches(client.watch(ConfigMap), 3)

    assert found == [[], [("ADDED", "3"), ("BOOKMARK", "8")], [("MODIFIED", "9")]]
    assert len(server.calls) == 1


async def test_batches_begin_with_a_list_where_the_server_cannot_stream_it():
    refusal = (422, failure(422, "Invalid", "sendInitialEvents: Forbidden"))
    changes = Stream(line("ADDED", thing("b", 6)), then="silence")
    server = Server(refusal, (200, page(thing("a", 3), version=5)), (200, changes))

    async with server.client() as client:
        found = await batches(client.watch(ConfigMap), 3)

    assert found == [[("ADDED", "3"), ("BOOKMARK", "5")], [], [("ADDED", "6")]]
    assert server.calls[2].query["resourceVersion"] == "5"


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (Stream(line("ADDED", thing(version=6)), then=TransportError("cut")), TransportError),
        (Stream(line("ADDED", thing(version=6)) + line("ERROR", EXPIRED)), Gone),
        (Stream(line("ADDED", thing(version=6)) + b"<html>\n"), ProtocolError),
        (Stream(line("ADDED", thing(version=6)) + line("MODIFIED", thing(version=7))[:-1]), ProtocolError),
    ],
    ids=["cut", "gone", "nonsense", "half"],
)
async def test_batches_resume_nothing_but_raise_what_breaks_the_stream(stream: Stream, error: type[Exception]):
    server = Server((200, stream))
    found: Batches = []

    async with server.client() as client:
        with pytest.raises(error):
            await batches(client.watch(ConfigMap, resource_version="5"), 3, found)

    assert found == [[], [("ADDED", "6")]]
    assert len(server.calls) == 1


async def test_an_event_written_in_another_way_is_an_event_all_the_same():
    spaced = b'{ "object": {"metadata": {"name": "a", "resourceVersion": "6"}}, "type": "ADDED" }\n'
    server = Server((200, Stream(spaced, then="silence")))

    async with server.client() as client:
        events = await take(client.watch(ConfigMap, resource_version="5"), 1)

    assert told(events) == [("ADDED", "6")]
    assert events[0].object.name == "a"


async def test_a_shard_is_asked_for_in_lists_and_watches():
    refusal = (422, failure(422, "Invalid", "sendInitialEvents: Forbidden"))
    server = Server(refusal, (200, page(version=5)), (200, Stream(then="silence")))

    async with server.client() as client:
        await batches(client.watch(ConfigMap, shard_selector="shardRange(x)"), 2)

    assert [call.query["shardSelector"] for call in server.calls] == ["shardRange(x)"] * 3


async def test_batches_end_when_the_server_falls_silent():
    server = Server((200, Stream(line("ADDED", thing(version=6)), then="silence")))

    async with server.client() as client:
        watch = client.watch(ConfigMap, resource_version="5", idle_timeout=timedelta(milliseconds=20))
        found = await batches(watch, 9)

    assert found == [[], [("ADDED", "6")]]

"""§1.6 Watch."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.streams import Stream
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.6")


async def version_now(api: Api) -> str:
    with api.unrecorded():
        answer = await api.get(MAPS)
    version: str = answer.body["metadata"]["resourceVersion"]
    return version


async def test_without_a_version_what_is_there_comes_first(api: Api):
    await api.post(MAPS, config_map("b"))
    await api.post(MAPS, config_map("a"))
    await api.watch(MAPS)


async def test_version_zero_is_like_none(api: Api):
    await api.post(MAPS, config_map("a"))
    await api.watch(MAPS, resourceVersion="0")


async def test_from_a_version_only_what_came_after(api: Api):
    await api.post(MAPS, config_map("a"))
    start = await version_now(api)
    await api.post(MAPS, config_map("b"))
    await api.patch(MAPS + "/a", {"data": {"k": "v"}})
    await api.delete(MAPS + "/b")
    await api.watch(MAPS, resourceVersion=start)


async def test_a_change_of_nothing_is_no_event(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    start = await version_now(api)
    await api.patch(MAPS + "/a", {"data": {"k": "v"}})
    await api.watch(MAPS, resourceVersion=start)


async def test_into_a_selection_and_out_of_it(api: Api):
    await api.post(MAPS, config_map("a"))
    start = await version_now(api)
    await api.patch(MAPS + "/a", {"metadata": {"labels": {"in": "yes"}}})
    await api.patch(MAPS + "/a", {"data": {"k": "v"}})
    await api.patch(MAPS + "/a", {"metadata": {"labels": {"in": None}}})
    await api.patch(MAPS + "/a", {"data": {"k": "w"}})
    await api.watch(MAPS, resourceVersion=start, labelSelector="in=yes")


async def test_deleted_while_selected(api: Api):
    await api.post(MAPS, config_map("a", labels={"in": "yes"}))
    await api.post(MAPS, config_map("b"))
    start = await version_now(api)
    await api.delete(MAPS + "/a")
    await api.delete(MAPS + "/b")
    await api.watch(MAPS, resourceVersion=start, labelSelector="in=yes")


async def test_one_object_by_its_name(api: Api):
    await api.post(MAPS, config_map("a"))
    await api.post(MAPS, config_map("b"))
    await api.watch(MAPS, fieldSelector="metadata.name=b")


async def test_one_object_by_its_address(api: Api):
    await api.post(MAPS, config_map("a"))
    await api.post(MAPS, config_map("b"))
    await api.watch(MAPS + "/b")


async def test_the_old_addresses_of_watches(api: Api):
    await api.post(MAPS, config_map("a"))
    await api.post(MAPS, config_map("b"))
    await api.glance("/api/v1/watch/namespaces/{ns}/configmaps", query={"timeoutSeconds": 1})
    await api.glance("/api/v1/watch/namespaces/{ns}/configmaps/b", query={"timeoutSeconds": 1})


async def test_the_initial_events_end_with_a_bookmark(api: Api):
    await api.post(MAPS, config_map("a"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with api.unrecorded():
        events = await api.watch(MAPS, **query)

    assert [event["type"] for event in events][:2] == ["ADDED", "BOOKMARK"]
    assert events[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert set(events[1]["object"]) == {"kind", "apiVersion", "metadata"} | (set(events[1]["object"]) & {"data"})
    assert events[1]["object"]["kind"] == "ConfigMap"


async def test_initial_events_of_nothing(api: Api):
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    with api.unrecorded():
        events = await api.watch(MAPS, **query)

    assert events[0]["type"] == "BOOKMARK"


@pytest.mark.parametrize(
    "query",
    [
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "x"},
        {"labelSelector": "a b"},
        {"fieldSelector": "spec.x=1"},
        {"timeoutSeconds": "x"},
    ],
)
async def test_parameters_that_a_watch_does_not_take(api: Api, query: dict[str, str]):
    await api.glance(MAPS, query={"watch": "true", "timeoutSeconds": 1, **query})


async def test_a_version_from_the_future_is_waited_for(api: Api):
    await api.watch(MAPS, resourceVersion="999999999")


async def test_a_watch_ends_when_its_time_is_over(api: Api):
    answer = await api.get(MAPS, query={"watch": "1", "timeoutSeconds": 1})

    assert answer.status == 200


async def test_finalizers_make_two_events_of_a_deletion(api: Api):
    await api.post(MAPS, config_map("a") | {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    start = await version_now(api)
    await api.delete(MAPS + "/a")
    await api.patch(MAPS + "/a", {"metadata": {"finalizers": None}})
    await api.watch(MAPS, resourceVersion=start)


async def test_a_watch_of_what_is_not_served(api: Api):
    await api.get("/api/v1/namespaces/{ns}/things", query={"watch": "true"})


@pytest.mark.parametrize("word", ["yes", "True", "", "t", "no"])
async def test_every_word_but_false_and_zero_asks_to_watch(api: Api, word: str):
    await api.post(MAPS, config_map("a"))
    await api.watch(MAPS, watch=word)


@pytest.mark.parametrize("word", ["False", "0"])
async def test_false_and_zero_ask_for_a_list(api: Api, word: str):
    await api.post(MAPS, config_map("a"))
    await api.get(MAPS, query={"watch": word})


@pytest.mark.parametrize("word", ["", "yes", "0"])
async def test_initial_events_are_asked_for_by_any_word(api: Api, word: str):
    start = await version_now(api)
    await api.post(MAPS, config_map("a"))
    query = {"sendInitialEvents": word, "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "yes"}
    with api.unrecorded():
        events = await api.watch(MAPS, resourceVersion=start, **query)
    # The real server may tell the end of the initial events before a change that it has not seen yet.
    api.note("names", [event["object"]["metadata"]["name"] for event in events if event["type"] == "ADDED"])
    api.note("ends", any("annotations" in event["object"]["metadata"] for event in events))


async def test_every_watch_sees_the_same_changes_in_the_same_order(api: Api):
    start = await version_now(api)
    seen = []
    async with (
        Stream(api, MAPS, resourceVersion=start) as one,
        Stream(api, MAPS, resourceVersion=start) as two,
        Stream(
            api, "/api/v1/configmaps", resourceVersion=start, fieldSelector=f"metadata.namespace={api.namespace}"
        ) as all,
    ):
        with api.unrecorded():
            await asyncio.gather(*(api.post(MAPS, config_map(f"c{index}")) for index in range(12)))
            await asyncio.gather(*(api.patch(MAPS + f"/c{index}", {"data": {"k": "v"}}) for index in range(12)))
        late = Stream(api, MAPS, resourceVersion=start)
        async with late:
            for stream in (one, two, all, late):
                events = await stream.take(24)
                seen.append([(e["type"], e["object"]["metadata"]["resourceVersion"]) for e in events])

    assert all_equal(seen)
    versions = [int(version) for _, version in seen[0]]
    assert versions == sorted(set(versions))


def all_equal(values: list[Any]) -> bool:
    return all(value == values[0] for value in values)


async def test_a_deletion_has_a_revision_of_its_own(api: Api):
    with api.unrecorded():
        created = await api.post(MAPS, config_map("a", k="v"))
    start = await version_now(api)
    with api.unrecorded():
        await api.delete(MAPS + "/a")
        (event,) = await api.watch(MAPS, resourceVersion=start)
        listed = await api.get(MAPS)
    metadata = event["object"]["metadata"]

    assert event["type"] == "DELETED"
    assert event["object"]["data"] == {"k": "v"}
    assert int(metadata["resourceVersion"]) > int(created.body["metadata"]["resourceVersion"])
    assert int(metadata["resourceVersion"]) <= int(listed.body["metadata"]["resourceVersion"])


async def test_what_leaves_a_selection_is_told_as_it_was_with_the_new_revision(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a", labels={"in": "yes"}, k="old"))
    start = await version_now(api)
    with api.unrecorded():
        changed = await api.patch(MAPS + "/a", {"metadata": {"labels": {"in": "no"}}, "data": {"k": "new"}})
        (event,) = await api.watch(MAPS, resourceVersion=start, labelSelector="in=yes")

    assert event["type"] == "DELETED"
    assert event["object"]["data"] == {"k": "old"}
    assert event["object"]["metadata"]["labels"] == {"in": "yes"}
    assert event["object"]["metadata"]["resourceVersion"] == changed.body["metadata"]["resourceVersion"]


async def test_into_a_selection_of_fields_and_out_of_it(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
        start = (await api.get(PODS)).body["metadata"]["resourceVersion"]
        await api.patch(PODS + "/p/status", {"status": {"phase": "Running"}})
        await api.patch(PODS + "/p/status", {"status": {"phase": "Succeeded"}})
    await api.watch(PODS, resourceVersion=start, fieldSelector="status.phase=Running")
    await api.watch(PODS, resourceVersion=start, fieldSelector="status.phase!=Running")


async def test_a_watch_of_what_is_selected_begins_with_what_matches(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a", labels={"in": "yes"}))
        await api.post(MAPS, config_map("b"))
    await api.watch(MAPS, labelSelector="in=yes")
    await api.watch(MAPS, labelSelector="in=yes", resourceVersion="0")


async def test_a_watch_of_what_is_not_there_yet(api: Api):
    async with Stream(api, MAPS, fieldSelector="metadata.name=later") as stream:
        with api.unrecorded():
            await api.post(MAPS, config_map("other"))
            await api.post(MAPS, config_map("later"))
        event = await stream.next()

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "later")


async def test_a_change_arrives_while_the_watch_is_open(api: Api):
    async with Stream(api, MAPS) as stream:
        with api.unrecorded():
            await api.post(MAPS, config_map("a"))
            await api.delete(MAPS + "/a")
        events = await stream.take(2)

    assert [event["type"] for event in events] == ["ADDED", "DELETED"]


async def test_a_bookmark_comes_shortly_before_the_end(api: Api):
    start = await version_now(api)
    query = {"allowWatchBookmarks": "true", "timeoutSeconds": 4, "labelSelector": "none=none"}
    async with Stream(api, MAPS, resourceVersion=start, **query) as stream:
        with api.unrecorded():
            created = await api.post(MAPS, config_map("a"))
        events = await stream.rest()

    assert {event["type"] for event in events} == {"BOOKMARK"}
    bookmark = events[-1]["object"]
    assert (bookmark["kind"], bookmark["apiVersion"]) == ("ConfigMap", "v1")
    assert set(bookmark["metadata"]) == {"resourceVersion"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(created.body["metadata"]["resourceVersion"])


async def test_bookmarks_are_for_who_asked(api: Api):
    start = await version_now(api)
    async with Stream(api, MAPS, resourceVersion=start, timeoutSeconds=3) as stream:
        events = await stream.rest()

    assert events == []


INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}


async def test_initial_events_of_a_selection(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a", labels={"in": "yes"}))
        await api.post(MAPS, config_map("b"))
        events = await api.watch(MAPS, **INITIAL, allowWatchBookmarks="true", labelSelector="in=yes")

    assert [(event["type"], event["object"]["metadata"].get("name")) for event in events] == [
        ("ADDED", "a"),
        ("BOOKMARK", None),
    ]


async def test_the_bookmark_after_initial_events_is_not_older_than_they_are(api: Api):
    with api.unrecorded():
        created = await api.post(MAPS, config_map("a"))
        events = await api.watch(MAPS, **INITIAL, allowWatchBookmarks="true")

    bookmark = events[-1]["object"]["metadata"]
    assert int(bookmark["resourceVersion"]) >= int(created.body["metadata"]["resourceVersion"])


async def test_initial_events_not_older_than_a_revision(api: Api):
    with api.unrecorded():
        created = await api.post(MAPS, config_map("a"))
        version = created.body["metadata"]["resourceVersion"]
        events = await api.watch(MAPS, **INITIAL, allowWatchBookmarks="true", resourceVersion=version)

    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]


async def test_initial_events_and_then_changes(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
    async with Stream(api, MAPS, **INITIAL, allowWatchBookmarks="true") as stream:
        first = await stream.take(2)
        with api.unrecorded():
            await api.post(MAPS, config_map("b"))
        second = await stream.next()

    assert [event["type"] for event in first] == ["ADDED", "BOOKMARK"]
    assert (second["type"], second["object"]["metadata"]["name"]) == ("ADDED", "b")


async def test_initial_events_that_are_not_wanted(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
    start = await version_now(api)
    query = {**INITIAL, "sendInitialEvents": "false"}
    await api.watch(MAPS, **query, resourceVersion=start)
    await api.watch(MAPS, **query)


@pytest.mark.parametrize(
    "query",
    [
        INITIAL,
        {**INITIAL, "resourceVersion": "x"},
        {**INITIAL, "continue": "x"},
        {"sendInitialEvents": "x", "resourceVersionMatch": "NotOlderThan"},
        {"limit": "1"},
        {"continue": "x"},
        {"allowWatchBookmarks": "x"},
        {"timeoutSeconds": "-1"},
        {"timeoutSeconds": "1.5"},
    ],
)
async def test_what_a_watch_makes_of_its_parameters(api: Api, query: dict[str, str]):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
        request = api.request("GET", MAPS, query={"watch": "true", "timeoutSeconds": 1, **query})
        request.streaming = True
        response = await api.send(request)
        api.note("status", response.status)
        if response.stream is None:
            api.note("answer", json.loads(response.body))
        await response.aclose()


@pytest.mark.parametrize("word", ["true", "1", "false", "0", "", "yes", "T", "FALSE", "nonsense"])
async def test_which_words_ask_for_a_watch(api: Api, word: str):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
        answer = await api.glance(MAPS, query={"watch": word, "timeoutSeconds": 1})
    api.note("is a watch", answer.text.startswith('{"type":"ADDED"'))


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/watch/configmaps",
        "/api/v1/watch/namespaces/{ns}",
        "/apis/apps/v1/watch/namespaces/{ns}/deployments",
        "/apis/apps/v1/watch/deployments",
        "/apis/apps/v1/watch/namespaces/{ns}/deployments/d",
        "/api/v1/watch/nodes",
    ],
)
async def test_old_addresses_of_watches_of_many_shapes(api: Api, path: str):
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
        answer = await api.glance(path, query={"timeoutSeconds": 1, "resourceVersion": await version_now(api)})
    api.note("answer", [answer.status, answer.text])


async def test_a_watch_of_custom_resources(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create(spec={"a": 1})
    await api.watch(widgets.path)


async def test_a_watch_ends_with_its_definition(api: Api, widgets: Widgets):
    await widgets.install()
    await widgets.create()
    async with Stream(api, widgets.path) as stream:
        first = await stream.next()
        with api.unrecorded():
            await api.delete(widgets.definition)
        rest = await stream.rest()

    assert first["type"] == "ADDED"
    assert [event["type"] for event in rest] == ["DELETED"]


async def test_a_watch_ends_when_its_version_is_no_longer_served(api: Api, widgets: Widgets):
    await widgets.install()
    async with Stream(api, widgets.path) as stream:
        served = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
        await widgets.redefine(served, type="json")
        rest = await stream.rest()

    assert rest == []


async def test_a_watch_of_one_version_sees_changes_by_another(api: Api):
    scalers = "/apis/autoscaling/{}/namespaces/{{ns}}/horizontalpodautoscalers"
    spec = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 3}
    with api.unrecorded():
        start = (await api.get(scalers.format("v2"))).body["metadata"]["resourceVersion"]
        await api.post(scalers.format("v1"), {"metadata": {"name": "h"}, "spec": spec})
    await api.watch(scalers.format("v2"), resourceVersion=start)


async def test_events_of_objects_that_never_change_are_not_told_twice(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map("a"))
        created = await api.post(MAPS, config_map("b"))
    await api.watch(MAPS, resourceVersion=created.body["metadata"]["resourceVersion"])

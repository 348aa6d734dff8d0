"""§1.6 Watch."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, config_map


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
    await api.get("/api/v1/watch/namespaces/{ns}/configmaps", query={"timeoutSeconds": 1})
    await api.get("/api/v1/watch/namespaces/{ns}/configmaps/b", query={"timeoutSeconds": 1})


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
    await api.get(MAPS, query={"watch": "true", "timeoutSeconds": 1, **query})


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

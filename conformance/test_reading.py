"""§1.5 Reads: resourceVersion, paging."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, config_map
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.5")


async def fill(api: Api, *names: str) -> list[str]:
    with api.unrecorded():
        answers = [await api.post(MAPS, config_map(name)) for name in names]
        # The real server's cache knows of them now, which lists at revision 0 are of.
        await api.get(MAPS)
    return [answer.body["metadata"]["resourceVersion"] for answer in answers]


async def test_an_empty_list(api: Api):
    await api.get(MAPS)


async def test_a_list_is_in_order_of_names(api: Api):
    await fill(api, "b", "a", "c.d", "c-d")
    await api.get(MAPS)


async def test_the_version_of_a_list_is_not_older_than_its_items(api: Api):
    *_, last = await fill(api, "a", "b")
    answer = await api.get(MAPS)

    assert int(answer.body["metadata"]["resourceVersion"]) >= int(last)


async def test_pages(api: Api):
    await fill(api, "a", "b", "c", "d", "e")
    first = await api.get(MAPS, query={"limit": 2})
    second = await api.get(MAPS, query={"limit": 2, "continue": first.body["metadata"]["continue"]})
    await api.get(MAPS, query={"limit": 2, "continue": second.body["metadata"]["continue"]})

    assert first.body["metadata"]["resourceVersion"] == second.body["metadata"]["resourceVersion"]


async def test_pages_are_of_one_moment(api: Api):
    await fill(api, "a", "b", "c")
    first = await api.get(MAPS, query={"limit": 1})
    await fill(api, "bb")
    with api.unrecorded():
        await api.delete(MAPS + "/c")
    await api.get(MAPS, query={"limit": 5, "continue": first.body["metadata"]["continue"]})


async def test_a_page_with_a_selector_does_not_count_the_rest(api: Api):
    await fill(api, "a", "b", "c")
    await api.get(MAPS, query={"limit": 1, "fieldSelector": "metadata.name!=a"})


async def test_a_continue_token_is_readable(api: Api):
    await fill(api, "a", "b")
    first = await api.get(MAPS, query={"limit": 1})
    token = first.body["metadata"]["continue"]
    document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))

    assert document["v"] == "meta.k8s.io/v1"
    assert str(document["rv"]) == first.body["metadata"]["resourceVersion"]
    assert document["start"] == "/a\x00"


async def test_a_continue_token_in_all_namespaces_names_the_namespace(api: Api):
    await fill(api, "a", "b")
    with api.unrecorded():
        answer = await api.get("/api/v1/configmaps", query={"limit": 1})
    token = answer.body["metadata"]["continue"]
    document = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    first = answer.body["items"][0]["metadata"]

    assert document["start"] == f"/{first['namespace']}/{first['name']}\x00"


@pytest.mark.parametrize("token", ["!", "e30", "eyJ2IjoieCJ9", "bm90IGpzb24"])
async def test_a_continue_token_that_is_none(api: Api, token: str):
    await api.get(MAPS, query={"limit": 1, "continue": token})


async def test_version_zero_ignores_the_limit(api: Api):
    await fill(api, "a", "b", "c")
    answer = await api.get(MAPS, query={"limit": 1, "resourceVersion": "0"})

    assert len(answer.body["items"]) == 3


async def test_not_older_than(api: Api):
    first, _ = await fill(api, "a", "b")
    await api.get(MAPS, query={"resourceVersion": first})
    await api.get(MAPS, query={"resourceVersion": first, "resourceVersionMatch": "NotOlderThan", "limit": 1})


async def test_exactly_at(api: Api):
    first, _ = await fill(api, "a", "b")
    await api.get(MAPS, query={"resourceVersion": first, "resourceVersionMatch": "Exact"})
    await api.get(MAPS, query={"resourceVersion": first, "limit": 5})


async def test_a_deleted_object_is_in_the_past(api: Api):
    _, second = await fill(api, "a", "b")
    with api.unrecorded():
        await api.delete(MAPS + "/a")
    await api.get(MAPS, query={"resourceVersion": second, "resourceVersionMatch": "Exact"})
    await api.get(MAPS)


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "1", "resourceVersionMatch": "Sometimes"},
        {"resourceVersion": "1", "continue": "x"},
        {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan", "continue": "x"},
        {"resourceVersion": "x"},
        {"resourceVersion": "-1"},
        {"limit": "x"},
        {"limit": "-1"},
        {"sendInitialEvents": "true"},
    ],
)
async def test_parameters_that_do_not_go_together(api: Api, query: dict[str, str]):
    await api.get(MAPS, query=query)


async def test_a_version_from_the_future(api: Api):
    with api.unrecorded():
        answer = await api.get(MAPS, query={"resourceVersion": "999999999"})

    assert answer.status == 504
    assert answer.body["reason"] == "Timeout"
    assert answer.body["message"].startswith("Timeout: Too large resource version: 999999999, current: ")
    assert answer.body["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert answer.body["details"]["retryAfterSeconds"] == 1


async def test_a_get_not_older_than(api: Api):
    (version,) = await fill(api, "a")
    await api.get(MAPS + "/a", query={"resourceVersion": version})
    await api.get(MAPS + "/a", query={"resourceVersion": "0"})
    await api.get(MAPS + "/a", query={"resourceVersion": "x"})


async def test_one_counter_for_all_resources(api: Api):
    with api.unrecorded():
        first = await api.post(MAPS, config_map())
        second = await api.post("/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}})
        third = await api.patch(MAPS + "/a", {"data": {"k": "v"}})
        empty = await api.get("/api/v1/namespaces/{ns}/podtemplates")
    versions = [int(answer.body["metadata"]["resourceVersion"]) for answer in (first, second, third, empty)]

    assert versions == sorted(versions)
    assert versions[0] < versions[1] < versions[2]


async def test_the_version_of_a_list_is_that_of_now_whatever_was_written_last(api: Api):
    with api.unrecorded():
        before = await api.get(MAPS)
        await api.post("/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}})
        after = await api.get(MAPS)
    versions = [int(answer.body["metadata"]["resourceVersion"]) for answer in (before, after)]

    assert versions[0] < versions[1]


async def test_a_get_from_the_future(api: Api):
    await fill(api, "a")
    with api.unrecorded():
        answer = await api.get(MAPS + "/a", query={"resourceVersion": "999999999"})

    assert (answer.status, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.headers["retry-after"] == "1"


async def test_exactly_at_a_version_from_the_future(api: Api):
    await fill(api, "a")
    with api.unrecorded():
        answer = await api.get(MAPS, query={"resourceVersion": "999999999", "resourceVersionMatch": "Exact"})
    api.note("answer", [answer.status, answer.body.get("reason"), answer.body.get("details")])


async def test_not_older_than_zero_is_anything_and_pages_are_kept(api: Api):
    await fill(api, "a", "b")
    with api.unrecorded():
        answer = await api.get(MAPS, query={"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan", "limit": 1})
    api.note("items", len(answer.body["items"]))


async def test_exactly_at_a_version_in_pages(api: Api):
    *_, third, _ = await fill(api, "a", "b", "c", "d")
    query = {"resourceVersion": third, "resourceVersionMatch": "Exact", "limit": 2}
    first = await api.get(MAPS, query=query)
    await api.get(MAPS, query={"limit": 2, "continue": first.body["metadata"]["continue"]})

    assert first.body["metadata"]["resourceVersion"] == third


async def test_the_state_at_a_version_is_not_that_of_later(api: Api):
    first, second = await fill(api, "a", "b")
    with api.unrecorded():
        await api.patch(MAPS + "/a", {"data": {"k": "v"}})
        await api.delete(MAPS + "/b")
        await api.post(MAPS, config_map("b", k="again"))
    await api.get(MAPS, query={"resourceVersion": first, "resourceVersionMatch": "Exact"})
    await api.get(MAPS, query={"resourceVersion": second, "resourceVersionMatch": "Exact"})


async def test_exactly_at_a_version_with_selectors(api: Api):
    with api.unrecorded():
        created = await api.post(MAPS, config_map("a", labels={"l": "x"}))
        await api.patch(MAPS + "/a", {"metadata": {"labels": {"l": "y"}}})
    version = created.body["metadata"]["resourceVersion"]
    query = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    await api.get(MAPS, query={**query, "labelSelector": "l=x"})
    await api.get(MAPS, query={**query, "labelSelector": "l=y"})


async def test_the_last_page_is_full_and_has_no_next(api: Api):
    await fill(api, "a", "b", "c", "d")
    first = await api.get(MAPS, query={"limit": 2})
    last = await api.get(MAPS, query={"limit": 2, "continue": first.body["metadata"]["continue"]})

    assert "continue" not in last.body["metadata"]


async def test_a_page_may_be_of_another_size_than_the_one_before(api: Api):
    await fill(api, "a", "b", "c", "d")
    first = await api.get(MAPS, query={"limit": 1})
    await api.get(MAPS, query={"continue": first.body["metadata"]["continue"]})
    await api.get(MAPS, query={"limit": 2, "continue": first.body["metadata"]["continue"]})


async def test_pages_of_a_selection(api: Api):
    with api.unrecorded():
        for index, name in enumerate("abcdef"):
            await api.post(MAPS, config_map(name, labels={"l": "even" if index % 2 else "odd"}))
    first = await api.get(MAPS, query={"limit": 2, "labelSelector": "l=odd"})
    token = first.body["metadata"]["continue"]
    await api.get(MAPS, query={"limit": 2, "labelSelector": "l=odd", "continue": token})


async def test_pages_of_custom_resources(api: Api, widgets: Widgets):
    await widgets.install()
    for name in "abc":
        await widgets.create(name)
    first = await api.get(widgets.path, query={"limit": 2})
    await api.get(widgets.path, query={"limit": 2, "continue": first.body["metadata"]["continue"]})


async def test_a_continue_token_names_the_last_object_of_its_page(api: Api):
    await fill(api, "a", "b", "c")
    first = await api.get(MAPS, query={"limit": 2})
    token = first.body["metadata"]["continue"]

    assert "=" not in token
    assert json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["start"] == "/b\x00"


def token_of(**content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "content",
    [
        {"v": "meta.k8s.io/v1", "rv": 5, "start": "a"},
        {"v": "meta.k8s.io/v1", "rv": 5, "start": "/../a\u0000"},
        {"v": "meta.k8s.io/v1", "rv": 0, "start": "/a\u0000"},
        {"v": "meta.k8s.io/v1", "rv": -1, "start": "/a\u0000"},
        {"v": "meta.k8s.io/v1", "rv": "5", "start": "/a\u0000"},
        {"v": "meta.k8s.io/v1", "rv": 5},
        {"v": "meta.k8s.io/v2", "rv": 5, "start": "/a\u0000"},
    ],
)
async def test_a_continue_token_that_somebody_made_up(api: Api, content: dict[str, object]):
    await fill(api, "a", "b")
    await api.get(MAPS, query={"limit": 1, "continue": token_of(**content)})


@pytest.mark.parametrize("limit", ["0", "00", "+1", "9223372036854775807", "9223372036854775808", "1.0", ""])
async def test_a_limit(api: Api, limit: str):
    await fill(api, "a", "b")
    await api.get(MAPS, query={"limit": limit})


async def test_a_time_limit_of_a_list_is_taken(api: Api):
    await api.get(MAPS, query={"timeoutSeconds": "5", "timeout": "10s"})
    await api.get(MAPS, query={"timeout": "x"})


async def test_the_order_is_of_keys_and_not_of_names(api: Api):
    with api.unrecorded():
        for suffix in ("", "-b"):
            await api.post("/api/v1/namespaces", {"metadata": {"name": f"{api.namespace}{suffix}"}})
        of = {"labels": {"of": api.namespace}}
        await api.post("/api/v1/namespaces/{ns}/configmaps", {"metadata": {"name": "z", **of}})
        await api.post("/api/v1/namespaces/{ns}-b/configmaps", {"metadata": {"name": "a", **of}})
        answer = await api.get("/api/v1/configmaps", query={"labelSelector": f"of={api.namespace}"})
    api.note("order", [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in answer.body["items"]])

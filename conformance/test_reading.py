"""§1.5 Reads: resourceVersion, paging."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, config_map


async def fill(api: Api, *names: str) -> list[str]:
    with api.unrecorded():
        answers = [await api.post(MAPS, config_map(name)) for name in names]
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

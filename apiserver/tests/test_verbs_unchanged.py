"""Writes that change nothing leave the revision and the times of managers as they were."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from kubewright_apiserver.server import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


class Clock:
    """A clock that is a minute on whenever it is looked at."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer(listens=False, clock=Clock()) as server:
        yield server


async def send(server: ApiServer, method: str, path: str, body: Any, kind: str = "application/json") -> Any:
    headers = [("Content-Type", kind), ("User-Agent", "tester/1")]
    status, _, chunks = await server.handle(method, path, headers, json.dumps(body).encode())
    assert status in (200, 201)
    return json.loads(b"".join([chunk async for chunk in chunks]))


async def test_an_update_with_the_same_content_is_none(server: ApiServer):
    first = await send(server, "POST", MAPS, BODY)

    assert await send(server, "PUT", f"{MAPS}/a", first) == first
    assert await send(server, "PUT", f"{MAPS}/a", BODY) == first


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("application/merge-patch+json", {"data": {"k": "v", "z": None}}),
        ("application/strategic-merge-patch+json", {"data": {"k": "v"}}),
        ("application/json-patch+json", [{"op": "test", "path": "/data/k", "value": "v"}]),
    ],
)
async def test_a_patch_that_changes_nothing_is_none(server: ApiServer, kind: str, patch: Any):
    first = await send(server, "POST", MAPS, BODY)

    assert await send(server, "PATCH", f"{MAPS}/a", patch, kind) == first


async def test_an_intent_that_is_met_changes_nothing(server: ApiServer):
    path, kind = f"{MAPS}/a?fieldManager=m", "application/apply-patch+yaml"
    first = await send(server, "PATCH", path, BODY, kind)

    assert await send(server, "PATCH", path, BODY, kind) == first


async def test_a_change_takes_the_time(server: ApiServer):
    first = await send(server, "POST", MAPS, BODY)

    second = await send(server, "PATCH", f"{MAPS}/a", {"data": {"k": "w"}}, "application/merge-patch+json")

    assert second["metadata"]["managedFields"][0]["time"] > first["metadata"]["managedFields"][0]["time"]

"""An operator of kopf's runs: it sees what is listed and watched, writes status and finalizers, posts Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest_asyncio

from conformance.objects import pod
from conformance.peers.conftest import Widget
from conformance.peers.peer import PROGRAMS, PYTHON, Peer, Told
from kubewright import Client, MergePatch, Metadata, Unstructured
from kubewright.kinds.core_v1 import Event, Pod


def widget(name: str, size: int) -> Unstructured:
    return Widget(metadata=Metadata(name=name), content={"spec": {"size": size}})


async def wait_for(client: Client, kind: type[Any], is_wanted: Callable[[Any], bool]) -> None:
    async with asyncio.timeout(30):
        async for change in client.watch(kind):
            if change.type != "BOOKMARK" and is_wanted(change):
                return


@pytest_asyncio.fixture
async def operator(peer: Peer, client: Client) -> AsyncIterator[Told]:
    """The operator, started when there were a pod and a widget already."""
    await client.create(Unstructured.from_dict(pod("listed")))
    await client.create(widget("listed", size=1))
    command = (
        PYTHON,
        "-m",
        "kopf",
        "run",
        "--standalone",
        "--quiet",
        "-n",
        peer.namespace,
        PROGRAMS / "kopf_operator.py",
    )
    async with peer.running(*command) as told:
        await told.wait_for(["pod", None, "listed"], ["widget", "create", "listed"])
        yield told


async def test_kopf_sees_changes_of_pods(operator: Told, client: Client):
    await client.create(Unstructured.from_dict(pod("watched")))
    await operator.wait_for(["pod", "ADDED", "watched"])
    await client.patch(Pod, MergePatch({"metadata": {"labels": {"l": "1"}}}), name="watched")
    await operator.wait_for(["pod", "MODIFIED", "watched"])
    await client.delete(Pod, "watched")
    await operator.wait_for(["pod", "DELETED", "watched"])


async def test_kopf_handles_the_life_of_a_custom_resource(operator: Told, client: Client):
    await client.create(widget("watched", size=1))
    await operator.wait_for(["widget", "create", "watched"])
    await client.patch(Widget, MergePatch({"spec": {"size": 2}}), name="watched")
    await operator.wait_for(["widget", "resize", "watched", 1, 2])
    await client.delete(Widget, "watched")
    await operator.wait_for(["widget", "delete", "watched"])

    while "watched" in [found.name async for found in client.list(Widget)]:
        pass

    lines = [line for line in operator.lines if line[2] == "watched"]
    assert lines == [
        ["widget", "create", "watched"],
        ["widget", "resize", "watched", 1, 2],
        ["widget", "delete", "watched"],
    ]


async def test_kopf_writes_status_finalizer_and_events(operator: Told, client: Client):
    await wait_for(client, Widget, lambda change: "widget_created" in change.object.content.get("status", {}))
    await wait_for(client, Event, lambda change: change.object.reason == "Seen")

    found = await client.get(Widget, "listed")
    assert found["status"]["widget_created"] == {"seen": 1}
    assert found.metadata.finalizers == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert "kopf.zalando.org/last-handled-configuration" in found.metadata.annotations

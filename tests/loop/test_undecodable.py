"""One object that does not fit its type: it is told once, and all others go on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubewright import Context, Controller, JsonPatch, Key, Metadata, Operator, Unstructured
from kubewright.cache import Cache
from kubewright.client import Client
from kubewright.controller import Watch, where
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, running, virtual_time
from tests.loop.reference import Garden, garden
from tests.loop.world import gardening

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)

Loose = Unstructured.of("tests.example.com/v1", "Garden", plural="gardens")


async def loosen(client: Client) -> None:
    """Let the server take gardens that do not fit the Python type, as after an upgrade gone wrong."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
    patch = JsonPatch([{"op": "replace", "path": path, "value": anything}])
    await client.patch(CustomResourceDefinition, patch, name="gardens.tests.example.com")


def loose(name: str, text: object) -> Unstructured:
    return Loose(metadata=Metadata(name=name), content={"spec": {"text": text}})


async def write_card(obj: Garden, ctx: Context) -> None:
    await ctx.apply(ConfigMap(metadata=Metadata(name=obj.name), data={"text": obj.spec.text}))


@virtual_time()
async def test_an_undecodable_object_is_told_once_and_the_others_are_reconciled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with gardening(write_card, owns=[ConfigMap], resync=5 * MINUTE) as cluster:
        await loosen(cluster.client)
        await cluster.client.create(loose("bad", 5))
        await cluster.client.create(garden("good"))
        await cluster.wait_until(ConfigMap, "good", lambda _: True)
        await elapse(30 * MINUTE)
        events = [event async for event in cluster.client.list(Event)]
        metrics = cluster.operator.metrics.render()

    told = [record for record in caplog.records if "default/bad" in record.getMessage()]
    assert len(told) == 1
    assert "$.spec.text" in told[0].getMessage()
    assert [(event.reason, event.regarding.name, event.series) for event in events] == [("Undecodable", "bad", None)]
    assert 'kubewright_undecodable_objects_total{controller="garden"} 1' in metrics


@virtual_time()
async def test_an_object_that_was_undecodable_is_reconciled_once_it_is_mended() -> None:
    async with gardening(write_card, owns=[ConfigMap]) as cluster:
        await loosen(cluster.client)
        await cluster.client.create(loose("bad", 5))
        await elapse(SECOND)
        patch = JsonPatch([{"op": "replace", "path": "/spec/text", "value": "hi"}])
        await cluster.client.patch(Loose, patch, name="bad")

        await cluster.wait_until(ConfigMap, "bad", lambda card: card.data == {"text": "hi"})


@virtual_time()
async def test_an_object_spoilt_again_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    async with gardening(write_card, owns=[ConfigMap]) as cluster:
        await loosen(cluster.client)
        for text in (1, "mended", 2):
            patch = JsonPatch([{"op": "replace", "path": "/spec/text", "value": text}])
            if text == 1:
                await cluster.client.create(loose("bad", text))
            else:
                await cluster.client.patch(Loose, patch, name="bad")
            await elapse(SECOND)

    assert len([record for record in caplog.records if "default/bad" in record.getMessage()]) == 2


@virtual_time()
async def test_an_undecodable_object_does_not_keep_a_predicate_on_it_from_telling_of_it() -> None:
    async with gardening(write_card, owns=[ConfigMap], predicates=[where(lambda obj: obj.spec.text != "")]) as cluster:
        await loosen(cluster.client)
        await cluster.client.create(loose("bad", 5))
        await elapse(SECOND)
        events = [event.reason async for event in cluster.client.list(Event)]

    assert events == ["Undecodable"]


@virtual_time()
async def test_an_undecodable_object_of_a_watched_kind_maps_to_nobody_until_it_is_mended() -> None:
    seen: list[int] = []

    async def count(obj: ConfigMap, ctx: Context) -> None:
        seen.append(len(ctx.cache.list(Garden)))

    def config_of(obj: Garden, cache: Cache) -> list[Key]:
        return [Key(obj.namespace, obj.spec.text)]

    operator = Operator(
        "configs", [Controller(Garden, write_nothing), Controller(ConfigMap, count, watches=[Watch(Garden, config_of)])]
    )
    async with running(operator) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="config")))
        await loosen(cluster.client)
        await cluster.client.create(loose("bad", 5))
        await elapse(SECOND)
        patch = JsonPatch([{"op": "replace", "path": "/spec/text", "value": "config"}])
        await cluster.client.patch(Loose, patch, name="bad")
        await elapse(SECOND)

    assert list(dict.fromkeys(seen)) == [0, 1]


async def write_nothing(obj: Any, ctx: Context) -> None:
    return None

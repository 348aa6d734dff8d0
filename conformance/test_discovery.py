"""What the client's discovery rests on: how an API server tells what it serves."""

from __future__ import annotations

import asyncio
import importlib

from kubewright import Client, Metadata, Resource, Unstructured
from kubewright.errors import NotServed
from kubewright.kinds import modules

CRD = Unstructured.of("apiextensions.k8s.io/v1", "CustomResourceDefinition")


async def test_every_built_in_kind_is_served_where_its_class_says(client: Client):
    served = {(found.api_version, found.kind): found for found in await client.discovery.resources()}
    wrong = []

    for name in modules():
        module = importlib.import_module(name)
        for exported in module.__all__:
            kind = getattr(module, exported)
            if not issubclass(kind, Resource):
                continue
            found = served.get((kind.api_version, kind.kind))
            if found is not None and found != kind.api_resource:
                wrong.append((kind.api_resource, found))

    assert wrong == []


async def test_a_new_custom_resource_is_found_without_a_restart(client: Client):
    Widget = Unstructured.of("round.example.com/v1", "Widget")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    names = {"plural": "widgetry", "kind": "Widget"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "round.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = CRD(metadata=Metadata(name="widgetry.round.example.com"), content={"spec": spec})

    await client.discovery.resources()
    await client.create(definition)
    async with asyncio.timeout(20):
        created = await _create_when_served(client, Widget(metadata=Metadata(name="w"), content={"spec": {"a": 1}}))

    assert created["spec"] == {"a": 1}
    await client.delete(CRD, "widgetry.round.example.com")


async def _create_when_served(client: Client, obj: Unstructured) -> Unstructured:
    while True:
        try:
            return await client.create(obj)
        except NotServed:
            continue

"""The API server alone: in this process, with a kind of your own, applied, watched and patched."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any

from kubewright import (
    Client,
    InProcessTransport,
    ListMap,
    MergePatch,
    Metadata,
    Model,
    Quantity,
    Resource,
    Status,
    Unstructured,
)
from kubewright.errors import ApplyConflict, Invalid
from kubewright_apiserver import ApiServer


class Component(Model):
    """One part of a Service."""

    name: str
    replicas: int = 1
    memory: Quantity | None = None


class ServiceSpec(Model):
    """What is wanted: components, told apart by name."""

    components: Annotated[list[Component], ListMap("name")] = []


class Service(Resource, group="myservice.io", version="v1alpha1"):
    """A service of several components."""

    spec: ServiceSpec
    status: Status = Status()


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "components": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": {"type": "string"},
                            "replicas": {"type": "integer", "minimum": 0, "maximum": 10, "default": 1},
                            "memory": {"x-kubernetes-int-or-string": True},
                        },
                    },
                }
            },
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
DEFINITION = Unstructured.of("apiextensions.k8s.io/v1", "CustomResourceDefinition")(
    metadata=Metadata(name="services.myservice.io"),
    content={
        "spec": {
            "group": "myservice.io",
            "scope": "Namespaced",
            "names": {"plural": "services", "kind": "Service"},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": SCHEMA},
                    "subresources": {"status": {}},
                }
            ],
        }
    },
)


def show(title: str, value: object = "") -> None:
    """Print a step of the demonstration."""
    print(f"▸ {title}" + (f"\n    {value}" if value else ""))


async def tour(client: Client) -> None:
    """Walk through the life of one object."""
    await client.create(DEFINITION)
    show("a CustomResourceDefinition is installed, and its kind is served at once", "services.myservice.io")

    web = Service(metadata=Metadata(name="shop"), spec=ServiceSpec(components=[Component(name="web", replicas=2)]))
    shop = await client.using(field_manager="team-web").apply(web)
    db = Service(metadata=Metadata(name="shop"), spec=ServiceSpec(components=[Component(name="db", replicas=1)]))
    shop = await client.using(field_manager="team-db").apply(db)
    show("two teams apply their parts of one object", [component.name for component in shop.spec.components])

    more = Service(metadata=Metadata(name="shop"), spec=ServiceSpec(components=[Component(name="web", replicas=9)]))
    try:
        await client.using(field_manager="team-db").apply(more)
    except ApplyConflict as conflict:
        show("… and none takes the other's fields unasked", conflict)

    try:
        await client.patch(shop, MergePatch({"spec": {"components": [{"name": "web", "replicas": 99}]}}))
    except Invalid as refused:
        show("the schema is kept", refused)

    shop.status.set("Ready", True, reason="Serving")
    await client.update(shop, subresource="status")
    events = [event async for event in _changes(client)]
    show("a watch tells what is there", [(event.type, event.object.name) for event in events if not event.synced])
    stored = await client.get(Service, "shop")
    ready = stored.status.get("Ready")
    show("as it is stored", f"{stored.spec}, Ready since {ready.last_transition_time if ready else None}")


async def _changes(client: Client) -> Any:
    async for event in client.watch(Service):
        yield event
        if event.synced:
            return


async def main() -> None:
    """Start a server in this process and walk through it."""
    began = time.perf_counter()
    async with ApiServer(listens=False) as server:
        show(f"a Kubernetes API server runs in this process, ready in {(time.perf_counter() - began) * 1000:.0f} ms")
        await tour(Client(transport=InProcessTransport(server.handle)))
    print("\nNext: `make test`, and README.md for the client. The operator loop comes next.")


if __name__ == "__main__":
    asyncio.run(main())

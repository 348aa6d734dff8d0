"""An embedded API server and a client in virtual time, for tests of what stands between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from kubewright.api import Metadata
from kubewright.client import Client, Handler, InProcessTransport, Interceptor, Watch
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime
from kubewright.testing.faults import FaultyTransport
from kubewright_apiserver import ApiServer


class Embedded(NamedTuple):
    server: ApiServer
    network: FaultyTransport
    client: Client
    direct: Client
    """A client that no fault touches."""


def new_server() -> ApiServer:
    virtual = VirtualTime.current()
    return ApiServer(listens=False, clock=virtual.now, dice=virtual.dice_of("server"))


def new_client(handler: Handler, *faults: Interceptor, **options: Any) -> tuple[FaultyTransport, Client]:
    network = FaultyTransport(InProcessTransport(handler), *faults)
    return network, Client(transport=network, dice=VirtualTime.current().dice_of("client"), **options)


@asynccontextmanager
async def embedded(*faults: Interceptor, **options: Any) -> AsyncIterator[Embedded]:
    async with new_server() as server:
        network, client = new_client(server.handle, *faults, **options)
        async with client, new_client(server.handle)[1] as direct:
            yield Embedded(server, network, client, direct)


def card(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name), data=data)


async def first_names(watch: Watch[ConfigMap], count: int) -> list[str]:
    """Type and name of the first changes."""
    seen: list[str] = []
    async for event in watch:
        if event.type != "BOOKMARK":
            seen.append(f"{event.type} {event.object.name}")
        if len(seen) >= count:
            break
    return seen

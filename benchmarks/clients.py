"""Each client as its documentation shows it: two coroutine functions, one gets a pod by name, one lists all pods."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from typing import Any, TypeAlias

    from kubewright import Resource

    Calls: TypeAlias = tuple[Callable[[str], Awaitable[Any]], Callable[[], Awaitable[Any]]]
    Opened: TypeAlias = AbstractAsyncContextManager[Calls]
    Client: TypeAlias = Callable[[], Opened]

__all__ = [
    "aiohttp_typed",
    "aiohttp_untyped",
    "kr8s",
    "kubernetes",
    "kubernetes_asyncio",
    "kubewright",
    "kubewright_untyped",
    "kubewright_whole",
    "lightkube",
]


@asynccontextmanager
async def _aiohttp(decode: Callable[[bytes], Any]) -> AsyncIterator[Calls]:
    import aiohttp

    server = os.environ["BENCHMARK_SERVER"]

    async def read(path: str) -> Any:
        async with session.get(server + path) as response:
            return decode(await response.read())

    async def list_pods() -> Any:
        return (await read("/api/v1/pods"))["items"]

    async with aiohttp.ClientSession() as session:
        yield lambda name: read(f"/api/v1/namespaces/default/pods/{name}"), list_pods


def aiohttp_untyped() -> Opened:
    """aiohttp alone, answers decoded to dicts."""
    import msgspec

    return _aiohttp(msgspec.json.decode)


def aiohttp_typed() -> Opened:
    """aiohttp alone, answers decoded to the same class as kubewright's."""
    import msgspec

    from kubewright import MicroTime, Quantity
    from kubewright.kinds.core_v1 import Pod

    def read_scalar(kind: type, value: Any) -> Any:
        return MicroTime.parse(value) if kind is MicroTime else Quantity(value)

    return _aiohttp(msgspec.json.Decoder(Pod, dec_hook=read_scalar).decode)


@asynccontextmanager
async def _kubewright(kind: type[Resource], **listing: Any) -> AsyncIterator[Calls]:
    from kubewright import ALL_NAMESPACES, Client

    async def list_pods() -> Any:
        return await client.list(kind, namespace=ALL_NAMESPACES, **listing)

    async with Client() as client:
        yield lambda name: client.get(kind, name), list_pods


def kubewright(**listing: Any) -> Opened:
    """kubewright with the class of pods; a list is fetched by pages of 500."""
    from kubewright.kinds.core_v1 import Pod

    return _kubewright(Pod, **listing)


def kubewright_whole() -> Opened:
    """kubewright with the class of pods; a list is fetched in one piece."""
    return kubewright(page_size=0)


def kubewright_untyped() -> Opened:
    """kubewright with dicts."""
    from kubewright import Unstructured

    return _kubewright(Unstructured.of("v1", "Pod"))


@asynccontextmanager
async def lightkube() -> AsyncIterator[Calls]:
    """lightkube with its models; a list is fetched in one piece."""
    from lightkube import AsyncClient
    from lightkube.resources.core_v1 import Pod

    async def list_pods() -> Any:
        return [pod async for pod in client.list(Pod, namespace="*")]

    async with AsyncClient() as client:
        yield lambda name: client.get(Pod, name, namespace="default"), list_pods


@asynccontextmanager
async def kr8s() -> AsyncIterator[Calls]:
    """kr8s; a list is fetched by pages of 100, a get is a list with a field selector."""
    import kr8s
    from kr8s.asyncio.objects import Pod

    api = await kr8s.asyncio.api()

    async def list_pods() -> Any:
        return [pod async for pod in api.get("pods", namespace=kr8s.ALL)]

    yield lambda name: Pod.get(name, namespace="default", api=api), list_pods


@asynccontextmanager
async def kubernetes() -> AsyncIterator[Calls]:
    """The official client, which blocks; a list is fetched in one piece."""
    from kubernetes import client, config

    config.load_kube_config()
    api = client.CoreV1Api()

    async def get_pod(name: str) -> Any:
        return api.read_namespaced_pod(name, "default")

    async def list_pods() -> Any:
        return api.list_pod_for_all_namespaces().items

    yield get_pod, list_pods


@asynccontextmanager
async def kubernetes_asyncio() -> AsyncIterator[Calls]:
    """kubernetes-asyncio; a list is fetched in one piece."""
    from kubernetes_asyncio import client, config

    await config.load_kube_config()
    async with client.ApiClient() as connection:
        api = client.CoreV1Api(connection)

        async def list_pods() -> Any:
            return (await api.list_pod_for_all_namespaces()).items

        yield lambda name: api.read_namespaced_pod(name, "default"), list_pods

"""Logs of pods that run nowhere, and proxies to what is not there; ``test_streaming`` has the rest of connecting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import PODS, pod

pytestmark = pytest.mark.section("1.4")

SERVICES = "/api/v1/namespaces/{ns}/services"
NODES = "/api/v1/nodes"
LOCAL = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
}


async def made(api: Api, path: str, obj: dict[str, Any]) -> None:
    with api.unrecorded():
        assert (await api.post(path, obj)).status == 201


@asynccontextmanager
async def node(api: Api, status: dict[str, Any] | None = None) -> AsyncIterator[None]:
    """Inside the block, a node that has the name of the case's namespace."""
    await made(api, NODES, {"metadata": {"name": api.namespace}})
    if status is not None:
        with api.unrecorded():
            await api.patch(f"{NODES}/{api.namespace}/status", {"status": status}, type="merge")
    yield
    with api.unrecorded():
        await api.delete(f"{NODES}/{api.namespace}")


async def test_the_log_of_a_pod_on_no_node_is_empty(api: Api):
    await made(api, PODS, pod("p", initContainers=[{"name": "i", "image": "i"}]))
    for query in ({}, {"container": "i"}, {"container": "nope"}, {"follow": "true", "tailLines": "3"}):
        await api.get(f"{PODS}/p/log", query=query)
    await api.get(f"{PODS}/nope/log")


async def test_a_proxy_to_a_node_without_an_address(api: Api):
    async with node(api):
        await api.get(f"{NODES}/{api.namespace}/proxy/healthz")


async def test_a_proxy_to_a_node_whose_kubelet_does_not_answer(api: Api):
    async with node(api, LOCAL):
        await api.get(f"{NODES}/{api.namespace}/proxy/logs")


async def test_a_proxy_to_what_is_nowhere(api: Api):
    await made(api, PODS, pod("p"))
    await made(api, SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    for path in ("p/proxy", "p:8080/proxy/a/b", "nope/proxy", "a:b:c:d/proxy"):
        await api.get(f"{PODS}/{path}")
    for path in ("s/proxy", "nope/proxy/", "s:90/proxy"):
        await api.get(f"{SERVICES}/{path}")
    await api.get(f"{NODES}/nope/proxy/healthz")

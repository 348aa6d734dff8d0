"""log, exec, attach, portforward and proxy where no kubelet runs and nobody listens."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import PODS, pod

pytestmark = pytest.mark.section("1.4")

UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "X-Stream-Protocol-Version": "v4.channel.k8s.io"}
SERVICES = "/api/v1/namespaces/{ns}/services"
NODES = "/api/v1/nodes"
LOCAL = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
}


async def made(api: Api, path: str, obj: dict[str, Any]) -> None:
    with api.unrecorded():
        assert (await api.post(path, obj)).status == 201


async def node(api: Api, status: dict[str, Any] | None = None) -> None:
    """A node that has the name of the case's namespace, and the pod ``p`` on it."""
    await made(api, NODES, {"metadata": {"name": api.namespace}})
    await made(api, PODS, pod("p", nodeName=api.namespace))
    if status is not None:
        with api.unrecorded():
            await api.patch(f"{NODES}/{api.namespace}/status", {"status": status}, type="merge")


async def test_the_log_of_a_pod_on_no_node_is_empty(api: Api):
    await made(api, PODS, pod("p", initContainers=[{"name": "i", "image": "i"}]))
    for query in ({}, {"container": "i"}, {"container": "nope"}, {"follow": "true", "tailLines": "3"}):
        await api.get(f"{PODS}/p/log", query=query)
    await api.get(f"{PODS}/nope/log")


async def test_one_of_several_containers_must_be_named(api: Api):
    containers = [{"name": name, "image": "i"} for name in "cd"]
    await made(api, PODS, pod("p", containers=containers, initContainers=[{"name": "i", "image": "i"}]))
    await api.get(f"{PODS}/p/log")
    await api.get(f"{PODS}/p/log", query={"container": "d"})
    await api.post(f"{PODS}/p/exec", None, query={"command": "date", "stdout": "true"})


async def test_options_of_a_log_are_checked(api: Api):
    await made(api, PODS, pod("p"))
    for query in (
        {"tailLines": "-1"},
        {"limitBytes": "0", "sinceSeconds": "0"},
        {"sinceSeconds": "1", "sinceTime": "2020-01-01T00:00:00Z"},
        {"sinceTime": "yesterday"},
        {"tailLines": "x"},
        {"stream": "Stdout"},
    ):
        await api.get(f"{PODS}/p/log", query=query)


@pytest.mark.parametrize("part", ["exec", "attach", "portforward"])
async def test_no_connection_to_a_pod_on_no_node(api: Api, part: str):
    await made(api, PODS, pod("p"))
    await api.get(f"{PODS}/p/{part}", query={"command": "date", "stdout": "true"})
    await api.post(f"{PODS}/p/{part}", None, query={"container": "nope", "stdout": "true"})
    await api.get(f"{PODS}/nope/{part}")
    await api.put(f"{PODS}/p/{part}", pod("p"))


async def test_a_pod_on_a_node_that_is_not_there(api: Api):
    await made(api, PODS, pod("p", nodeName="nowhere"))
    await api.get(f"{PODS}/p/log")
    await api.get(f"{PODS}/p/exec", query={"command": "date", "stdout": "true"})


async def test_a_node_without_an_address(api: Api):
    await node(api)
    await api.get(f"{PODS}/p/log")
    await api.get(f"{PODS}/p/attach", query={"stdout": "true"})
    await api.get(f"{NODES}/{api.namespace}/proxy/healthz")


async def test_a_node_whose_kubelet_does_not_answer(api: Api):
    await node(api, LOCAL)
    await api.get(f"{PODS}/p/log", query={"follow": "true", "tailLines": "3", "timestamps": "true"})
    await api.get(f"{PODS}/p/exec", query={"command": "date", "stdout": "true"})
    await api.get(f"{PODS}/p/exec", query={"command": "date", "stdout": "true"}, headers=UPGRADE)
    await api.get(f"{NODES}/{api.namespace}/proxy/logs")


async def test_a_proxy_to_what_is_nowhere(api: Api):
    await made(api, PODS, pod("p"))
    await made(api, SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    for path in ("p/proxy", "p:8080/proxy/a/b", "nope/proxy", "a:b:c:d/proxy"):
        await api.get(f"{PODS}/{path}")
    for path in ("s/proxy", "nope/proxy/", "s:90/proxy"):
        await api.get(f"{SERVICES}/{path}")
    await api.get(f"{NODES}/nope/proxy/healthz")

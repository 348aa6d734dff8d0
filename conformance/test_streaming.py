"""§1.4 log, exec, attach and portforward: what the server says before a kubelet does, and where none is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from conformance.exchange import Api
from conformance.rights import Rights, rule
from kubewright.client import Transport

pytestmark = pytest.mark.section("1.4")

PODS = "/api/v1/namespaces/{ns}/pods"
CONNECTED = "pods/exec,pods/attach,pods/portforward,pods/log"
V5, V4, TUNNEL = "v5.channel.k8s.io", "v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}
PARTS = ("exec?command=date&stdout=true", "attach?stdout=true", "portforward?ports=80")


def pod(name: str, *containers: str, node: str = "", **spec: Any) -> dict[str, Any]:
    made = {"containers": [{"name": one, "image": "i"} for one in containers or ("c",)], **spec}
    return {"metadata": {"name": name}, "spec": made | ({"nodeName": node} if node else {})}


@pytest_asyncio.fixture
async def node(api: Api) -> AsyncIterator[str]:
    """A node whose kubelet is not there: nobody listens at its port."""
    with api.unrecorded():
        await api.post("/api/v1/nodes", {"metadata": {"name": api.namespace}})
        await report(api)
    yield api.namespace
    with api.unrecorded():
        await api.delete("/api/v1/nodes/{ns}")


async def report(api: Api, **status: Any) -> None:
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    told = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}, **status}
    with api.unrecorded():
        await api.patch("/api/v1/nodes/{ns}/status", {"status": told})


async def make(api: Api, *pods: dict[str, Any]) -> None:
    with api.unrecorded():
        for one in pods:
            answer = await api.post(PODS, one)
            assert answer.status == 201, answer.text


@pytest.mark.parametrize("part", ["log", *PARTS])
async def test_a_pod_that_is_not_there(api: Api, part: str):
    await api.get(f"{PODS}/nope/{part}")


@pytest.mark.parametrize("part", ["log", *PARTS])
async def test_a_pod_on_no_node(api: Api, part: str):
    await make(api, pod("free"))

    await api.get(f"{PODS}/free/{part}")


@pytest.mark.parametrize("part", ["log?", *(f"{part}&" for part in PARTS[:2])])
async def test_which_container_is_meant(api: Api, part: str):
    await make(api, pod("one"), pod("two", "c", "d", initContainers=[{"name": "before", "image": "i"}]))

    await api.get(f"{PODS}/two/{part}")
    await api.get(f"{PODS}/two/{part}container=before")
    await api.get(f"{PODS}/two/{part}container=nothing")
    await api.get(f"{PODS}/one/{part}container=nothing")
    await api.get(f"{PODS}/one/{part}container=")


@pytest.mark.parametrize("part", ["log", *PARTS])
async def test_a_node_that_is_not_there(api: Api, part: str):
    await make(api, pod("lost", node="nowhere"))

    await api.get(f"{PODS}/lost/{part}", headers=UPGRADE)


async def test_a_node_without_an_address(api: Api, node: str):
    await report(api, addresses=None)
    await make(api, pod("p", node=node))
    for part in ("log", *PARTS):
        await api.get(f"{PODS}/p/{part}", headers=UPGRADE)

    await report(api, addresses=[{"type": "Other", "address": "x"}, {"type": "Another", "address": "y"}])
    await api.get(f"{PODS}/p/log")


@pytest.mark.parametrize(
    "query",
    [
        "",
        "follow=true&previous=true&timestamps=true&container=c",
        "sinceSeconds=5&tailLines=3&limitBytes=100",
        "sinceTime=2024-01-01T00:00:00Z&insecureSkipTLSVerifyBackend=true",
        "tailLines=0",
        "follow=false&pretty=true",
    ],
)
async def test_a_log_of_a_node_where_nobody_listens(api: Api, node: str, query: str):
    await make(api, pod("p", node=node))

    await api.get(f"{PODS}/p/log?{query}")


@pytest.mark.parametrize(
    "query",
    [
        "tailLines=-1",
        "tailLines=x",
        "limitBytes=0",
        "sinceSeconds=0",
        "sinceSeconds=-5&limitBytes=-1&tailLines=-1",
        "sinceSeconds=5&sinceTime=2024-01-01T00:00:00Z",
        "sinceTime=yesterday",
        "stream=Stdout",
        "follow=perhaps",
    ],
)
async def test_a_log_that_makes_no_sense(api: Api, query: str):
    await make(api, pod("free"))

    await api.get(f"{PODS}/free/log?{query}")


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("protocol", [V4, "nonsense", ""])
async def test_a_connection_to_a_node_where_nobody_listens(api: Api, node: str, part: str, protocol: str):
    await make(api, pod("p", node=node))

    await api.get(f"{PODS}/p/{part}", headers=UPGRADE | {"Sec-WebSocket-Protocol": protocol})
    await api.get(f"{PODS}/p/{part}")
    await api.post(f"{PODS}/p/{part}", b"", headers={"Connection": "Upgrade", "Upgrade": "SPDY/3.1"})


async def test_a_tunnel_to_a_node_where_nobody_listens(api: Api, node: str):
    await make(api, pod("p", node=node))

    await api.get(f"{PODS}/p/portforward", headers=UPGRADE | {"Sec-WebSocket-Protocol": TUNNEL})


@pytest.mark.parametrize("part", PARTS[:2])
async def test_a_node_that_speaks_web_sockets_itself_and_where_nobody_listens(api: Api, node: str, part: str):
    await report(api, declaredFeatures=["ExtendWebSocketsToKubelet"])
    await make(api, pod("p", node=node))

    await api.get(f"{PODS}/p/{part}", headers=UPGRADE | {"Sec-WebSocket-Protocol": f"{V5}, {V4}"})


@pytest.mark.parametrize(
    "part",
    [
        *PARTS[:2],
        "exec",
        "exec?command=a%20b&command=%26&stdin=true&stdout=1&stderr=true&tty=true",
        "attach?stdin=true&stdout=false",
    ],
)
async def test_what_is_told_on_a_web_socket_that_came_about_before(
    api: Api, transport: Transport, node: str, part: str
):
    await make(api, pod("p", node=node))

    socket = await transport.connect(api.request("GET", f"{PODS}/p/{part}"), [V5, V4])
    api.note("subprotocol", socket.subprotocol)
    while (message := await socket.receive()) is not None:
        api.note(f"channel {message[0]}", json.loads(message[1:] or b"null"))
    await socket.aclose()


@pytest.mark.parametrize(
    "query",
    [
        "ports=x",
        "ports=80&ports=y",
        "ports=-1",
        "ports=0&ports=80",
        "ports=99999999999",
        "ports=65536",
        "ports=80,081",
        "ports=80,",
        "",
    ],
)
async def test_ports_that_are_none(api: Api, node: str, query: str):
    await make(api, pod("p", node=node), pod("free"))

    await api.get(f"{PODS}/p/portforward?{query}", headers=UPGRADE | {"Sec-WebSocket-Protocol": V4})
    await api.get(f"{PODS}/free/portforward?{query}")


@pytest.mark.parametrize("part", ["log", *PARTS])
async def test_who_may_only_get(api: Api, rights: Rights, part: str):
    await make(api, pod("free"))
    await rights.grant("jane", rule("get", CONNECTED))
    jane = api.acting_as("jane")

    await jane.get(f"{PODS}/free/{part}")
    await jane.get(f"{PODS}/nope/{part}")
    await jane.post(f"{PODS}/free/{part}", b"")


@pytest.mark.parametrize("part", PARTS)
async def test_who_may_only_create(api: Api, rights: Rights, part: str):
    await make(api, pod("free"))
    await rights.grant("jane", rule("create", CONNECTED))
    jane = api.acting_as("jane")

    await jane.get(f"{PODS}/free/{part}")
    await jane.post(f"{PODS}/free/{part}", b"")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("part", ["log", "exec", "portforward"])
async def test_methods_that_connect_nothing(api: Api, method: str, part: str):
    await make(api, pod("free"))

    await api.call(method, f"{PODS}/free/{part}")

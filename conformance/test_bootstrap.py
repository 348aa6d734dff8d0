"""What a cluster holds before anybody made anything, and what comes and goes with a Service."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.4")

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
NETWORKING = "/apis/networking.k8s.io/v1"
SERVICES = "/api/v1/namespaces/{ns}/services"


@pytest.mark.parametrize(
    "path",
    [
        "/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical",
        "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
        f"{NETWORKING}/servicecidrs/kubernetes",
        f"{NETWORKING}/ipaddresses/10.0.0.1",
        f"{FLOW}/flowschemas/catch-all",
        f"{FLOW}/flowschemas/exempt",
        f"{FLOW}/prioritylevelconfigurations/exempt",
        f"{FLOW}/prioritylevelconfigurations/workload-low",
        "/apis/apiregistration.k8s.io/v1/apiservices/v1.",
        "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/kube-node-lease",
    ],
)
async def test_what_is_there_from_the_start(api: Api, path: str):
    await api.get(path)


@pytest.mark.parametrize(
    "path",
    [
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        f"{FLOW}/flowschemas",
        f"{FLOW}/prioritylevelconfigurations",
        f"{NETWORKING}/servicecidrs",
    ],
)
async def test_nothing_else_of_its_kind_is_there(api: Api, path: str):
    await api.get(path)


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}


async def address_of(api: Api) -> str:
    with api.unrecorded():
        address: str = (await api.get(SERVICES + "/s")).body["spec"]["clusterIP"]
    return f"{NETWORKING}/ipaddresses/{address}"


async def test_the_address_of_a_service_is_an_object(api: Api):
    await api.post(SERVICES, service())
    address = await address_of(api)
    await api.get(address)
    await api.patch(SERVICES + "/s", {"spec": {"selector": {"a": "b"}}})
    await api.get(address)
    await api.delete(SERVICES + "/s")
    await api.get(address)


async def test_a_service_that_gives_its_address_back(api: Api):
    await api.post(SERVICES, service())
    address = await address_of(api)
    await api.patch(SERVICES + "/s", {"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIP": None}})
    await api.get(address)
    await api.patch(SERVICES + "/s", {"spec": {"type": "ClusterIP", "externalName": None}})
    await api.get(await address_of(api))


async def test_a_service_that_ends_with_its_last_finalizer(api: Api):
    body = service()
    body["metadata"]["finalizers"] = ["example.com/x"]
    await api.post(SERVICES, body)
    address = await address_of(api)
    await api.delete(SERVICES + "/s")
    await api.get(address)
    await api.patch(SERVICES + "/s", {"metadata": {"finalizers": None}})
    await api.get(address)


async def test_a_service_that_is_not_made_has_no_address(api: Api):
    await api.post(SERVICES, service(clusterIP="10.0.0.254"), query={"dryRun": "All"})
    await api.get(f"{NETWORKING}/ipaddresses/10.0.0.254")
    await api.post(SERVICES, service(clusterIP="None"))
    await api.get(f"{NETWORKING}/ipaddresses/None")

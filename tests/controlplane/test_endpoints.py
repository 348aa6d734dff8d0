"""Endpoints and EndpointSlices: who stands behind a Service, and how that is told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kubewright.api import Metadata, now
from kubewright.client import Client, MergePatch, Request, Response, Send
from kubewright.controlplane.endpoints import endpoints_loop, endpointslice_loop
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import (
    Container,
    ContainerPort,
    EndpointAddress,
    Endpoints,
    EndpointSubset,
    Namespace,
    Node,
    Pod,
    PodCondition,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)
from kubewright.kinds.discovery_v1 import EndpointSlice
from kubewright.kinds.events_v1 import Event
from kubewright.testing import elapse, embedded_server, virtual_time
from kubewright.testing.faults import refuse
from tests.controlplane.clusters import client_of, loops_on, loops_running
from tests.controlplane.crashes import When, end_after_crash

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HTTP = ServicePort(name="http", port=80, target_port="http", protocol="TCP")
METRICS = ServicePort(name="metrics", port=9100, target_port=9100, protocol="TCP", app_protocol="h2c")


async def nodes(client: Client) -> None:
    await client.create(Node(metadata=Metadata(name="n1", labels={"topology.kubernetes.io/zone": "a"})))
    await client.create(Node(metadata=Metadata(name="n2")))


async def pod(
    client: Client, name: str, *ips: str, ready: bool = True, node: str = "n1", port: int = 8080, **spec: Any
) -> Pod:
    containers = [Container(name="c", image="i", ports=[ContainerPort(name="http", container_port=port)])]
    metadata = Metadata(name=name, namespace="default", labels={"app": "x", "name": name})
    made = await client.create(Pod(metadata=metadata, spec=PodSpec(node_name=node, containers=containers, **spec)))
    return await set_status(client, made, *ips, ready=ready)


async def set_status(client: Client, pod: Pod, *ips: str, ready: bool, phase: str = "Running") -> Pod:
    found = await client.get(Pod, pod.name)
    condition = PodCondition(type="Ready", status="True" if ready else "False", last_transition_time=now())
    pod_ips = [PodIP(ip=ip) for ip in ips]
    found.status = PodStatus(phase=phase, conditions=[condition], pod_ip=ips[0] if ips else "", pod_ips=pod_ips)
    return await client.update(found, subresource="status")


async def service(client: Client, name: str = "web", labels: dict[str, str] | None = None, **spec: Any) -> Service:
    spec = {"selector": {"app": "x"}, "ports": [HTTP], **spec}
    return await client.create(
        Service(metadata=Metadata(name=name, namespace="default", labels=labels or {}), spec=ServiceSpec(**spec))
    )


async def endpoints(client: Client, name: str = "web") -> Endpoints:
    return await client.get(Endpoints, name)


async def slices(client: Client, name: str = "web") -> list[EndpointSlice]:
    found = await client.list(EndpointSlice, namespace="default", labels={"kubernetes.io/service-name": name})
    return sorted(found, key=lambda slice: (slice.address_type, str(slice.ports)))


def told(subsets: list[EndpointSubset]) -> list[tuple[list[str], list[str], list[int]]]:
    def ips(addresses: list[EndpointAddress]) -> list[str]:
        return [address.ip for address in addresses]

    return sorted(
        (ips(subset.addresses), ips(subset.not_ready_addresses), [port.port for port in subset.ports])
        for subset in subsets
    )


def shown(slice: EndpointSlice) -> list[tuple[str, bool, bool, bool]]:
    found = []
    for endpoint in slice.endpoints:
        state = endpoint.conditions
        assert state is not None
        found.append((endpoint.addresses[0], bool(state.ready), bool(state.serving), bool(state.terminating)))
    return sorted(found)


@virtual_time()
async def test_endpoints_list_ready_and_unready_pods_by_their_ports() -> None:
    async with loops_running(endpoints_loop()) as client:
        await pod(client, "a", "10.0.0.1")
        await pod(client, "b", "10.0.0.2", ready=False)
        await pod(client, "c", "10.0.0.3", port=9090)
        await service(client, labels={"tier": "front"}, ports=[HTTP, METRICS])

        await elapse(SECOND)

        found = await endpoints(client)
        assert told(found.subsets) == [
            (["10.0.0.1"], ["10.0.0.2"], [8080]),
            (["10.0.0.1", "10.0.0.3"], ["10.0.0.2"], [9100]),
            (["10.0.0.3"], [], [9090]),
        ]
        assert found.metadata.labels == {"tier": "front", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        assert "endpoints.kubernetes.io/last-change-trigger-time" in found.metadata.annotations
        target = next(subset for subset in found.subsets if subset.ports[0].port == 9090).addresses[0].target_ref
        assert target is not None
        assert (target.kind, target.name, target.namespace, target.api_version) == ("Pod", "c", "default", None)


@virtual_time()
async def test_endpoints_follow_their_pods() -> None:
    async with loops_running(endpoints_loop()) as client:
        await service(client)
        await elapse(SECOND)
        assert (await endpoints(client)).subsets == []

        made = await pod(client, "a", "10.0.0.1", ready=False)
        await elapse(SECOND)
        assert told((await endpoints(client)).subsets) == [([], ["10.0.0.1"], [8080])]

        await set_status(client, made, "10.0.0.1", ready=True)
        await elapse(SECOND)
        assert told((await endpoints(client)).subsets) == [(["10.0.0.1"], [], [8080])]

        await client.patch(Pod, MergePatch({"metadata": {"labels": {"app": "other"}}}), name="a")
        await elapse(SECOND)
        assert (await endpoints(client)).subsets == []


@virtual_time()
async def test_pods_that_ended_or_end_or_have_no_address_are_no_endpoints() -> None:
    async with loops_running(endpoints_loop()) as client:
        await pod(client, "a", "10.0.0.1")
        failed = await pod(client, "b", "10.0.0.2")
        await set_status(client, failed, "10.0.0.2", ready=True, phase="Failed")
        await pod(client, "c")
        await client.delete(await pod(client, "d", "10.0.0.4"))
        await service(client)

        await elapse(SECOND)

        assert told((await endpoints(client)).subsets) == [(["10.0.0.1"], [], [8080])]


@virtual_time()
async def test_a_service_may_publish_what_is_not_ready_or_ends() -> None:
    async with loops_running(endpoints_loop(), endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1", ready=False)
        await client.delete(await pod(client, "b", "10.0.0.2"))
        await service(client, publish_not_ready_addresses=True)

        await elapse(SECOND)

        assert told((await endpoints(client)).subsets) == [(["10.0.0.1", "10.0.0.2"], [], [8080])]
        [slice] = await slices(client)
        assert shown(slice) == [("10.0.0.1", True, False, False), ("10.0.0.2", True, True, True)]


@virtual_time()
async def test_a_headless_service_without_ports_has_addresses_and_host_names() -> None:
    async with loops_running(endpoints_loop(), endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1", hostname="first", subdomain="web")
        await pod(client, "b", "10.0.0.2", hostname="second", subdomain="other")
        await service(client, cluster_ip="None", ports=[])

        await elapse(SECOND)

        found = await endpoints(client)
        [subset] = found.subsets
        assert [(address.ip, address.hostname) for address in subset.addresses] == [
            ("10.0.0.1", "first"),
            ("10.0.0.2", None),
        ]
        assert subset.ports == []
        assert found.metadata.labels["service.kubernetes.io/headless"] == ""
        [slice] = await slices(client)
        assert sorted((one.addresses[0], one.hostname) for one in slice.endpoints) == [
            ("10.0.0.1", "first"),
            ("10.0.0.2", None),
        ]
        assert slice.metadata.labels["service.kubernetes.io/headless"] == ""


@pytest.mark.parametrize("spec", [{"selector": {}}, {"type": "ExternalName", "external_name": "a.example"}])
@virtual_time()
async def test_services_without_pods_of_their_own_are_left_to_others(spec: dict[str, Any]) -> None:
    async with loops_running(endpoints_loop(), endpointslice_loop()) as client:
        await pod(client, "a", "10.0.0.1")
        await service(client, **spec)

        await elapse(SECOND)

        with pytest.raises(NotFound):
            await endpoints(client)
        assert await slices(client) == []


@virtual_time()
async def test_endpoints_go_with_their_service() -> None:
    async with loops_running(endpoints_loop()) as client:
        made = await service(client)
        await elapse(SECOND)
        await endpoints(client)

        await client.delete(made)
        await elapse(SECOND)

        with pytest.raises(NotFound):
            await endpoints(client)


@virtual_time()
async def test_endpoints_that_people_wrote_are_left_alone_while_the_loop_runs() -> None:
    async with loops_running(endpoints_loop()) as client:
        await elapse(SECOND)
        await client.create(Endpoints(metadata=Metadata(name="mine", namespace="default")))

        await elapse(10 * MINUTE)

        assert (await endpoints(client, "mine")).name == "mine"


@virtual_time()
async def test_endpoints_that_are_deleted_come_back() -> None:
    async with loops_running(endpoints_loop()) as client:
        await service(client)
        await elapse(SECOND)

        await client.delete(await endpoints(client))
        await elapse(SECOND)

        assert (await endpoints(client)).name == "web"


@virtual_time()
async def test_endpoints_without_news_are_not_written() -> None:
    async with loops_running(endpoints_loop(), endpointslice_loop()) as client:
        await nodes(client)
        made = await pod(client, "a", "10.0.0.1")
        await service(client, ports=[METRICS, HTTP])
        await elapse(SECOND)
        before = [(await endpoints(client)).metadata.resource_version]
        before += [slice.metadata.resource_version for slice in await slices(client)]

        await client.patch(Pod, MergePatch({"metadata": {"annotations": {"a": "b"}}}), name=made.name)
        await client.patch(Service, MergePatch({"metadata": {"annotations": {"a": "b"}}}), name="web")
        await elapse(20 * MINUTE)

        after = [(await endpoints(client)).metadata.resource_version]
        after += [slice.metadata.resource_version for slice in await slices(client)]
        assert before == after


@virtual_time()
async def test_what_endpoints_cannot_be_written_for_is_told() -> None:
    fault = refuse(500, verb="create", kind=Endpoints, times=1)
    async with loops_running(endpoints_loop(), interceptors=[fault]) as client:
        await service(client)

        await elapse(MINUTE)

        [event] = await client.list(Event)
        assert (event.type, event.reason) == ("Warning", "FailedToCreateEndpoint")
        assert (event.note or "").startswith("Failed to create endpoint for service default/web: ")
        assert (await endpoints(client)).name == "web"


@virtual_time()
async def test_a_slice_says_who_is_ready_serves_and_ends_and_where() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1")
        await pod(client, "b", "10.0.0.2", ready=False, node="n2")
        await client.delete(await pod(client, "c", "10.0.0.3"))
        made = await service(client, labels={"tier": "front"}, ports=[HTTP, METRICS])

        await elapse(SECOND)

        [slice] = await slices(client)
        assert shown(slice) == [
            ("10.0.0.1", True, True, False),
            ("10.0.0.2", False, False, False),
            ("10.0.0.3", False, True, True),
        ]
        where = {endpoint.addresses[0]: (endpoint.node_name, endpoint.zone) for endpoint in slice.endpoints}
        assert where == {"10.0.0.1": ("n1", "a"), "10.0.0.2": ("n2", None), "10.0.0.3": ("n1", "a")}
        ports = {(port.name, port.port, port.protocol, port.app_protocol) for port in slice.ports}
        assert ports == {("http", 8080, "TCP", None), ("metrics", 9100, "TCP", "h2c")}
        assert slice.metadata.labels == {
            "tier": "front",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        assert slice.metadata.owner_references == [made.owner_reference]
        assert slice.metadata.generate_name == "web-"
        assert "endpoints.kubernetes.io/last-change-trigger-time" in slice.metadata.annotations


@virtual_time()
async def test_a_service_without_pods_has_one_empty_slice() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        await service(client)
        await elapse(SECOND)
        [empty] = await slices(client)
        assert (empty.endpoints, empty.ports) == ([], [])

        made = await pod(client, "a", "10.0.0.1")
        await elapse(SECOND)
        [full] = await slices(client)
        assert shown(full) == [("10.0.0.1", True, True, False)]

        await client.delete(made, grace=timedelta(0))
        await elapse(SECOND)
        [again] = await slices(client)
        assert (again.endpoints, again.ports) == ([], [])
        assert empty.name == full.name == again.name


@virtual_time()
async def test_pods_whose_ports_have_other_numbers_are_in_other_slices() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1")
        await pod(client, "b", "10.0.0.2", port=9090)
        await service(client)

        await elapse(SECOND)

        found = {slice.ports[0].port: shown(slice)[0][0] for slice in await slices(client)}
        assert found == {8080: "10.0.0.1", 9090: "10.0.0.2"}


@virtual_time()
async def test_slices_are_filled_before_new_ones_are_made_and_emptied_ones_go() -> None:
    async with loops_running(endpointslice_loop(most=3)) as client:
        await nodes(client)
        pods = [await pod(client, f"p{number}", f"10.0.0.{number}") for number in range(1, 6)]
        await service(client)
        await elapse(SECOND)
        assert sorted(len(slice.endpoints) for slice in await slices(client)) == [2, 3]

        pods.append(await pod(client, "p6", "10.0.0.6"))
        await elapse(SECOND)
        assert [len(slice.endpoints) for slice in await slices(client)] == [3, 3]

        pods.append(await pod(client, "p7", "10.0.0.7"))
        await elapse(SECOND)
        assert sorted(len(slice.endpoints) for slice in await slices(client)) == [1, 3, 3]

        for gone in pods[1:]:
            await client.delete(gone, grace=timedelta(0))
        await elapse(SECOND)
        [last] = await slices(client)
        assert shown(last) == [("10.0.0.1", True, True, False)]


@virtual_time()
async def test_a_slice_that_changes_keeps_its_name_and_its_other_endpoints() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        made = await pod(client, "a", "10.0.0.1")
        await pod(client, "b", "10.0.0.2")
        await service(client)
        await elapse(SECOND)
        [before] = await slices(client)

        await set_status(client, made, "10.0.0.1", ready=False)
        await elapse(SECOND)

        [after] = await slices(client)
        assert after.name == before.name
        assert shown(after) == [("10.0.0.1", False, False, False), ("10.0.0.2", True, True, False)]


@virtual_time()
async def test_labels_of_a_service_are_those_of_its_slices() -> None:
    async with loops_running(endpointslice_loop(), endpoints_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1")
        await service(client, labels={"old": "1"})
        await elapse(SECOND)

        patch = MergePatch({"metadata": {"labels": {"old": None, "new": "2"}}})
        await client.patch(Service, patch, name="web")
        await elapse(SECOND)

        [slice] = await slices(client)
        assert ("old" in slice.metadata.labels, slice.metadata.labels["new"]) == (False, "2")
        found = await endpoints(client)
        assert ("old" in found.metadata.labels, found.metadata.labels["new"]) == (False, "2")


@virtual_time()
async def test_slices_that_others_delete_or_change_are_mended() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1")
        await service(client)
        await elapse(SECOND)
        [slice] = await slices(client)
        slice.endpoints = []
        await client.update(slice)
        await elapse(SECOND)
        [mended] = await slices(client)
        assert shown(mended) == [("10.0.0.1", True, True, False)]

        await client.delete(mended)
        await elapse(SECOND)

        [again] = await slices(client)
        assert shown(again) == [("10.0.0.1", True, True, False)]


@virtual_time()
async def test_slices_of_other_managers_are_left_alone() -> None:
    labels = {"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "me"}
    async with loops_running(endpointslice_loop()) as client:
        await service(client)
        mine = EndpointSlice(metadata=Metadata(name="mine", namespace="default", labels=labels), address_type="IPv4")
        await client.create(mine)

        await elapse(MINUTE)

        assert (await client.get(EndpointSlice, "mine")).metadata.labels == labels


@virtual_time()
async def test_a_pod_on_an_unknown_node_is_left_out_until_the_node_is_known() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await pod(client, "a", "10.0.0.1")
        await service(client)
        await elapse(SECOND)
        [slice] = await slices(client)
        assert slice.endpoints == []
        events = [event for event in await client.list(Event) if event.reason == "FailedToUpdateEndpointSlices"]
        why = "skipping Pod a for Service default/web: Node n1 Not Found"
        assert {event.note for event in events} == {f"Error updating Endpoint Slices for Service default/web: {why}"}

        await nodes(client)
        await elapse(MINUTE)

        [slice] = await slices(client)
        assert shown(slice) == [("10.0.0.1", True, True, False)]


@pytest.mark.parametrize(("wish", "zones", "hosts"), [("PreferSameZone", ["a"], []), ("PreferSameNode", ["a"], ["n1"])])
@virtual_time()
async def test_endpoints_are_meant_for_those_near_if_the_service_prefers_it(
    wish: str, zones: list[str], hosts: list[str]
) -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        await pod(client, "a", "10.0.0.1")
        await service(client)
        await elapse(SECOND)
        [slice] = await slices(client)
        assert slice.endpoints[0].hints is None

        await client.patch(Service, MergePatch({"spec": {"trafficDistribution": wish}}), name="web")
        await elapse(SECOND)
        [slice] = await slices(client)
        hints = slice.endpoints[0].hints
        assert hints is not None
        assert ([zone.name for zone in hints.for_zones], [node.name for node in hints.for_nodes]) == (zones, hosts)

        await client.patch(Service, MergePatch({"spec": {"trafficDistribution": None}}), name="web")
        await elapse(SECOND)
        [slice] = await slices(client)
        assert slice.endpoints[0].hints is None


@virtual_time()
async def test_named_ports_of_sidecars_count_and_those_of_init_containers_do_not() -> None:
    async with loops_running(endpointslice_loop()) as client:
        await nodes(client)
        init = Container(name="i", image="i", ports=[ContainerPort(name="web", container_port=1)])
        sidecar = Container(
            name="s", image="i", restart_policy="Always", ports=[ContainerPort(name="web", container_port=2)]
        )
        await pod(client, "a", "10.0.0.1", init_containers=[init, sidecar])
        await service(client, ports=[ServicePort(port=80, target_port="web", protocol="TCP")])

        await elapse(SECOND)

        [slice] = await slices(client)
        assert [port.port for port in slice.ports] == [2]


@virtual_time()
async def test_a_namespace_that_ends_needs_no_endpoints() -> None:
    tried: list[str] = []

    async def note(request: Request, send: Send) -> Response:
        if request.verb == "create" and request.resource is not None:
            tried.append(request.resource.plural)
        return await send(request)

    async with loops_running(endpoints_loop(), endpointslice_loop(), interceptors=[note]) as client:
        namespace = await client.create(Namespace(metadata=Metadata(name="shop")))
        metadata = Metadata(name="web", namespace="shop")
        spec = ServiceSpec(selector={"app": "x"}, ports=[HTTP])
        await client.create(Service(metadata=metadata, spec=spec))
        await elapse(SECOND)
        await client.delete(namespace)
        tried.clear()

        await client.delete(Endpoints, "web", namespace="shop")
        await client.delete_all(EndpointSlice, namespace="shop")
        await elapse(MINUTE)

        assert sorted(tried) == ["endpoints", "endpointslices"]


@virtual_time()
async def test_endpoints_of_services_that_went_while_nobody_looked_go_at_the_start() -> None:
    async with embedded_server() as server, client_of(server, "test") as client:
        async with loops_on(server, endpoints_loop()):
            made = await service(client)
            await elapse(SECOND)
        await client.delete(made)
        leader = {"control-plane.alpha.kubernetes.io/leader": "{}"}
        lock = Metadata(name="lock", namespace="default", annotations=leader)
        await client.create(Endpoints(metadata=lock))

        async with loops_on(server, endpoints_loop()):
            await elapse(SECOND)

            left = [found.name for found in await client.list(Endpoints, namespace="default")]
            assert [name for name in left if name != "kubernetes"] == ["lock"]


async def a_service_with_changing_pods(client: Client) -> None:
    await nodes(client)
    pods = [await pod(client, f"p{number}", f"10.0.0.{number}") for number in range(1, 5)]
    await service(client)
    doomed = await service(client, "doomed")
    await elapse(SECOND)
    await client.delete(pods[0], grace=timedelta(0))
    await set_status(client, pods[1], "10.0.0.2", ready=False)
    await client.delete(doomed)
    await elapse(SECOND)


async def what_is_told(client: Client) -> list[Any]:
    found = [told(one.subsets) for one in await client.list(Endpoints, namespace="default") if one.name != "kubernetes"]
    return [*found, sorted(one for slice in await slices(client) for one in shown(slice))]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("n", range(1, 10))
@virtual_time()
async def test_the_end_is_the_same_whichever_write_the_loops_die_at(n: int, when: When) -> None:
    def loops() -> list[Any]:
        return [endpoints_loop(), endpointslice_loop(most=2)]

    found, died = await end_after_crash(loops, a_service_with_changing_pods, what_is_told, n=n, when=when)

    assert died
    assert found == [
        [(["10.0.0.3", "10.0.0.4"], ["10.0.0.2"], [8080])],
        [
            ("10.0.0.2", False, False, False),
            ("10.0.0.3", True, True, False),
            ("10.0.0.4", True, True, False),
        ],
    ]

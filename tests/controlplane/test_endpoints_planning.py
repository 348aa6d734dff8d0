"""The forms of endpoints: Kubernetes' order, its limits, and its families of addresses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kubewright.api import Metadata
from kubewright.controlplane.endpoints.order import port_hash, slice_port_hash, subset_hash
from kubewright.controlplane.endpoints.slices import families_of, plan
from kubewright.controlplane.endpoints.subsets import packed, subsets_of, truncate
from kubewright.controlplane.endpoints.trigger import TriggerTimes
from kubewright.kinds import discovery_v1
from kubewright.kinds.core_v1 import (
    Container,
    EndpointAddress,
    EndpointPort,
    EndpointSubset,
    Node,
    ObjectReference,
    Pod,
    PodCondition,
    PodIP,
    PodSpec,
    PodStatus,
    Service,
    ServicePort,
    ServiceSpec,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def test_ports_of_endpoints_hash_as_in_go():
    assert f"{port_hash(EndpointPort(name='http', port=80, protocol='TCP')):032x}" == "754b003f50f133a539c60d18cfb30a55"
    with_app = EndpointPort(port=80, protocol="TCP", app_protocol="h2c")
    assert f"{port_hash(with_app):032x}" == "a04e6efe061dd23ec49bae594f097da5"


def test_ports_of_slices_hash_as_in_go():
    port = discovery_v1.EndpointPort(name="http", port=80, protocol="TCP")
    assert f"{slice_port_hash(port):032x}" == "b6c4d325122a5ba6f795b0bbffcebb6f"
    with_app = discovery_v1.EndpointPort(name="", port=80, protocol="TCP", app_protocol="h2c")
    assert f"{slice_port_hash(with_app):032x}" == "1192b420de09128e193491d392428cc7"


def test_subsets_hash_as_in_go():
    target = ObjectReference(kind="Pod", namespace="d", name="x", uid="u")
    ports = [EndpointPort(name="a", port=1, protocol="TCP"), EndpointPort(name="b", port=2, protocol="TCP")]
    address = EndpointAddress(ip="10.0.0.1", node_name="n", target_ref=target)
    full = EndpointSubset(addresses=[address], ports=ports)
    unready = EndpointSubset(
        not_ready_addresses=[EndpointAddress(ip="10.0.0.1", hostname="h"), EndpointAddress(ip="10.0.0.2")]
    )

    assert f"{subset_hash(full):032x}" == "2106dabedfb6b393195587186c7266b3"
    assert f"{subset_hash(unready):032x}" == "b016432c190ec3bac619de80f4ba680f"


def test_an_address_that_is_told_ready_and_unready_is_unready():
    port, address = EndpointPort(port=80), EndpointAddress(ip="10.0.0.1")

    found = packed(
        [
            EndpointSubset(addresses=[address], ports=[port]),
            EndpointSubset(not_ready_addresses=[address], ports=[port]),
        ]
    )

    assert found == [EndpointSubset(not_ready_addresses=[address], ports=[port])]


def addresses(count: int) -> list[EndpointAddress]:
    return [EndpointAddress(ip=f"10.0.{number // 250}.{number % 250}") for number in range(count)]


def test_endpoints_hold_at_most_a_thousand_addresses():
    subsets = [EndpointSubset(addresses=addresses(900)), EndpointSubset(addresses=addresses(300))]

    assert truncate(subsets)

    assert [len(subset.addresses) for subset in subsets] == [750, 250]


def test_unready_addresses_are_left_out_first():
    subsets = [EndpointSubset(addresses=addresses(600), not_ready_addresses=addresses(600))]

    assert truncate(subsets)

    assert (len(subsets[0].addresses), len(subsets[0].not_ready_addresses)) == (600, 400)


def test_a_thousand_addresses_are_not_too_many():
    assert not truncate([EndpointSubset(addresses=addresses(1000))])


def pod(name: str, *ips: str, ready_at: datetime = START) -> Pod:
    condition = PodCondition(type="Ready", status="True", last_transition_time=ready_at)
    status = PodStatus(phase="Running", pod_ips=[PodIP(ip=ip) for ip in ips], pod_ip=ips[0], conditions=[condition])
    spec = PodSpec(node_name="n", containers=[Container(name="c", image="i")])
    return Pod(metadata=Metadata(name=name, namespace="d", uid=name), spec=spec, status=status)


def service(**spec: object) -> Service:
    wanted = {"selector": {"a": "b"}, "ports": [ServicePort(port=80, target_port=80, protocol="TCP")], **spec}
    metadata = Metadata(name="s", namespace="d", uid="s", creation_timestamp=START)
    return Service(metadata=metadata, spec=ServiceSpec(**wanted))  # type: ignore[arg-type]


def test_a_service_of_two_families_has_slices_of_both():
    both = service(ip_families=["IPv6", "IPv4"])

    found = plan(both, [pod("p", "10.0.0.1", "fd00::1")], {"n": Node(metadata=Metadata(name="n"))}, [], 100)

    shown = {slice.address_type: slice.endpoints[0].addresses for slice in found.create}
    assert shown == {"IPv6": ["fd00::1"], "IPv4": ["10.0.0.1"]}


def test_slices_of_a_family_that_the_service_lost_are_deleted():
    nodes = {"n": Node(metadata=Metadata(name="n"))}
    made = plan(service(ip_families=["IPv6", "IPv4"]), [pod("p", "10.0.0.1", "fd00::1")], nodes, [], 100).create

    found = plan(service(ip_families=["IPv4"]), [pod("p", "10.0.0.1", "fd00::1")], nodes, made, 100)

    assert [slice.address_type for slice in found.delete] == ["IPv6"]
    assert (found.create, found.update) == ([], [])


def test_families_follow_the_cluster_ip_where_the_service_names_none():
    assert families_of(service(cluster_ip="fd00::1")) == ["IPv6"]
    assert families_of(service(cluster_ip="10.0.0.1")) == ["IPv4"]
    assert families_of(service(cluster_ip="None")) == ["IPv4", "IPv6"]


def test_endpoints_are_of_the_first_family_only():
    [subset] = subsets_of(service(ip_families=["IPv6", "IPv4"]), [pod("p", "10.0.0.1", "fd00::1")])

    assert [address.ip for address in subset.addresses] == ["fd00::1"]


def test_slices_of_a_namesake_that_is_gone_are_deleted():
    four = {"ip_families": ["IPv4"]}
    nodes = {"n": Node(metadata=Metadata(name="n"))}
    made = plan(service(**four), [pod("p", "10.0.0.1")], nodes, [], 100).create
    again = service(**four)
    again.metadata.uid = "another"

    found = plan(again, [pod("p", "10.0.0.1")], nodes, made, 100)

    assert (found.delete, len(found.create)) == (made, 1)


def test_a_trigger_is_the_earliest_change_since_the_last_look():
    times, minute = TriggerTimes(), timedelta(minutes=1)
    pods = [pod("a", "10.0.0.1"), pod("b", "10.0.0.2")]
    assert times.of(service(), pods) == START
    assert times.of(service(), pods) is None

    later = [pod("a", "10.0.0.1", ready_at=START + 2 * minute), pod("b", "10.0.0.2", ready_at=START + minute)]

    assert times.of(service(), later) == START + minute
    assert times.of(service(), later) is None

"""Services get addresses and node ports by the rules of kube-apiserver, or its refusals."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kubewright_apiserver.defaulting import ServiceAddresses, allocate_service, default, ip_address_of
from kubewright_apiserver.status import Refusal

REFUSALS: dict[str, Any] = json.loads((Path(__file__).parent / "data/service_refusals.json").read_text())
PORTS = [{"port": 80}]


def service(name: str = "x", **spec: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": name, "namespace": "shop"}, "spec": copy.deepcopy({"ports": PORTS, **spec})}
    default("", "v1", "Service", obj)
    return obj


def created(addresses: ServiceAddresses, **spec: Any) -> dict[str, Any]:
    obj = service(**spec)
    allocate_service(obj, None, addresses).commit()
    return obj


def changed(addresses: ServiceAddresses, old: dict[str, Any], **spec: Any) -> dict[str, Any]:
    obj = service(**spec)
    allocate_service(obj, old, addresses).commit()
    return obj


def refused(addresses: ServiceAddresses, old: dict[str, Any] | None = None, **spec: Any) -> str:
    with pytest.raises(Refusal) as refusal:
        allocate_service(service(**spec), old, addresses)
    return refusal.value.message


@pytest.fixture
def addresses() -> ServiceAddresses:
    return ServiceAddresses(random=Random(1))


@pytest.fixture
def dual() -> ServiceAddresses:
    return ServiceAddresses("10.0.0.0/24", second_range="fd00::/112", random=Random(1))


@pytest.mark.parametrize("case", REFUSALS["cases"], ids=lambda case: case["case"])
def test_a_service_is_refused_as_by_the_real_server(case, addresses):
    created(addresses, **REFUSALS["taken"])
    obj = service(case["case"], **case["spec"])

    with pytest.raises(Refusal) as refusal:
        allocate_service(obj, None, addresses, is_dry_run=case.get("isDryRun", False))

    assert refusal.value.body == case["status"]


def test_an_address_with_a_zone_is_none(addresses):
    assert "must be a valid IP address" in refused(addresses, clusterIP="fe80::1%eth0")


def test_chance_keeps_off_the_lower_part_of_the_ranges(addresses):
    services = [created(addresses, type="NodePort") for _ in range(100)]

    taken = [int(found["spec"]["clusterIP"].split(".")[3]) for found in services]
    ports = [found["spec"]["ports"][0]["nodePort"] for found in services]
    assert min(taken) > 16
    assert min(ports) >= 30086
    assert len(set(taken)) == len(set(ports)) == 100


def test_the_lower_part_is_used_when_the_upper_is_full(addresses):
    taken = [created(addresses)["spec"]["clusterIP"] for _ in range(254)]

    assert set(taken) == {f"10.0.0.{host}" for host in range(1, 255)}


def test_a_full_range_is_an_internal_error(addresses):
    for _ in range(254):
        created(addresses)

    assert refused(addresses) == (
        'Internal error occurred: failed to allocate a serviceIP for Service "x": range is full'
    )


def test_node_ports_run_out_too():
    addresses = ServiceAddresses(node_ports=(30000, 30001), random=Random(1))
    found = {created(addresses, type="NodePort")["spec"]["ports"][0]["nodePort"] for _ in range(2)}

    assert found == {30000, 30001}
    assert refused(addresses, type="NodePort") == (
        "Internal error occurred: failed to allocate a nodePort: range is full"
    )
    assert created(addresses)["spec"]["clusterIP"]


def test_a_refused_service_leaves_nothing_taken(addresses):
    refused(addresses, type="NodePort", clusterIP="10.0.0.9", ports=[{"port": 80, "nodePort": 1}])

    assert not addresses.is_taken("10.0.0.9")


def test_a_service_that_is_not_stored_gives_back_what_it_took(addresses):
    obj = service(type="NodePort", clusterIP="10.0.0.9", ports=[{"port": 80, "nodePort": 30001}])

    allocate_service(obj, None, addresses).revert()

    assert created(addresses, **obj["spec"])["spec"]["clusterIP"] == "10.0.0.9"


def test_a_deleted_service_gives_back_what_it_had(addresses):
    spec = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30005}
    obj = created(addresses, clusterIP="10.0.0.9", **spec)

    addresses.release(obj)

    assert created(addresses, clusterIP="10.0.0.9", **spec)["spec"]["healthCheckNodePort"] == 30005


def test_a_stored_service_keeps_its_address_from_others(addresses):
    addresses.adopt({"spec": {"clusterIPs": ["10.0.0.9"]}})

    assert "already allocated" in refused(addresses, clusterIP="10.0.0.9")


def test_a_dry_run_takes_nothing(addresses):
    obj = service(type="NodePort", clusterIP="10.0.0.9")

    allocate_service(obj, None, addresses, is_dry_run=True).commit()

    assert obj["spec"]["ports"][0]["nodePort"] == 32769
    assert not addresses.is_taken("10.0.0.9")


def test_another_range_serves_addresses_as_well(addresses):
    addresses.add_range("10.9.0.0/24")

    assert created(addresses, clusterIP="10.9.0.5")["spec"]["ipFamilies"] == ["IPv4"]

    addresses.remove_range("10.9.0.0/24")
    assert "does not match" in refused(addresses, clusterIP="10.9.0.6")


def test_a_new_node_port_of_a_changed_service_may_not_be_taken(addresses):
    created(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
    old = created(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30002}])

    message = refused(addresses, old, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])

    assert message == (
        'Service "x" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated'
    )


def test_the_same_node_port_twice_in_a_change_is_refused(addresses):
    old = created(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30500}])
    ports = [{"port": 80, "name": "a", "nodePort": 30500}, {"port": 81, "name": "b", "nodePort": 30500}]

    assert refused(addresses, old, type="NodePort", ports=ports) == "duplicate nodePort: {TCP 30500}"


def test_a_node_port_that_a_service_leaves_is_free(addresses):
    old = created(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])

    changed(addresses, old, type="NodePort", ports=[{"port": 80, "nodePort": 30002}])

    assert created(addresses, type="NodePort", ports=[{"port": 80, "nodePort": 30001}])


def test_a_service_that_becomes_an_external_name_gives_back_its_address(addresses):
    old = created(addresses, clusterIP="10.0.0.9")

    changed(addresses, old, type="ExternalName", externalName="a.example.com")

    assert not addresses.is_taken("10.0.0.9")


def test_a_health_port_is_given_when_traffic_becomes_local(addresses):
    old = created(addresses, type="LoadBalancer")

    new = changed(addresses, old, type="LoadBalancer", externalTrafficPolicy="Local")

    assert new["spec"]["healthCheckNodePort"] >= 30086


def test_two_families_are_given_where_there_are_two(dual):
    spec = created(dual, ipFamilyPolicy="RequireDualStack")["spec"]

    assert spec["ipFamilies"] == ["IPv4", "IPv6"]
    assert spec["clusterIPs"][0].startswith("10.0.0.")
    assert spec["clusterIPs"][1].startswith("fd00::")
    assert spec["clusterIP"] == spec["clusterIPs"][0]


def test_the_second_family_may_come_first(dual):
    assert created(dual, ipFamilyPolicy="PreferDualStack", ipFamilies=["IPv6"])["spec"]["ipFamilies"] == [
        "IPv6",
        "IPv4",
    ]


def test_one_family_is_enough_unless_asked_for_two(dual):
    assert created(dual)["spec"]["ipFamilies"] == ["IPv4"]


def test_a_service_gets_a_second_family_later(dual):
    old = created(dual, clusterIP="10.0.0.9")

    new = changed(dual, old, ipFamilyPolicy="RequireDualStack")

    assert new["spec"]["clusterIPs"][0] == "10.0.0.9"
    assert dual.is_taken(new["spec"]["clusterIPs"][1])


def test_a_service_gives_back_its_second_family(dual):
    old = created(dual, ipFamilyPolicy="RequireDualStack")

    new = changed(dual, old, **{**old["spec"], "ipFamilyPolicy": "SingleStack"})

    assert new["spec"]["clusterIPs"] == old["spec"]["clusterIPs"][:1]
    assert new["spec"]["ipFamilies"] == ["IPv4"]
    assert not dual.is_taken(old["spec"]["clusterIPs"][1])


def test_a_second_family_is_not_dropped_without_saying_so(dual):
    old = created(dual, ipFamilyPolicy="RequireDualStack")
    first = old["spec"]["clusterIP"]

    message = refused(dual, old, clusterIP=first, clusterIPs=[first], ipFamilies=["IPv4"])

    assert message == (
        'Service "x" is invalid: [spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
        "must be 'SingleStack' to release the secondary cluster IP, "
        'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
        "must be 'SingleStack' to release the secondary IP family]"
    )


def test_a_service_that_prefers_two_families_is_left_as_it_is(addresses, dual):
    old = created(addresses, clusterIP="10.0.0.9", ipFamilyPolicy="PreferDualStack")

    new = changed(dual, old, **old["spec"])

    assert new["spec"]["clusterIPs"] == ["10.0.0.9"]


def test_an_address_is_shown_as_an_object_of_its_own():
    assert ip_address_of(service(), "10.0.0.9") == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": "10.0.0.9",
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        },
        "spec": {"parentRef": {"resource": "services", "namespace": "shop", "name": "x"}},
    }

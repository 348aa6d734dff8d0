from __future__ import annotations

import pytest

from tools.kinds.naming import class_name, field_name, module_name, wire_name


@pytest.mark.parametrize(
    ("wire", "python"),
    [
        ("replicas", "replicas"),
        ("externalTrafficPolicy", "external_traffic_policy"),
        ("clusterIP", "cluster_ip"),
        ("clusterIPs", "cluster_ips"),
        ("podCIDRs", "pod_cidrs"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
        ("nonResourceURLs", "non_resource_urls"),
        ("hostPID", "host_pid"),
        ("scaleIO", "scale_io"),
        ("fsGroup", "fs_group"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("fieldsV1", "fields_v1"),
        ("stubPKCS10Request", "stub_pkcs10_request"),
        ("Port", "port"),
        ("$ref", "ref"),
        ("x-kubernetes-list-map-keys", "x_kubernetes_list_map_keys"),
        ("from", "from_"),
        ("int", "int_"),
        ("type", "type"),
    ],
)
def test_field_name_is_snake_case_with_acronyms_as_words(wire: str, python: str) -> None:
    assert field_name(wire) == python


@pytest.mark.parametrize("wire", ["name", "namespace", "ownerReference"])
def test_field_name_leaves_the_names_of_resource_to_resource(wire: str) -> None:
    assert field_name(wire, of_resource=True) == field_name(wire) + "_"


@pytest.mark.parametrize(("python", "wire"), [("cluster_ips", "clusterIps"), ("from_", "from"), ("a_b", "aB")])
def test_wire_name_is_what_msgspec_makes_of_the_python_name(python: str, wire: str) -> None:
    assert wire_name(python) == wire


@pytest.mark.parametrize(
    ("schema", "module", "name"),
    [
        ("io.k8s.api.core.v1.Pod", "core_v1", "Pod"),
        ("io.k8s.api.resource.v1beta2.DeviceClass", "resource_v1beta2", "DeviceClass"),
        ("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService", "apiregistration_v1", "APIService"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", "meta_v1", "DeleteOptions"),
        ("io.k8s.apimachinery.pkg.version.Info", "meta_v1", "VersionInfo"),
    ],
)
def test_schema_name_tells_module_and_class(schema: str, module: str, name: str) -> None:
    assert (module_name(schema), class_name(schema)) == (module, name)

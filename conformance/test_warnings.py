"""What clients are warned of though the server does as they ask."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, deployment, pod

pytestmark = pytest.mark.section("1.2")

SERVICES = "/api/v1/namespaces/{ns}/services"
SECRETS = "/api/v1/namespaces/{ns}/secrets"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
DRY = {"dryRun": "All"}


def annotated(obj: dict[str, Any], **annotations: str) -> dict[str, Any]:
    obj["metadata"]["annotations"] = annotations
    return obj


def containers(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"c{index}", "image": "x:1", **part} for index, part in enumerate(parts)]


PLACES: list[dict[str, Any]] = [
    {"nodeSelector": {"beta.kubernetes.io/os": "linux", "node-role.kubernetes.io/master": ""}},
    {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "beta.kubernetes.io/arch", "operator": "Exists"}]},
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-bad-"]}]},
                    }
                ],
            }
        }
    },
    {
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]},
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": {"topologyKey": "a"}}
                ]
            },
        }
    },
    {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ]
    },
]


@pytest.mark.parametrize("spec", PLACES)
async def test_where_a_pod_wants_to_run(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec), query=DRY)
    template = deployment()
    template["spec"]["template"]["spec"] |= spec
    await api.post(DEPLOYMENTS, template, query=DRY)


async def test_annotations_that_do_nothing_any_more(api: Api):
    annotations = {
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "security.alpha.kubernetes.io/sysctls": "a=b",
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.seccomp.security.alpha.kubernetes.io/c": "runtime/default",
        "container.apparmor.security.beta.kubernetes.io/c": "runtime/default",
    }
    await api.post(PODS, annotated(pod(), **annotations))
    template = deployment()
    template["spec"]["template"]["metadata"]["annotations"] = annotations
    await api.post(DEPLOYMENTS, template, query=DRY)


async def test_an_annotation_beside_its_field(api: Api):
    annotations = {"container.apparmor.security.beta.kubernetes.io/c": "runtime/default"}
    of_pod = {"appArmorProfile": {"type": "RuntimeDefault"}}
    await api.post(PODS, annotated(pod(securityContext=of_pod), **annotations), query=DRY)
    of_pod = {"appArmorProfile": {"type": "Unconfined"}}
    template = deployment()
    template["spec"]["template"]["spec"]["securityContext"] = of_pod
    template["spec"]["template"]["metadata"]["annotations"] = annotations
    await api.post(DEPLOYMENTS, template, query=DRY)


async def test_things_that_come_twice(api: Api):
    environment = [
        {"name": "A", "value": "1"},
        {"name": "A", "value": "2"},
        {"name": "A", "value": "$(A) and more"},
        {"name": "A", "value": "$(A)"},
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    spec: dict[str, Any] = {
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["a"]}, {"ip": "192.0.2.1", "hostnames": ["b"]}],
        "imagePullSecrets": [{"name": "s"}, {"name": "s"}, {"name": ""}],
        "containers": containers({"env": environment}),
    }
    await api.post(PODS, pod(**spec), query=DRY)


async def test_ports_in_each_other_s_way(api: Api):
    first = [
        {"containerPort": 80, "name": "web"},
        {"containerPort": 81, "hostIP": "192.0.2.1"},
        {"containerPort": 82, "hostPort": 8082, "hostIP": "192.0.2.1"},
        {"containerPort": 83, "hostPort": 8083},
    ]
    second = [
        {"containerPort": 80, "name": "web"},
        {"containerPort": 82, "hostPort": 8082},
        {"containerPort": 83},
        {"containerPort": 83, "protocol": "UDP"},
    ]
    await api.post(PODS, pod(containers=containers({"ports": first}, {"ports": second})), query=DRY)


async def test_volumes_of_yesterday(api: Api):
    volumes = [
        {"name": "a", "gitRepo": {"repository": "https://example.com"}},
        {"name": "b", "glusterfs": {"endpoints": "e", "path": "p"}},
        {"name": "c", "storageos": {"volumeName": "v"}},
        {"name": "d", "cephfs": {"monitors": ["m"]}},
        {"name": "e", "rbd": {"monitors": ["m"], "image": "i"}},
        {"name": "f", "flocker": {"datasetName": "x"}},
        {"name": "g", "quobyte": {"registry": "r:1", "volume": "v"}},
        {
            "name": "h",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}
                }
            },
        },
    ]
    await api.post(PODS, pod(volumes=volumes), query=DRY)


async def test_files_in_the_same_place(api: Api):
    items = [{"key": "a", "path": "x"}, {"key": "b", "path": "x/y"}, {"key": "c", "path": "xy"}]
    volumes: list[dict[str, Any]] = [
        {"name": "a", "configMap": {"name": "m", "items": items}},
        {"name": "b", "secret": {"secretName": "s", "items": items}},
        {
            "name": "c",
            "projected": {
                "sources": [
                    {"configMap": {"name": "m", "items": items[:1]}},
                    {"secret": {"name": "s", "items": items[1:]}},
                    {"serviceAccountToken": {"path": "x/"}},
                    {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.name"}}]}},
                ]
            },
        },
    ]
    await api.post(PODS, pod(volumes=volumes), query=DRY)


async def test_bytes_that_are_not_whole(api: Api):
    resources = {"limits": {"memory": "1500m", "ephemeral-storage": "0.5"}, "requests": {"memory": "1100m"}}
    await api.post(PODS, pod(containers=containers({"resources": resources})), query=DRY)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1.5"}}}
    claim = {"metadata": {"name": "c"}, "spec": spec}
    await api.post(CLAIMS, annotated(claim, **{"volume.beta.kubernetes.io/storage-class": "x"}), query=DRY)


async def test_a_grace_that_is_negative(api: Api):
    await api.post(PODS, pod(terminationGracePeriodSeconds=-1), query=DRY)


async def test_addresses_that_are_not_canonical(api: Api):
    spec: dict[str, Any] = {
        "dnsPolicy": "None",
        "dnsConfig": {"nameservers": ["2001:DB8::1"]},
        "hostAliases": [{"ip": "2001:db8:0::2", "hostnames": ["a"]}],
    }
    await api.post(PODS, pod(**spec), query=DRY)
    rule = {"from": [{"ipBlock": {"cidr": "2001:DB8::/64", "except": ["2001:db8:0::/65"]}}]}
    policies = "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies"
    await api.post(policies, {"metadata": {"name": "p"}, "spec": {"podSelector": {}, "ingress": [rule]}}, query=DRY)


@pytest.mark.parametrize("name", ["a.b", "a" * 64])
async def test_a_name_that_is_no_label(api: Api, name: str):
    await api.post(PODS, pod(name), query=DRY)
    await api.post(DEPLOYMENTS, deployment(name), query=DRY)


async def test_a_changed_template_is_warned_of_again(api: Api):
    body = deployment()
    body["spec"]["template"]["spec"]["nodeSelector"] = {"beta.kubernetes.io/os": "linux"}
    await api.post(DEPLOYMENTS, body)
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(DEPLOYMENTS + "/d", {"spec": {"replicas": 2}})
    await api.post(PODS, pod(nodeSelector={"beta.kubernetes.io/os": "linux"}))
    await api.patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})


async def test_a_changed_template_of_other_workloads(api: Api):
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
    template["spec"]["nodeSelector"] = {"beta.kubernetes.io/os": "linux"}
    selector = {"matchLabels": {"app": "web"}}
    sets = "/apis/apps/v1/namespaces/{ns}/daemonsets"
    await api.post(sets, {"metadata": {"name": "d"}, "spec": {"selector": selector, "template": template}})
    await api.patch(sets + "/d", {"spec": {"minReadySeconds": 3}})
    await api.patch(sets + "/d", {"spec": {"template": {"metadata": {"labels": {"b": "c"}}}}})
    controllers = "/api/v1/namespaces/{ns}/replicationcontrollers"
    await api.post(controllers, {"metadata": {"name": "r"}, "spec": {"selector": {"app": "web"}, "template": template}})
    gone = {"spec": {"template": {"spec": {"nodeSelector": None}}}}
    await api.patch(controllers + "/r", gone)
    sets = "/apis/apps/v1/namespaces/{ns}/statefulsets"
    claim = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}},
    }
    spec = {"selector": selector, "template": template, "serviceName": "s", "volumeClaimTemplates": [claim]}
    await api.post(sets, {"metadata": {"name": "s"}, "spec": spec})
    await api.patch(sets + "/s", {"metadata": {"labels": {"a": "b"}}})


async def test_jobs_and_their_schedules(api: Api):
    spec = {"template": {"spec": {"restartPolicy": "Never", **pod()["spec"]}}}
    indexed = {**spec, "completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001}
    await api.post(JOBS, {"metadata": {"name": "a.b"}, "spec": indexed}, query=DRY)
    spec["template"]["spec"]["nodeSelector"] = {"beta.kubernetes.io/os": "linux"}
    path = "/apis/batch/v1/namespaces/{ns}/cronjobs"
    await api.post(path, {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}})
    await api.patch(path + "/c", {"spec": {"suspend": True}})


@pytest.mark.parametrize(
    "spec",
    [
        {"externalIPs": ["192.0.2.1", "2001:DB8::1"]},
        {"clusterIP": "None", "externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP"},
        {"type": "ExternalName", "externalName": "example.com", "externalIPs": ["192.0.2.1"]},
        {"externalName": "example.com"},
        {"trafficDistribution": "PreferClose"},
        {
            "type": "LoadBalancer",
            "allocateLoadBalancerNodePorts": False,
            "loadBalancerSourceRanges": ["2001:DB8::/32"],
            "loadBalancerIP": "2001:db8:0::1",
        },
    ],
)
async def test_services(api: Api, spec: dict[str, Any]):
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], **spec}}
    await api.post(SERVICES, annotated(body, **{"service.kubernetes.io/topology-aware-hints": "auto"}))


async def test_addresses_in_the_status_of_a_service(api: Api):
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False, "ports": [{"port": 80}]}
    await api.post(SERVICES, {"metadata": {"name": "s"}, "spec": spec})
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "2001:DB8::1"}]}}}
    await api.patch(SERVICES + "/s/status", status)


async def test_an_ingress_with_its_class_in_an_annotation(api: Api):
    path = "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses"
    spec = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    body = annotated({"metadata": {"name": "i"}, "spec": spec}, **{"kubernetes.io/ingress.class": "x"})
    await api.post(path, body)
    await api.patch(path + "/i", {"metadata": {"labels": {"a": "b"}}})


async def test_endpoints_are_deprecated(api: Api):
    path = "/api/v1/namespaces/{ns}/endpoints"
    subset = {"addresses": [{"ip": "2001:DB8::1"}], "ports": [{"port": 80}]}
    await api.post(path, {"metadata": {"name": "e"}, "subsets": [subset]})
    await api.get(path)
    await api.get(path + "/e")
    await api.get(path + "/nothing")
    await api.watch(path)
    await api.delete(path + "/e")
    path = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
    named = {"metadata": {"name": "e"}, "endpoints": [{"addresses": ["a.example.com"]}], "addressType": "FQDN"}
    await api.post(path, {**named, "ports": []})


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("certificate", "key"),
    [
        ("", ""),
        ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", ""),
        ("-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----\n", ""),
        (
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
        ),
    ],
)
async def test_a_key_that_is_none(api: Api, certificate: str, key: str):
    data = {"tls.crt": encoded(certificate), "tls.key": encoded(key)}
    await api.post(SECRETS, {"metadata": {"name": "s"}, "type": "kubernetes.io/tls", "data": data}, query=DRY)


async def test_a_quota_whose_request_is_above_its_limit(api: Api):
    hard = {"cpu": "3", "limits.cpu": "2", "requests.memory": "2Gi", "limits.memory": "1Gi"}
    path = "/api/v1/namespaces/{ns}/resourcequotas"
    await api.post(path, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    await api.patch(path + "/q", {"metadata": {"labels": {"a": "b"}}})


async def test_an_account_that_enforces_its_secrets(api: Api):
    path = "/api/v1/namespaces/{ns}/serviceaccounts"
    body = {"metadata": {"name": "a"}}
    await api.post(path, annotated(body, **{"kubernetes.io/enforce-mountable-secrets": "true"}))
    await api.patch(path + "/a", {"metadata": {"labels": {"a": "b"}}})


async def test_a_volume_of_yesterday(api: Api):
    required = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": "Exists"}]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Recycle",
        "nfs": {"server": "s", "path": "/p"},
        "nodeAffinity": {"required": required},
    }
    body = {"metadata": {"name": f"v-{api.namespace}"}, "spec": spec}
    annotations = {"volume.beta.kubernetes.io/storage-class": "x", "volume.beta.kubernetes.io/mount-options": "a"}
    await api.post("/api/v1/persistentvolumes", annotated(body, **annotations), query=DRY)
    spec = {**spec, "persistentVolumeReclaimPolicy": "Retain", "rbd": {"monitors": ["m"], "image": "i"}}
    del spec["nfs"]
    await api.post("/api/v1/persistentvolumes", {"metadata": {"name": "v"}, "spec": spec}, query=DRY)


async def test_nodes_and_classes(api: Api):
    spec = {"externalID": "x", "podCIDR": "2001:db8:0::/64", "podCIDRs": ["2001:db8:0::/64"]}
    await api.post("/api/v1/nodes", {"metadata": {"name": "n"}, "spec": spec}, query=DRY)
    body: dict[str, Any] = {
        "metadata": {"name": "r"},
        "handler": "h",
        "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "x"}},
    }
    await api.post("/apis/node.k8s.io/v1/runtimeclasses", body, query=DRY)
    topology = {"matchLabelExpressions": [{"key": "failure-domain.beta.kubernetes.io/zone", "values": ["z"]}]}
    body = {"metadata": {"name": "s"}, "provisioner": "p", "allowedTopologies": [topology]}
    await api.post("/apis/storage.k8s.io/v1/storageclasses", body, query=DRY)
    driver = {"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "a"}]}}
    await api.post("/apis/storage.k8s.io/v1/csidrivers", driver, query=DRY)


async def test_more_warnings_than_fit(api: Api):
    long = {f"{'x' * 200}{index}": index for index in range(30)}
    await api.post(MAPS, {"metadata": {"name": "a"}, **long})
    await api.post(MAPS, {"metadata": {"name": "b"}, "y" * 5000: 1, 'quote"back\\slash': 2, "ä\n": 3})

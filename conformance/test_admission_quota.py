"""§1.12 ResourceQuota: what objects use is counted, and refused if it is too much. No controller counts anew here."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, deployment, pod
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.12")

QUOTAS = "/api/v1/namespaces/{ns}/resourcequotas"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
SERVICES = "/api/v1/namespaces/{ns}/services"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
# What no case creates is refused as soon as a quota is known: of each quota something else.
CANARIES = {"q": ("count/leases.coordination.k8s.io", LEASES), "r": ("count/serviceaccounts", ACCOUNTS)}


async def granted(
    api: Api, hard: dict[str, str], used: dict[str, str] | None = None, name: str = "q", **spec: Any
) -> None:
    """A quota whose status is as a controller would write it; return when plug-ins know it."""
    is_scoped = bool(spec)
    resource, path = CANARIES["r" if name == "r" else "q"]
    canary = {} if is_scoped else {resource: "0"}
    hard = hard | canary
    counted = (dict.fromkeys(hard, "0") | (used or {})) | canary
    with api.unrecorded():
        answer = await api.post(QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
        assert answer.status == 201, answer.text
        answer = await api.patch(f"{QUOTAS}/{name}/status", {"status": {"hard": hard, "used": counted}})
        assert answer.status == 200, answer.text
    if is_scoped:
        await granted(api, {}, name=f"{name}-seen")
        return
    with api.unrecorded():
        for _ in range(300):
            answer = await api.post(path, {"metadata": {"name": "canary"}}, query={"dryRun": "All"})
            if answer.status == 403 and f"quota: {name}," in answer.body["message"]:
                return
    raise AssertionError(f"the quota was never seen: {answer.text}")


async def heard(api: Api, body: dict[str, Any], path: str = PODS) -> None:
    """Tell what became of an object, and what is used of the quota then."""
    with api.unrecorded():
        answer = await api.post(path, body)
    api.note(str(answer.status), answer.body.get("message"))
    await used(api)


async def used(api: Api, name: str = "q") -> None:
    with api.unrecorded():
        answer = await api.get(f"{QUOTAS}/{name}")
    api.note("used", answer.body["status"]["used"])


def sized(name: str = "p", requests: Any = None, limits: Any = None, **spec: Any) -> dict[str, Any]:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return pod(name, containers=[{"name": "c", "image": "busybox:1.36", "resources": resources}], **spec)


def claim(name: str = "c", storage: str = "1Gi", **spec: Any) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return {"metadata": {"name": name}, "spec": asked}


async def test_a_pod_too_many_in_full(api: Api):
    await granted(api, {"pods": "1"})
    await api.post(PODS, pod("a"))
    await api.post(PODS, pod("b"))
    await api.get(QUOTAS + "/q")


async def test_a_quota_without_a_status_has_no_effect(api: Api):
    await api.post(QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    await api.post(PODS, pod())


async def test_a_quota_of_which_nobody_knows_what_is_used(api: Api):
    hard = {"pods": "5", "count/pods": "5", "configmaps": "5"}
    await granted(api, hard)
    with api.unrecorded():
        await api.patch(QUOTAS + "/q/status", {"status": {"used": {"pods": None}}})
        for _ in range(300):
            answer = await api.post(PODS, pod("probe"), query={"dryRun": "All"})
            if answer.status == 403:
                break
    await heard(api, pod())
    await heard(api, config_map(), MAPS)


async def test_a_dry_run_uses_nothing(api: Api):
    await granted(api, {"pods": "1"})
    with api.unrecorded():
        answer = await api.post(PODS, pod(), query={"dryRun": "All"})
    api.note("status", answer.status)
    await used(api)


async def test_what_is_there_already_is_counted_again(api: Api):
    await granted(api, {"pods": "5"})
    await heard(api, pod())
    await heard(api, pod())


async def test_what_is_invalid_is_not_counted(api: Api):
    await granted(api, {"pods": "5"})
    await heard(api, {**pod(), "metadata": {"name": "UPPER"}})


async def test_what_is_deleted_stays_counted_until_somebody_counts(api: Api):
    await granted(api, {"pods": "5"})
    await heard(api, pod())
    with api.unrecorded():
        await api.delete(PODS + "/p")
    await used(api)


async def test_a_name_that_is_made_is_told(api: Api):
    await granted(api, {"pods": "0"})
    with api.unrecorded():
        answer = await api.post(PODS, {**pod(), "metadata": {"generateName": "p-"}})
    name = answer.body["details"]["name"]
    api.note("generated", [len(name), answer.body["message"].replace(name, "<name>")])


@pytest.mark.parametrize(
    "hard",
    [
        {"cpu": "1"},
        {"requests.cpu": "1", "requests.memory": "1Gi"},
        {"limits.cpu": "2", "limits.memory": "1Gi"},
        {"requests.ephemeral-storage": "1Gi"},
        {"requests.example.com/thing": "3"},
        {"hugepages-2Mi": "4Mi"},
        {"memory": "1Gi", "pods": "3", "count/pods": "2"},
    ],
    ids=str,
)
async def test_what_pods_compute_with(api: Api, hard: dict[str, str]):
    await granted(api, hard)
    await heard(api, pod("a"))
    await heard(api, sized("b", {"cpu": "500m", "memory": "512Mi", "ephemeral-storage": "1Gi"}))
    full = {"cpu": "600m", "memory": "1000M"}
    await heard(api, sized("d", full, full))
    thing = {"example.com/thing": "2", "hugepages-2Mi": "2Mi", "cpu": "100m", "memory": "1Mi"}
    await heard(api, sized("e", thing, thing))
    await heard(api, sized("f", thing, thing))


async def test_every_container_must_say_what_it_needs(api: Api):
    await granted(api, {"requests.cpu": "1", "limits.memory": "1Gi", "cpu": "1"})
    silent = {"name": "d", "image": "busybox"}
    body = sized("p", {"cpu": "100m"})
    body["spec"]["containers"] += [silent, {**silent, "name": "e"}]
    await heard(api, {**body, "spec": {**body["spec"], "initContainers": [{**silent, "name": "i"}]}})


async def test_a_pod_may_say_what_it_needs_as_a_whole(api: Api):
    await granted(api, {"requests.cpu": "1", "limits.cpu": "2"})
    await heard(api, pod("a", resources={"requests": {"cpu": "300m"}, "limits": {"cpu": "1"}}))
    await heard(api, pod("b", resources={"limits": {"cpu": "2"}}))


async def test_what_containers_need_together(api: Api):
    await granted(api, {"requests.cpu": "10"})

    def container(name: str, cpu: str, **fields: Any) -> dict[str, Any]:
        return {"name": name, "image": "busybox", "resources": {"requests": {"cpu": cpu}}, **fields}

    two = [container("a", "400m"), container("b", "500m")]
    await heard(api, pod("a", containers=two, initContainers=[container("i", "2")]))
    side_car = container("s", "200m", restartPolicy="Always")
    await heard(api, pod("b", containers=two, initContainers=[side_car, container("i", "1")]))


async def test_of_two_quotas_the_smaller_refuses(api: Api):
    await granted(api, {"pods": "5"})
    await granted(api, {"count/pods": "1"}, name="r")
    await heard(api, pod("a"))
    await heard(api, pod("b"))
    await used(api, "r")


SCOPES: list[tuple[str, dict[str, Any]]] = [
    ("terminating", {"scopes": ["Terminating"]}),
    ("not terminating", {"scopes": ["NotTerminating"]}),
    ("best effort", {"scopes": ["BestEffort"]}),
    ("not best effort", {"scopes": ["NotBestEffort"]}),
    ("both", {"scopes": ["Terminating", "NotBestEffort"]}),
    ("elsewhere", {"scopes": ["CrossNamespacePodAffinity"]}),
    ("any class", {"scopes": ["PriorityClass"]}),
    *(
        (
            f"{operator} {' '.join(values)}".strip(),
            {
                "scopeSelector": {
                    "matchExpressions": [
                        {"scopeName": "PriorityClass", "operator": operator, **({"values": values} if values else {})}
                    ]
                }
            },
        )
        for operator, values in [
            ("In", ["system-node-critical"]),
            ("NotIn", ["system-node-critical"]),
            ("Exists", []),
            ("DoesNotExist", []),
        ]
    ),
]


@pytest.mark.parametrize("spec", [spec for _, spec in SCOPES], ids=[name for name, _ in SCOPES])
async def test_a_quota_is_about_pods_in_its_scopes(api: Api, spec: dict[str, Any]):
    await granted(api, {"pods": "1"}, {"pods": "1"}, **spec)
    term = {"topologyKey": "t", "namespaces": ["other"], "labelSelector": {}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for name, body in (
        ("plain", pod("a")),
        ("ending", pod("b", activeDeadlineSeconds=9)),
        ("needing", sized("c", {"cpu": "1"})),
        ("both", sized("d", {"cpu": "1"}, activeDeadlineSeconds=9)),
        ("critical", pod("e", priorityClassName="system-node-critical")),
        ("other class", pod("f", priorityClassName="system-cluster-critical")),
        ("elsewhere", pod("g", affinity=affinity)),
    ):
        with api.unrecorded():
            answer = await api.post(PODS, body)
        api.note(name, [answer.status, answer.body.get("message")])


async def test_a_pod_that_gets_a_deadline_comes_into_another_scope(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod())
        await api.post(PODS, pod("r"))
    await granted(api, {"pods": "1"}, scopes=["Terminating"])
    with api.unrecorded():
        for name in ("p", "r"):
            answer = await api.patch(f"{PODS}/{name}", {"spec": {"activeDeadlineSeconds": 9}})
            api.note(str(answer.status), answer.body.get("message"))
    await used(api)


async def test_a_pod_is_resized_within_the_quota(api: Api):
    with api.unrecorded():
        await api.post(PODS, sized("p", {"cpu": "500m"}))
    await granted(api, {"requests.cpu": "1"}, {"requests.cpu": "500m"})
    with api.unrecorded():
        for cpu in ("800m", "2", "300m"):
            wanted = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}
            answer = await api.patch(PODS + "/p/resize", wanted, type="strategic")
            api.note(str(answer.status), answer.body.get("message"))
            await used(api)


async def test_services_and_their_ports(api: Api):
    await granted(api, {"services": "3", "services.nodeports": "2", "services.loadbalancers": "1"})
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]

    def service(name: str, **spec: Any) -> dict[str, Any]:
        return {"metadata": {"name": name}, "spec": {"ports": ports, **spec}}

    await heard(api, service("a"), SERVICES)
    await heard(api, service("b", type="LoadBalancer", allocateLoadBalancerNodePorts=False), SERVICES)
    await heard(api, service("c", type="NodePort", ports=[*ports, {"name": "d", "port": 82}]), SERVICES)
    with api.unrecorded():
        answer = await api.patch(SERVICES + "/a", {"spec": {"type": "NodePort"}})
        api.note(str(answer.status), answer.body.get("message"))
    await used(api)
    with api.unrecorded():
        answer = await api.patch(SERVICES + "/a", {"spec": {"type": "LoadBalancer"}})
        api.note(str(answer.status), answer.body.get("message"))
        answer = await api.patch(SERVICES + "/a", {"metadata": {"labels": {"a": "b"}}})
        api.note(str(answer.status), answer.body.get("message"))
    await used(api)


async def test_claims_and_their_storage(api: Api):
    hard = {
        "persistentvolumeclaims": "5",
        "requests.storage": "5Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "2",
    }
    await granted(api, hard)
    await heard(api, claim("a"), CLAIMS)
    await heard(api, claim("b", "1500M", storageClassName="gold"), CLAIMS)
    await heard(api, claim("d", "1Gi", storageClassName="gold"), CLAIMS)
    await heard(api, claim("e", "4Gi"), CLAIMS)
    await heard(api, claim("f", "0.5"), CLAIMS)


async def test_a_claim_of_another_class_of_attributes(api: Api):
    selector = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["fast"]}
    await granted(api, {"persistentvolumeclaims": "0"}, scopeSelector={"matchExpressions": [selector]})
    for name, spec in (
        ("a", {}),
        ("b", {"volumeAttributesClassName": "fast"}),
        ("d", {"volumeAttributesClassName": "x"}),
    ):
        with api.unrecorded():
            answer = await api.post(CLAIMS, claim(name, **spec))
        api.note(name, [answer.status, answer.body.get("message")])


@pytest.mark.parametrize(
    ("path", "body", "names"),
    [
        (MAPS, config_map("b"), ["configmaps", "count/configmaps"]),
        ("/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}}, ["secrets", "count/secrets"]),
        (QUOTAS, {"metadata": {"name": "r"}, "spec": {}}, ["resourcequotas", "count/resourcequotas"]),
        (DEPLOYMENTS, deployment(), ["count/deployments.apps"]),
        ("/api/v1/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "s"}}, ["count/serviceaccounts"]),
    ],
    ids=["maps", "secrets", "quotas", "deployments", "accounts"],
)
async def test_objects_are_counted(api: Api, path: str, body: dict[str, Any], names: list[str]):
    await granted(api, dict.fromkeys(names, "1"))
    await heard(api, body, path)
    await heard(api, {**body, "metadata": {"name": "another"}}, path)


async def test_custom_objects_are_counted(api: Api, widgets: Widgets):
    await widgets.install()
    await granted(api, {f"count/widgets.{widgets.group}": "1"})
    for name in ("a", "b"):
        with api.unrecorded():
            answer = await api.post(widgets.path, widgets.widget(name))
        api.note(str(answer.status), answer.body.get("message"))


async def test_an_object_that_is_applied_or_put_anew_is_counted(api: Api):
    await granted(api, {"configmaps": "0"})
    with api.unrecorded():
        answer = await api.patch(MAPS + "/a", config_map(), type="apply", query={"fieldManager": "m"})
        api.note(str(answer.status), answer.body.get("message"))
        answer = await api.put(LEASES + "/l", {"metadata": {"name": "l"}})
        api.note(str(answer.status), answer.body.get("message"))


async def test_events_are_not_counted(api: Api):
    await granted(api, {"count/events": "0"})
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": api.namespace, "name": "p"},
        "reason": "R",
        "type": "Normal",
    }
    with api.unrecorded():
        answer = await api.post("/api/v1/namespaces/{ns}/events", event)
    api.note(str(answer.status), answer.body.get("message"))


async def test_an_update_of_what_is_only_counted_uses_nothing(api: Api):
    with api.unrecorded():
        await api.post(MAPS, config_map())
    await granted(api, {"configmaps": "1"}, {"configmaps": "1"})
    with api.unrecorded():
        answer = await api.patch(MAPS + "/a", {"data": {"a": "b"}})
    api.note(str(answer.status), answer.body.get("message"))
    await used(api)

"""§1.12 PodSecurity: what the levels of a namespace refuse and warn of, check by check and version by version."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, PODS, deployment, pod

pytestmark = pytest.mark.section("1.12")

NAMESPACES = "/api/v1/namespaces"
PREFIX = "pod-security.kubernetes.io/"
GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
VERSIONS = ["v1.0", "v1.8", "v1.18", "v1.19", "v1.22", "v1.24", "v1.27", "v1.29", "v1.31", "v1.32", "v1.34", "latest"]


def container(name: str = "c", context: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    more = {} if context is None else {"securityContext": context}
    return {"name": name, "image": "busybox:1.36", **more, **fields}


def security(**context: Any) -> dict[str, Any]:
    """A pod spec whose only container has that security context beside what is good."""
    return {"containers": [container(context={**GOOD, **context})]}


async def levels(api: Api, **labels: str) -> None:
    """Label the case's namespace; return when plug-ins have heard of it."""
    named = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in labels.items()}
    with api.unrecorded():
        await api.patch(NAMESPACES + "/{ns}", {"metadata": {"labels": named}})
        for _ in range(200):
            answer = await api.post(PODS, pod("probe", hostNetwork=True, hostPID=True), query={"dryRun": "All"})
            if answer.status == 403 or answer.warnings:
                return
    raise AssertionError("the labels of the namespace were never heard of")


async def heard(api: Api, body: dict[str, Any], path: str = PODS) -> None:
    """Tell what became of a pod: the refusal, or the warnings."""
    with api.unrecorded():
        answer = await api.post(path, body, query={"dryRun": "All"})
    told = answer.body.get("message") if answer.status != 201 else None
    api.note(str(answer.status), [told, answer.warnings])


SPECS: dict[str, dict[str, Any]] = {
    "plain": {},
    "good": security(),
    "two plain": {"containers": [container("a"), container("b")], "initContainers": [container("i")]},
    "good pod": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "Localhost", "localhostProfile": "x"}},
        "containers": [container(context={"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}})],
    },
    "host namespaces": {"hostNetwork": True, "hostPID": True, "hostIPC": True, **security()},
    "privileged": security(privileged=True, allowPrivilegeEscalation=True),
    "escalation": security(allowPrivilegeEscalation=True),
    "capabilities": security(capabilities={"add": ["SYS_ADMIN", "CHOWN", "NET_ADMIN"], "drop": ["KILL"]}),
    "bind service": security(capabilities={"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}),
    "host path": {**security(), "volumes": [{"name": "v", "hostPath": {"path": "/x"}}]},
    "volumes": {
        **security(),
        "volumes": [
            {"name": "a", "nfs": {"server": "s", "path": "/p"}},
            {"name": "b", "emptyDir": {}},
            {"name": "d", "secret": {"secretName": "s"}},
            {"name": "e", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
        ],
    },
    "host ports": {
        "containers": [
            container("a", GOOD, ports=[{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 100}]),
            container("b", GOOD, ports=[{"containerPort": 82, "hostPort": 9}]),
        ]
    },
    "a host port": {"containers": [container("a", GOOD, ports=[{"containerPort": 80, "hostPort": 80}])]},
    "hosts": {
        "containers": [
            container(
                "a",
                GOOD,
                livenessProbe={"httpGet": {"port": 80, "host": "h"}},
                readinessProbe={"tcpSocket": {"port": 80, "host": "g"}},
                lifecycle={"preStop": {"httpGet": {"port": 80, "host": "i"}}},
            )
        ]
    },
    "unmasked": {**security(procMount="Unmasked"), "hostUsers": False},
    "own users": {"hostUsers": False},
    "own root": {**security(runAsNonRoot=False, runAsUser=0), "hostUsers": False},
    "selinux": {
        "securityContext": {"seLinuxOptions": {"type": "other_t", "user": "u"}},
        "containers": [
            container(context={**GOOD, "seLinuxOptions": {"role": "r"}}),
            container("d", {**GOOD, "seLinuxOptions": {"type": "container_engine_t"}}),
            container("e", {**GOOD, "seLinuxOptions": {"type": "container_t", "level": "s0"}}),
        ],
    },
    "engine": security(seLinuxOptions={"type": "container_engine_t"}),
    "unconfined": {
        "securityContext": {"seccompProfile": {"type": "Unconfined"}, "runAsNonRoot": False},
        "containers": [container(context={**GOOD, "seccompProfile": {"type": "Unconfined"}, "runAsNonRoot": False})],
    },
    "unconfined pod": {
        "securityContext": {"seccompProfile": {"type": "Unconfined"}, "runAsUser": 0},
        "containers": [container(context=GOOD)],
    },
    "root": security(runAsUser=0, runAsNonRoot=False),
    "sysctls": {
        "securityContext": {
            "sysctls": [
                {"name": "kernel.shm_rmid_forced", "value": "1"},
                {"name": "net.ipv4.ip_local_reserved_ports", "value": "1"},
                {"name": "net.ipv4.tcp_fin_timeout", "value": "1"},
                {"name": "net.ipv4.tcp_rmem", "value": "1"},
                {"name": "kernel.msgmax", "value": "1"},
            ]
        },
        **security(),
    },
    "app armor": {
        "securityContext": {"appArmorProfile": {"type": "Unconfined"}},
        "containers": [container(context={**GOOD, "appArmorProfile": {"type": "Unconfined"}})],
    },
    "windows": {"os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}},
    "host process": {
        "os": {"name": "windows"},
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True}},
        "containers": [container(context={"windowsOptions": {"hostProcess": True}})],
    },
}


@pytest.mark.parametrize("level", ["baseline", "restricted"])
@pytest.mark.parametrize("name", SPECS)
async def test_what_a_level_refuses(api: Api, name: str, level: str):
    await levels(api, enforce=level)
    await heard(api, pod(**SPECS[name]))


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_a_version_refuses(api: Api, version: str):
    await levels(api, enforce="restricted", enforce_version=version)
    for spec in SPECS.values():
        await heard(api, pod(**spec))


@pytest.mark.parametrize("version", ["v1.18", "v1.30", "latest"])
async def test_annotations_of_old(api: Api, version: str):
    await levels(api, enforce="baseline", enforce_version=version)
    body = pod(**security())
    body["metadata"]["annotations"] = {
        "container.apparmor.security.beta.kubernetes.io/c": "unconfined",
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/c": "unconfined",
    }
    await heard(api, body)


async def test_a_refusal_in_full(api: Api):
    await levels(api, enforce="baseline")
    await api.post(PODS, pod(hostNetwork=True))
    await api.post(PODS, pod())


async def test_a_pod_whose_name_is_made_is_refused_by_it(api: Api):
    await levels(api, enforce="baseline")
    with api.unrecorded():
        answer = await api.post(PODS, {**pod(hostNetwork=True), "metadata": {"generateName": "p-"}})
    name = answer.body["details"]["name"]
    api.note("generated", [name[:2], len(name), answer.body["message"].replace(name, "<name>")])


async def test_who_is_only_warned(api: Api):
    await levels(api, warn="restricted", warn_version="v1.25")
    await api.post(PODS, pod())
    await api.post(DEPLOYMENTS, deployment())


async def test_auditing_says_nothing(api: Api):
    await levels(api, audit="restricted", warn="baseline")
    await heard(api, pod())


@pytest.mark.parametrize(
    "labels",
    [
        {"enforce": "restricted"},
        {"enforce": "baseline", "warn": "restricted"},
        {"enforce": "restricted", "warn": "privileged"},
        {"enforce": "restricted", "warn_version": "v1.20"},
        {"enforce": "baseline", "enforce_version": "v1.20"},
        {"enforce": "restricted", "enforce_version": "v1.99"},
    ],
    ids=str,
)
async def test_templates_of_pods_are_warned_of(api: Api, labels: dict[str, str]):
    await levels(api, **labels)
    await heard(api, deployment(), DEPLOYMENTS)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/apps/v1/namespaces/{ns}/replicasets", deployment("r")["spec"]),
        ("/apis/apps/v1/namespaces/{ns}/daemonsets", deployment("r")["spec"]),
        ("/apis/apps/v1/namespaces/{ns}/statefulsets", {**deployment("r")["spec"], "serviceName": "s"}),
        (
            "/apis/batch/v1/namespaces/{ns}/jobs",
            {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}},
        ),
        (
            "/apis/batch/v1/namespaces/{ns}/cronjobs",
            {
                "schedule": "* * * * *",
                "jobTemplate": {"spec": {"template": {"spec": {**pod()["spec"], "restartPolicy": "Never"}}}},
            },
        ),
        ("/api/v1/namespaces/{ns}/replicationcontrollers", {"template": deployment("r")["spec"]["template"]}),
    ],
    ids=lambda value: value.rpartition("/")[2] if isinstance(value, str) else "",
)
async def test_every_kind_of_template_is_warned_of(api: Api, path: str, body: dict[str, Any]):
    await levels(api, warn="restricted")
    await heard(api, {"metadata": {"name": "x"}, "spec": body}, path)


async def test_a_pod_template_is_warned_of(api: Api):
    await levels(api, warn="restricted")
    path = "/api/v1/namespaces/{ns}/podtemplates"
    await heard(api, {"metadata": {"name": "x"}, "template": deployment()["spec"]["template"]}, path)


async def test_a_changed_template_is_warned_of_again(api: Api):
    await levels(api, warn="restricted")
    with api.unrecorded():
        await api.post(DEPLOYMENTS, deployment())
    await api.patch(DEPLOYMENTS + "/d", {"metadata": {"labels": {"a": "b"}}})
    await api.patch(DEPLOYMENTS + "/d/status", {"status": {"replicas": 1}})
    await api.patch(DEPLOYMENTS + "/d/scale", {"spec": {"replicas": 2}})


async def test_a_changed_pod_is_looked_at_if_it_runs_something_else(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(hostPID=True))
    await levels(api, enforce="baseline")
    await api.patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})
    image = {"spec": {"containers": [{"name": "c", "image": "busybox:1.37"}]}}
    await api.patch(PODS + "/p", image, type="strategic")
    debugging = {"spec": {"ephemeralContainers": [{"name": "e", "image": "busybox"}]}}
    await api.patch(PODS + "/p/ephemeralcontainers", debugging, type="strategic")
    await api.patch(PODS + "/p/status", {"status": {"phase": "Running"}})


async def test_debugging_is_held_to_the_level(api: Api):
    await levels(api, enforce="baseline")
    with api.unrecorded():
        await api.post(PODS, pod())
    for context in ({"privileged": True}, {}):
        debugging = {"name": "e", "image": "busybox", "securityContext": context}
        await api.patch(
            PODS + "/p/ephemeralcontainers", {"spec": {"ephemeralContainers": [debugging]}}, type="strategic"
        )


# The labels of a namespace


@pytest.mark.parametrize(
    "labels",
    [
        {"enforce": "nonsense"},
        {"enforce": ""},
        {"enforce-version": "1.20"},
        {"enforce-version": "v1.020"},
        {"enforce-version": "v2.0"},
        {"warn-version": "v1.99999999999999999999"},
        {"audit": "Baseline", "warn": "x", "warn-version": "y"},
        {"enforce": "restricted", "enforce-version": "v1.30", "audit": "baseline", "warn-version": "latest"},
        {"other": "nonsense"},
    ],
    ids=str,
)
async def test_what_a_namespace_may_ask_for(api: Api, labels: dict[str, str]):
    named = {f"{PREFIX}{name}": value for name, value in labels.items()}
    body = {"metadata": {"name": f"{api.namespace}-x", "labels": named}}
    await api.post(NAMESPACES, body, query={"dryRun": "All"})
    await api.patch(NAMESPACES + "/{ns}", {"metadata": {"labels": named}}, query={"dryRun": "All"})


async def labelled(api: Api, **labels: str | None) -> None:
    named = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in labels.items()}
    with api.unrecorded():
        answer = await api.patch(NAMESPACES + "/{ns}", {"metadata": {"labels": named}})
    api.note(str(answer.status), answer.warnings)


async def test_pods_that_are_there_are_warned_of(api: Api):
    with api.unrecorded():
        for name in ("b", "a", "c"):
            await api.post(PODS, pod(name))
        await api.post(PODS, pod("h", hostPID=True))
        await api.post(PODS, pod("g", **security()))
        for _ in range(100):
            body = {"metadata": {"labels": {f"{PREFIX}enforce": "restricted"}}}
            answer = await api.patch(NAMESPACES + "/{ns}", body, query={"dryRun": "All"})
            if len(answer.warnings) == 3:
                break
    await labelled(api, enforce="baseline")
    await labelled(api, enforce="restricted")
    await labelled(api, enforce="baseline")
    await labelled(api, enforce="baseline", enforce_version="v1.20")
    await labelled(api, enforce="privileged")
    await labelled(api, enforce="restricted", enforce_version="v1.20")
    await labelled(api, warn="restricted")
    await labelled(api, enforce=None)

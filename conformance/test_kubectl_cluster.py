"""What kubectl says of the cluster, of access and certificates, and of pods that no kubelet runs."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import config_map, crd, pod

REQUEST = """-----BEGIN CERTIFICATE REQUEST-----
MIHSMHoCAQAwGDEKMAgGA1UECgwBZzEKMAgGA1UEAwwBdTBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABNDeS+bgzkC1vlDZwEodi9bVoMUE6ubCIsaO7HjkXbECZpj8
f/K0HdRqNVg+6yRHQFsWdSuhWMqov8mZcKjDc4+gADAKBggqhkjOPQQDAgNIADBF
AiBioN/CyIAWIWvWON70CW+O56osYWNVyBt+ImF2Odgo+gIhALKzB1NYgSijuI36
sI8xwPIABZq10zLSvI7HEibb7zKs
-----END CERTIFICATE REQUEST-----
"""
RESOURCES = [
    "--namespaced=false",
    "--namespaced=true -o name",
    "--api-group=apps -o wide",
    "--api-group=apps --no-headers",
    "--verbs=deletecollection,patch -o name --sort-by=name",
    "--categories=all",
    "--sort-by=kind --api-group=batch",
    "--api-group=batch -o json",
    "--api-group=batch -o yaml",
    "--cached=true --api-group=rbac.authorization.k8s.io",
    "--api-group=nothing.example.com",
]


async def test_resources_of_the_api(kubectl: Kubectl):
    for flags in RESOURCES:
        await kubectl(f"api-resources {flags}")
        told = kubectl.told[-1]
        # Other cases may have groups of their own on the same server.
        told["out"] = "\n".join(line for line in told["out"].splitlines() if ".example.com" not in line)


async def test_versions_of_the_api(kubectl: Kubectl):
    await kubectl("api-versions")
    told = kubectl.told[-1]
    told["out"] = "\n".join(line for line in told["out"].splitlines() if ".example.com" not in line)


async def test_a_new_kind_is_among_the_resources(kubectl: Kubectl):
    group = f"{kubectl.namespace}.example.com"
    await kubectl.made(crd("widgets", group))
    await kubectl.quietly(f"wait --for=condition=Established crd/widgets.{group}")
    for _ in range(50):
        if "Widget" in await kubectl(f"api-resources --api-group={group}", is_told=False):
            break
    await kubectl(f"api-resources --api-group={group} -o wide")
    await kubectl.quietly(f"delete crd widgets.{group}")


async def test_the_cluster(kubectl: Kubectl):
    await kubectl("cluster-info")
    await kubectl("config view -o jsonpath={.kind}")
    await kubectl("version")
    await kubectl("version -o jsonpath={.serverVersion.gitVersion}")
    await kubectl("version --client=nonsense")
    await kubectl("top pods")
    await kubectl("top nodes")


async def test_words_are_completed(kubectl: Kubectl):
    await kubectl.made(config_map("abc"), config_map("abd"), pod("p"))
    for words in (
        "get configmaps ab",
        "get pods ''",
        "get confi",
        "describe pod p",
        "logs ''",
        "get cm -o",
        "delete cm/ab",
    ):
        await kubectl(f"__complete {words}")


async def test_pods_that_nobody_runs(kubectl: Kubectl):
    two = pod("two", containers=[{"name": "c", "image": "i"}, {"name": "d", "image": "i"}])
    await kubectl.made(pod("p"), two)
    file = kubectl.file("f", "text")
    for line in (
        "logs p",
        "logs p -c nothing",
        "logs p --previous",
        "logs nope",
        "logs -l app=web",
        "exec p -- date",
        "exec p -c nothing -- date",
        "attach p",
        f"cp {file} p:/tmp/f",
        "port-forward p 8080:80",
    ):
        await kubectl(line)


async def test_pods_on_nodes_without_a_kubelet(kubectl: Kubectl):
    name = kubectl.namespace
    await kubectl.made({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await kubectl.made(pod("lost", nodeName="nowhere"), pod("p", nodeName=name))
    for line in ("logs lost", "logs p", "exec lost -- date", "exec p -- date"):
        await kubectl(line)
    ports = {"kubeletEndpoint": {"Port": 1}}
    status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": ports}
    await kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
    for line in ("logs p --tail=3 --since=5s", "logs lost -c nothing"):
        await kubectl(line)
    path = f"/api/v1/namespaces/{kubectl.namespace}/pods/p"
    for tail in (
        "log?tailLines=-1",
        "log?limitBytes=0&sinceSeconds=0",
        "log?sinceTime=x",
        "exec",
        "proxy/",
        "portforward",
    ):
        await kubectl("get", "--raw", f"{path}/{tail}")
    await kubectl.quietly(f"delete node {name}")


async def test_debugging(kubectl: Kubectl):
    await kubectl.made(pod("p"))
    await kubectl("debug p --image=busybox -c debugger --attach=false")
    await kubectl("debug p --image=busybox -c second --target=c --profile=general --attach=false -- date")
    await kubectl("debug p --image=busybox -c second --attach=false")
    await kubectl("get pod p -o jsonpath={.spec.ephemeralContainers}")
    await kubectl("debug p --image=busybox --copy-to=copy -c third --attach=false --share-processes")
    await kubectl("debug p --copy-to=other --set-image=*=busybox:2 --attach=false")
    await kubectl("get pod copy -o yaml")
    await kubectl("get pods -o wide")
    await kubectl("describe pod p")
    await kubectl("debug nope --image=busybox --attach=false")
    name = kubectl.namespace
    await kubectl.made({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await kubectl(f"debug node/{name} --image=busybox --attach=false --profile=general", is_told=False)
    await kubectl(
        "get", "pods", "-l", "app.kubernetes.io/managed-by=kubectl-debug", "-o", "jsonpath={.items[0].spec.volumes}"
    )
    await kubectl.quietly(f"delete node {name}")


async def test_a_proxy(kubectl: Kubectl):
    await kubectl.made(config_map("a", k="v"))
    line = "proxy --port=0"
    async with kubectl.started(line) as process:
        assert process.stdout is not None
        port = (await process.stdout.readline()).decode().strip().rpartition(":")[2]
        path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps/a"
        answer = await kubectl("--server", f"http://127.0.0.1:{port}", "get", "--raw", path, is_told=False)
    kubectl.told.append({"command": line, "code": "", "out": kubectl.normal(answer), "err": ""})


async def test_warnings(kubectl: Kubectl):
    old = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "e"}}
    await kubectl("create", "-f", "-", given=old)
    await kubectl("get endpoints e")
    await kubectl("create", "-f", "-", "--warnings-as-errors", given={**old, "metadata": {"name": "f"}})
    node = pod(
        "p",
        nodeSelector={"beta.kubernetes.io/os": "linux"},
        containers=[
            {"name": "c", "image": "i"},
            {"name": "d", "image": "i", "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        ],
    )
    await kubectl("apply", "-f", "-", given=node)
    level = "pod-security.kubernetes.io"
    await kubectl(f"label namespace {kubectl.namespace} {level}/warn=restricted {level}/enforce=baseline")
    await kubectl("run q --image=i --dry-run=server")
    await kubectl("run r --image=i --privileged")
    await kubectl("create deployment d --image=i")


async def test_certificates(kubectl: Kubectl):
    name = kubectl.namespace
    spec = {
        "request": base64.b64encode(REQUEST.encode()).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
    }
    request = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "spec": spec}
    for which in ("a", "b"):
        await kubectl.made({**request, "metadata": {"name": f"{name}-{which}"}})
    await kubectl(f"get csr {name}-a")
    await kubectl(f"certificate approve {name}-a")
    await kubectl(f"certificate approve {name}-a")
    await kubectl(f"certificate deny {name}-b")
    await kubectl(f"certificate deny {name}-a")
    await kubectl(f"certificate approve {name}-nope")
    await kubectl(f"get csr {name}-a {name}-b")
    await kubectl(f"describe csr {name}-a")
    await kubectl(f"delete csr {name}-a {name}-b")


@pytest.mark.parametrize("who", ["", "--as=nobody", "--as=u --as-group=system:masters"])
async def test_what_one_may_do(kubectl: Kubectl, who: str):
    for what in (
        "get pods",
        "'*' '*'",
        "create deployments.apps --subresource=scale",
        "get /healthz",
        "get nothings",
        "delete pod/p -q",
    ):
        await kubectl(f"auth can-i {what} {who}")
    await kubectl(f"auth can-i --list {who}")
    await kubectl(f"auth whoami {who}")


async def test_who_one_is(kubectl: Kubectl):
    await kubectl("auth whoami -o yaml --as=u --as-group=g --as-uid=1 --as-user-extra=k=v")
    await kubectl("auth whoami -o jsonpath={.status.userInfo.groups}")


async def test_roles_are_reconciled(kubectl: Kubectl):
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": kubectl.namespace},
        "rules": rules,
    }
    more = [*rules, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    await kubectl("auth", "reconcile", "-f", "-", given=role)
    await kubectl("auth", "reconcile", "-f", "-", given=role)
    await kubectl("auth", "reconcile", "-f", "-", "--dry-run=server", given={**role, "rules": more})
    await kubectl("auth", "reconcile", "-f", "-", given={**role, "rules": more})
    await kubectl("auth", "reconcile", "-f", "-", "--remove-extra-permissions", "-o", "yaml", given=role)


async def test_a_token_of_an_account(kubectl: Kubectl):
    await kubectl.quietly("create serviceaccount s")
    token = await kubectl("create token s --duration=10m --audience=a", is_told=False)
    assert token.count(".") == 2
    await kubectl("create token s --duration=1s")
    await kubectl("create token nope")

"""``kubectl get`` in every form of output, of one object and of many, once and watching."""

from __future__ import annotations

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import config_map, crd, deployment, pod

SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "labels": {"l": "1"}},
    "spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "http"}]},
}


async def test_an_object_in_every_form(kubectl: Kubectl):
    await kubectl.made(pod("p", nodeName="n"))
    for form in ("yaml", "json", "name", "wide", "yaml --show-managed-fields", "json --show-managed-fields"):
        await kubectl(f"get pod p -o {form}")
    await kubectl("get", "pod", "p", "-o", "jsonpath={.spec.containers[*].image}{'\\n'}{.metadata.labels}")
    await kubectl("get", "pod", "p", "-o", "jsonpath-as-json={.spec.tolerations[?(@.operator=='Exists')].key}")
    await kubectl("get", "pod", "p", "-o", "go-template={{range .spec.containers}}{{.name}} {{.image}}{{end}}")
    await kubectl("get", "pod", "p", "-o", "custom-columns=NAME:.metadata.name,NONE:.spec.nothing,C:.spec.containers")
    await kubectl("get", "pod", "p", "-o", "nonsense")
    await kubectl("get pod p -o kyaml")


async def test_forms_that_are_in_files(kubectl: Kubectl):
    await kubectl.made(config_map("a", k="v"))
    columns = kubectl.file("columns", "NAME DATA\nmetadata.name data.k")
    path = kubectl.file("path", "{.data.k}")
    template = kubectl.file("template", "{{.metadata.name}}")
    await kubectl(f"get configmap a -o custom-columns-file={columns}")
    await kubectl(f"get configmap a -o jsonpath-file={path}")
    await kubectl(f"get configmap a -o go-template-file={template}")
    await kubectl(f"get configmap a -o template={template} --template={{{{.data.k}}}}")


async def test_many_objects_in_every_form(kubectl: Kubectl):
    await kubectl.made(*(config_map(name, labels={"l": name}, k=name * 3) for name in "cab"))
    for form in ("yaml", "json", "name", "wide"):
        await kubectl(f"get configmaps -l l -o {form}")
    await kubectl("get configmaps -l l --sort-by=.data.k")
    await kubectl("get configmaps -l l --sort-by={.metadata.name} --no-headers")
    await kubectl("get configmaps -l l --sort-by=.nothing")
    await kubectl("get configmaps -l 'l in (a,b)' -L l -o wide")
    await kubectl("get configmaps -l l!=a,l --show-labels")
    await kubectl("get configmaps --selector='!!' ")
    await kubectl("get configmaps -l l --chunk-size=2 -o name")
    await kubectl("get configmaps a b nope")
    await kubectl("get configmaps a b nope --ignore-not-found -o name")
    await kubectl("get configmap nope --ignore-not-found")
    await kubectl("get configmaps a -l l")
    await kubectl("get", "configmaps", "-l", "l", "-o", "jsonpath={range .items[*]}{.metadata.name}={.data.k};{end}")


async def test_several_kinds_in_every_form(kubectl: Kubectl):
    await kubectl.made(config_map("a", labels={"l": "1"}), SERVICE)
    await kubectl("get configmaps,services -l l=1")
    await kubectl("get configmaps,services -l l=1 -o name")
    await kubectl("get configmaps,services -l l=1 -o yaml")
    await kubectl("get configmaps,services -l l=1 -o wide --show-labels")
    await kubectl("get cm/a svc/s -o name")
    await kubectl("get cm/a s")
    await kubectl("get svc,nothings")


async def test_fields_that_select(kubectl: Kubectl):
    await kubectl.made(pod("p", nodeName="n"), pod("q"))
    await kubectl("get pods --field-selector=spec.nodeName=n")
    await kubectl("get pods --field-selector=metadata.name!=p,status.phase=Pending -o name")
    await kubectl("get pods --field-selector=spec.nothing=n")
    await kubectl("get pods --field-selector=status.phase=Running")
    await kubectl("get configmaps --field-selector=data.k=v")


async def test_all_namespaces(kubectl: Kubectl):
    label = {kubectl.namespace: "x"}
    await kubectl.made(config_map("a", labels=label), config_map("b", labels=label))
    await kubectl("get", "configmaps", "-A", "-l", kubectl.namespace)
    await kubectl("get", "configmaps", "--all-namespaces", "-l", kubectl.namespace, "-o", "wide", "--no-headers")
    await kubectl("get", "configmaps,secrets", "-A", "-l", kubectl.namespace)
    await kubectl("get configmap a -A")
    await kubectl("get", "pods", "-A", "-l", kubectl.namespace)
    await kubectl("get", "namespace", kubectl.namespace)
    await kubectl("get", "namespaces", f"--field-selector=metadata.name={kubectl.namespace}", "-o", "wide")


async def test_subresources_are_got(kubectl: Kubectl):
    await kubectl.made(deployment("d", replicas=3), pod("p"))
    await kubectl("get deployment d --subresource=scale")
    await kubectl("get deployment d --subresource=scale -o yaml")
    await kubectl("get deployment d --subresource=status -o jsonpath={.metadata.generation}")
    await kubectl("get pod p --subresource=status")
    await kubectl("get pod p --subresource=resize -o name")
    await kubectl("get configmap a --subresource=scale")
    await kubectl("get pod p --subresource=nonsense")


async def test_raw_paths(kubectl: Kubectl):
    await kubectl.made(config_map("a", k="v"))
    await kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/configmaps/a")
    await kubectl("get", "--raw", f"/api/v1/namespaces/{kubectl.namespace}/configmaps/b")
    await kubectl("get --raw /healthz")
    await kubectl("get --raw /readyz")
    await kubectl("get --raw '/livez/ping'")
    await kubectl("get --raw /nowhere")
    path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    await kubectl("create", "--raw", path, "-f", "-", given=config_map("b"))
    await kubectl("replace", "--raw", f"{path}/b", "-f", "-", given=config_map("b", k="w"))
    await kubectl("delete", "--raw", f"{path}/b")
    await kubectl("get --raw /api/v1/nothing")


@pytest.mark.parametrize("flags", ["-w -o json --output-watch-events", "--watch-only"])
async def test_a_watch_that_is_cut_off(kubectl: Kubectl, flags: str):
    await kubectl.made(config_map("a", labels={"l": "1"}))
    await kubectl(f"get configmaps -l l=1 {flags} --request-timeout=1s")


async def test_a_watch_sees_what_happens(kubectl: Kubectl):
    await kubectl.made(config_map("a", labels={"l": "1"}))
    line = "get configmaps -l l=1 -w --output-watch-events -o name"
    async with kubectl.started(line) as process:
        assert process.stdout is not None
        heard = [await process.stdout.readline()]
        await kubectl("label configmap a l-")
        heard.append(await process.stdout.readline())
        await kubectl("label configmap a l=1")
        heard.append(await process.stdout.readline())
        await kubectl("delete configmap a")
        heard.append(await process.stdout.readline())
    kubectl.told.append({"command": line, "code": "", "out": b"".join(heard).decode(), "err": ""})


async def test_custom_resources_in_every_form(kubectl: Kubectl):
    group = f"{kubectl.namespace}.example.com"
    await kubectl.made(crd("widgets", group))
    await kubectl(f"wait --for=condition=Established crd/widgets.{group}")
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 3}}
    await kubectl.made(widget)
    for form in ("yaml", "json", "name", "wide", "custom-columns=S:.spec.size", "jsonpath={.spec.size}"):
        await kubectl(f"get widgets.{group} a -o {form}")
    await kubectl(f"get widgets.v1.{group}")
    await kubectl(f"get widgets.v2.{group}")
    await kubectl(f"get crd widgets.{group}")
    await kubectl(f"get crd widgets.{group} -o wide")
    await kubectl(f"delete crd widgets.{group}")
    await kubectl(f"get widgets.{group}")

"""``kubectl apply`` in all its ways, and its companions: diff, edit, replace, kustomize, prune."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import config_map, crd, deployment, pod


async def test_the_last_applied_configuration(kubectl: Kubectl):
    file = kubectl.file("a.yaml", config_map("a", k="v"))
    await kubectl(f"apply -f {file}")
    await kubectl("apply view-last-applied configmap a")
    await kubectl("apply view-last-applied configmap/a -o json")
    editor = kubectl.program("editor", 'sed -i "s/k: v/k: w/" "$1"')
    await kubectl("apply edit-last-applied configmap a", environment={"KUBE_EDITOR": editor})
    await kubectl("apply view-last-applied configmap a")
    await kubectl(f"apply set-last-applied -f {file}")
    await kubectl(f"apply set-last-applied -f {file} --dry-run=server")
    await kubectl("get configmap a -o yaml")
    await kubectl("create configmap b")
    await kubectl("apply view-last-applied configmap b")
    file = kubectl.file("b.yaml", config_map("b"))
    await kubectl(f"apply set-last-applied -f {file}")
    await kubectl(f"apply set-last-applied -f {file} --create-annotation")


async def test_apply_of_what_was_created(kubectl: Kubectl):
    await kubectl.quietly("create configmap a --from-literal=k=v")
    await kubectl("apply", "-f", "-", given=config_map("a", k="w"))
    await kubectl("apply", "-f", "-", "-o", "yaml", given=config_map("a", k="x"))
    await kubectl("apply", "-f", "-", "-o", "name", given=config_map("a", k="x"))
    await kubectl("apply", "--server-side", "-f", "-", given=config_map("a", k="x"))
    await kubectl("get configmap a -o yaml --show-managed-fields")


async def test_apply_on_the_server(kubectl: Kubectl):
    one = deployment("d", replicas=1)
    await kubectl("apply", "--server-side", "-f", "-", given=one)
    await kubectl("apply", "--server-side", "-f", "-", given=one)
    await kubectl("apply", "--server-side", "--field-manager=b", "-f", "-", given=deployment("d", replicas=2))
    forced = ("apply", "--server-side", "--field-manager=b", "--force-conflicts", "-f", "-")
    await kubectl(*forced, given=deployment("d", replicas=2))
    await kubectl("apply", "--server-side", "-f", "-", given=one)
    await kubectl("apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-", "-o", "name", given=one)
    await kubectl("apply", "--server-side", "-f", "-", given={**one, "nothing": 1})
    await kubectl("apply", "--force-conflicts", "-f", "-", given=one)


async def test_diff(kubectl: Kubectl):
    await kubectl(
        "diff", "-f", "-", given=config_map("a", k="v"), environment={"KUBECTL_EXTERNAL_DIFF": "diff -u -N -q"}
    )
    await kubectl.quietly("apply", "-f", "-", given=config_map("a", k="v"))
    await kubectl("diff", "-f", "-", given=config_map("a", k="v"))
    await kubectl(
        "diff", "-f", "-", given=config_map("a", k="w"), environment={"KUBECTL_EXTERNAL_DIFF": "no-such-program"}
    )
    shown = {"KUBECTL_EXTERNAL_DIFF": kubectl.program("shown", 'tail -n +1 "$1"/* "$2"/* | grep -v "^==>"; exit 1')}
    await kubectl("diff", "--server-side", "-f", "-", given=config_map("a", k="w"), environment=shown)
    await kubectl("diff", "-f", "-", given=config_map("a", k="w"), environment=shown)
    await kubectl("diff", "-f", "-", given={**config_map("a"), "nothing": 1}, environment=shown)


async def test_edit(kubectl: Kubectl):
    await kubectl.made(config_map("a", k="v"))
    await kubectl("edit configmap a", environment={"EDITOR": kubectl.program("one", 'sed -i "s/k: v/k: w/" "$1"')})
    await kubectl("get configmap a -o jsonpath={.data}")
    await kubectl("edit configmap a", environment={"EDITOR": kubectl.program("none", "true")})
    await kubectl(
        "edit configmap a -o json", environment={"EDITOR": kubectl.program("j", 'sed -i "s/\\"w\\"/\\"x\\"/" "$1"')}
    )
    seen = kubectl.program("seen", 'cat "$1" >&2')
    await kubectl("edit configmap a --show-managed-fields", environment={"EDITOR": seen})
    await kubectl("edit configmap nope", environment={"EDITOR": seen})
    await kubectl.made(deployment("d"))
    status = kubectl.program("status", 'sed -i "s/^status: .*/status: {replicas: 3}/" "$1"')
    await kubectl("edit deployment d --subresource=status", environment={"EDITOR": status})
    await kubectl("get deployment d -o jsonpath={.status}")


async def test_edits_that_are_refused(kubectl: Kubectl):
    await kubectl.made(deployment("d"))
    wrong = kubectl.program("wrong", 'sed -i "s/replicas: 1/replicas: -1/" "$1"')
    await kubectl("edit deployment d", environment={"EDITOR": wrong})
    unknown = kubectl.program("unknown", 'sed -i "s/^spec:/nothing: 1\\nspec:/" "$1"')
    await kubectl("edit deployment d", environment={"EDITOR": unknown})
    emptied = kubectl.program("emptied", ': > "$1"')
    await kubectl("edit deployment d", environment={"EDITOR": emptied})
    await kubectl("create", "-f", "-", "--save-config", given=config_map("a", k="v"))
    await kubectl("apply view-last-applied configmap a")


async def test_replace(kubectl: Kubectl):
    await kubectl("replace", "-f", "-", given=config_map("a", k="v"))
    await kubectl.made(config_map("a", k="v"), pod("p"))
    await kubectl("replace", "-f", "-", given=config_map("a", k="w"))
    await kubectl("replace", "--dry-run=server", "-f", "-", "-o", "yaml", given=config_map("a", k="x"))
    await kubectl("replace", "-f", "-", given=pod("p", hostNetwork=True))
    await kubectl("replace", "--force", "-f", "-", given=pod("p", hostNetwork=True))
    await kubectl("get pod p -o jsonpath={.spec.hostNetwork}")
    stale = {**config_map("a", k="y")}
    stale["metadata"]["resourceVersion"] = "1"
    await kubectl("replace", "-f", "-", given=stale)
    await kubectl("replace", "--force", "-f", "-", given=config_map("new"))


async def test_kustomize(kubectl: Kubectl):
    kustomization = {
        "resources": ["d.yaml"],
        "namePrefix": "my-",
        "labels": [{"pairs": {"l": "1"}, "includeSelectors": True}],
        "images": [{"name": "busybox", "newTag": "1.37"}],
        "configMapGenerator": [{"name": "m", "literals": ["k=v"]}],
    }
    kubectl.file("k/d.yaml", deployment("d"))
    folder = kubectl.file("k/kustomization.yaml", kustomization).parent
    await kubectl(f"kustomize {folder}")
    await kubectl(f"apply -k {folder}")
    await kubectl(f"apply -k {folder} --dry-run=server")
    await kubectl(f"get -k {folder}")
    await kubectl("get deployment my-d -o yaml")
    await kubectl(f"diff -k {folder}")
    await kubectl(f"delete -k {folder}")


async def test_prune_by_label(kubectl: Kubectl):
    labels = {"app": kubectl.namespace}
    file = kubectl.file("ab.yaml", config_map("a", labels=labels), config_map("b", labels=labels))
    line = f"--prune -l app={kubectl.namespace} --prune-allowlist=core/v1/ConfigMap"
    await kubectl(f"apply -f {file} {line}")
    file = kubectl.file("a.yaml", config_map("a", labels=labels))
    await kubectl(f"apply -f {file} {line} --dry-run=server")
    await kubectl(f"apply -f {file} {line}")
    await kubectl("get configmaps -l app -o name")


async def test_prune_by_apply_set(kubectl: Kubectl):
    file = kubectl.file("ab.yaml", config_map("a"), config_map("b"))
    alpha = {"KUBECTL_APPLYSET": "true"}
    await kubectl(f"apply -f {file} --prune --applyset=mine --server-side", environment=alpha)
    file = kubectl.file("a.yaml", config_map("a", k="v"))
    await kubectl(f"apply -f {file} --prune --applyset=mine --server-side", environment=alpha)
    await kubectl(f"apply -f {file} --prune --applyset=configmaps/other", environment=alpha)
    await kubectl("get configmaps,secrets -o name")
    await kubectl("get secret mine -o jsonpath={.metadata.annotations}")


@pytest.mark.parametrize("mode", ["strict", "warn", "ignore", "true", "false"])
async def test_validation_by_the_server(kubectl: Kubectl, mode: str):
    wrong: dict[str, Any] = {**config_map("a", k="v"), "nothing": {"a": 1}}
    await kubectl("create", f"--validate={mode}", "-f", "-", given=wrong)
    await kubectl("apply", f"--validate={mode}", "-f", "-", given={**wrong, "metadata": {"name": "b", "colour": "red"}})
    await kubectl("replace", f"--validate={mode}", "-f", "-", given=wrong)
    await kubectl("create", f"--validate={mode}", "-f", "-", given={"apiVersion": "v1", "kind": "ConfigMap", "data": 1})


async def test_runs_that_change_nothing(kubectl: Kubectl):
    for where in ("client", "server"):
        await kubectl("apply", f"--dry-run={where}", "-f", "-", "-o", "yaml", given=deployment("d"))
        await kubectl("create", f"--dry-run={where}", "-f", "-", given=deployment("d"))
        await kubectl(f"create configmap a --dry-run={where} -o json")
        await kubectl(f"run p --image=i --dry-run={where} -o yaml")
    await kubectl("get deployments,configmaps,pods")


async def test_many_documents(kubectl: Kubectl):
    file = kubectl.file("many.yaml", config_map("a"), {**config_map("Bad_Name")}, pod("p"), {"kind": "Thing"})
    await kubectl(f"create -f {file}")
    await kubectl(f"apply -f {file}")
    folder = kubectl.file("folder/a.yaml", config_map("a"), deployment("d")).parent
    await kubectl(f"apply -f {folder} -R")
    await kubectl(f"get -f {folder}")
    await kubectl(f"delete -f {folder} --ignore-not-found")
    broken = kubectl.file("broken.yaml", "a: [")
    await kubectl(f"apply -f {broken}")
    await kubectl(
        "apply", "-f", "-", given={"apiVersion": "nowhere.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    )
    await kubectl(
        "create",
        "-f",
        "-",
        given={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}, "nothing": 1},
    )


async def test_apply_of_custom_resources(kubectl: Kubectl):
    group = f"{kubectl.namespace}.example.com"
    size = {"type": "integer", "maximum": 5}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}}}
    await kubectl("apply", "-f", "-", given=crd("widgets", group, schema, subresources={"status": {}}))
    await kubectl.quietly(f"wait --for=condition=Established crd/widgets.{group}")

    def widget(**spec: Any) -> dict[str, Any]:
        return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}

    await kubectl("apply", "--validate=false", "-f", "-", given=widget(size=1))
    await kubectl("apply", "-f", "-", given=widget(size=2))
    await kubectl("apply", "-f", "-", given=widget(size=9))
    await kubectl("apply", "-f", "-", given=widget(size=2, colour="red"))
    await kubectl("apply", "--server-side", "-f", "-", given=widget(size=3))
    await kubectl("apply", "--server-side", "--field-manager=b", "-f", "-", given=widget(size=4))
    await kubectl("patch", f"widgets.{group}", "a", "--type=merge", "-p", '{"spec":{"size":5}}')
    await kubectl("patch", f"widgets.{group}", "a", "-p", '{"spec":{"size":4}}')
    await kubectl("patch", f"widgets.{group}", "a", "--subresource=status", "--type=merge", "-p", '{"status":{"x":1}}')
    await kubectl("label", f"widgets.{group}", "a", "l=1")
    await kubectl("scale", f"widgets.{group}/a", "--replicas=2")
    await kubectl(f"delete widgets.{group} --all")
    await kubectl.quietly(f"delete crd widgets.{group}")

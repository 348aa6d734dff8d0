"""kubectl 1.36 cannot tell the servers apart, in what it says with JSON bodies."""

from __future__ import annotations

import re

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import config_map, deployment


async def test_apply_creates_configures_and_leaves_alone(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=config_map("a", k="v"))
    await kubectl("apply", "-f", "-", given=config_map("a", k="w"))
    await kubectl("apply", "-f", "-", given=config_map("a", k="w"))
    await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.k}")


async def test_apply_removes_what_is_no_longer_said(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=config_map("a", k="v", gone="soon"))
    await kubectl("apply", "-f", "-", given=config_map("a", k="v"))
    await kubectl("get", "configmap", "a", "-o", "jsonpath={.data}")


async def test_apply_of_a_deployment(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=deployment(replicas=2))
    await kubectl("get", "deployment", "d", "-o", "yaml")
    await kubectl("apply", "-f", "-", given=deployment(replicas=3))
    await kubectl("get", "deployment", "d", "-o", "jsonpath={.spec.replicas} {.metadata.generation}")


async def test_server_side_apply_and_its_conflicts(kubectl: Kubectl):
    await kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", given=config_map("a", k="v"))
    await kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", given=config_map("a", k="w"))
    forced = ("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-")
    await kubectl(*forced, given=config_map("a", k="w"))


async def test_a_dry_run_on_the_server(kubectl: Kubectl):
    await kubectl("apply", "--dry-run=server", "-f", "-", given=config_map("a", k="v"))
    await kubectl("get", "configmap", "a", "-o", "name")


@pytest.mark.parametrize("type", ["merge", "strategic", "json"])
async def test_patches_of_every_type(kubectl: Kubectl, type: str):
    await kubectl("apply", "-f", "-", given=config_map("a", k="v"))
    patch = '[{"op":"replace","path":"/data/k","value":"w"}]' if type == "json" else '{"data":{"k":"w"}}'
    await kubectl("patch", "configmap", "a", f"--type={type}", "-p", patch)
    await kubectl("patch", "configmap", "a", f"--type={type}", "-p", patch)
    await kubectl("get", "configmap", "a", "-o", "json", is_told=False)


async def test_labels_and_annotations(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=config_map("a"))
    await kubectl("label", "configmap", "a", "x=y")
    await kubectl("label", "configmap", "a", "x=z")
    await kubectl("label", "--overwrite", "configmap", "a", "x=z")
    await kubectl("annotate", "configmap", "a", "n=1")
    await kubectl("label", "configmap", "a", "x-")
    await kubectl("get", "configmap", "a", "-o", "jsonpath={.metadata.labels} {.metadata.annotations.n}")


async def test_unknown_fields_are_refused(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given={**config_map("a"), "dat": {"k": "v"}})


async def test_invalid_objects_are_explained(kubectl: Kubectl):
    bad = deployment(replicas=-1)
    bad["spec"]["template"]["spec"]["containers"][0]["name"] = "Bad Name"
    await kubectl("apply", "-f", "-", given=bad)


async def test_what_is_not_there(kubectl: Kubectl):
    await kubectl("get", "configmap", "nope", "-o", "name")
    await kubectl("delete", "configmap", "nope")
    await kubectl("get", "things")


async def test_delete_and_wait(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=config_map("a"))
    await kubectl("delete", "configmap", "a")
    await kubectl("wait", "--for=delete", "configmap/a", "--timeout=5s")
    await kubectl("apply", "-f", "-", given=config_map("b", k="v"))
    await kubectl("wait", "--for=jsonpath={.data.k}=v", "configmap/b", "--timeout=5s")


async def test_scale(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=deployment(replicas=1))
    await kubectl("scale", "deployment", "d", "--replicas=4")
    await kubectl("get", "deployment", "d", "-o", "jsonpath={.spec.replicas}")


async def test_explain_knows_the_structure(kubectl: Kubectl):
    printed = await kubectl("explain", "deployment.spec.strategy", is_told=False)

    assert "GROUP:" in printed
    assert re.search(r"rollingUpdate\s+<RollingUpdateDeployment>", printed)


async def test_replace_and_diff(kubectl: Kubectl):
    await kubectl("apply", "-f", "-", given=config_map("a", k="v"))
    await kubectl("replace", "-f", "-", given=config_map("a", k="w"))
    await kubectl("get", "configmap", "a", "-o", "jsonpath={.data.k}")

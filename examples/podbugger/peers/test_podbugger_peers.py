"""The same PodBuggerTool in three frameworks does the same; the peers' only under ``make peers``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from frameworks import FRAMEWORKS, Framework, beside, cluster

from kubewright import Client, Config, MergePatch, Metadata, Unstructured
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import Container, Pod, PodSpec
from kubewright.kinds.events_v1 import Event

HERE = Path(__file__).parent
MINUTE = timedelta(minutes=1)
PodBuggerTool = Unstructured.of("debug.jicki.cn/v1alpha1", "PodBuggerTool", plural="podbuggertools")


def pod(name: str, command: str = "sleep 36000", **labels: str) -> Pod:
    container = Container(name="main", image="busybox", command=command.split())
    spec = PodSpec(containers=[container], restart_policy="Never")
    return Pod(metadata=Metadata(name=name, labels=labels), spec=spec)


def tool(name: str, image: str = "busybox", **labels: str) -> Unstructured:
    spec = {"selector": {"matchLabels": labels}, "image": image, "command": ["sleep", "36000"]}
    return PodBuggerTool(metadata=Metadata(name=name), content={"spec": spec})


async def counts(client: Client, name: str, matching: int, equipped: int) -> None:
    def are(found: Unstructured) -> bool:
        status: dict[str, Any] = found.get("status") or {}
        return (status.get("matchingPods"), status.get("equippedPods")) == (matching, equipped)

    await client.wait_until(PodBuggerTool, name, are, within=MINUTE)


async def containers(client: Client, name: str, number: int) -> list[str]:
    """Of the pod, once that many run."""

    def run(found: Pod) -> bool:
        states = [status.state for status in found.status.ephemeral_container_statuses]
        return len([state for state in states if state is not None and state.running is not None]) == number

    found = await client.wait_until(Pod, name, run, within=MINUTE)
    return sorted(container.name for container in found.spec.ephemeral_containers)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    with cluster(HERE / "crd.yaml", tmp_path) as file:
        yield file


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_tool_of_each_framework_equips_older_and_newer_pods_once_and_tells_of_refusals(
    framework: Framework, kubeconfig: Path, tmp_path: Path
) -> None:
    command = framework("podbugger")
    with beside(command, HERE, tmp_path / "operator.log", KUBECONFIG=str(kubeconfig)):
        async with Client(Config.from_kubeconfig(kubeconfig)) as client:
            await client.wait_until(
                CustomResourceDefinition, "podbuggertools.debug.jicki.cn", lambda crd: bool(crd.status.conditions)
            )
            await client.create(pod("old", debug="yes"))
            await client.create(pod("ended", "sleep 0", debug="yes"))
            await client.wait_until(Pod, "ended", lambda found: found.status.phase == "Succeeded", within=MINUTE)

            await client.create(tool("shell", debug="yes"))
            assert await containers(client, "old", 1) == ["bugger-shell"]
            await client.create(pod("new", debug="yes"))
            await client.create(pod("later"))
            assert await containers(client, "new", 1) == ["bugger-shell"]
            await client.patch(Pod, MergePatch({"metadata": {"labels": {"debug": "yes"}}}), name="later")
            assert await containers(client, "later", 1) == ["bugger-shell"]
            await client.create(tool("net", debug="yes"))
            assert await containers(client, "old", 2) == ["bugger-net", "bugger-shell"]
            await counts(client, "shell", 3, 3)
            await counts(client, "net", 3, 3)
            await client.create(tool("refused", " busybox", debug="yes"))
            await counts(client, "refused", 3, 0)
            await client.create(pod("last", debug="yes"))

            assert await containers(client, "last", 2) == ["bugger-net", "bugger-shell"]
            async for event in client.watch(Event):
                if event.type != "BOOKMARK" and event.object.reason == "Refused":
                    assert event.object.regarding.name == "refused"
                    break
            assert (await client.get(Pod, "ended")).spec.ephemeral_containers == []

"""The same PodSet in three frameworks does the same; kopf's and controller-runtime's only under ``make peers``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from count import examples, table

from kubewright import Client, Config, MergePatch, Metadata, Unstructured
from kubewright.kinds.apiextensions_v1 import CustomResourceDefinition
from kubewright.kinds.core_v1 import Pod

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
BIN = Path(sys.executable).parent
PodSet = Unstructured.of("apps.jicki.cn/v1alpha1", "PodSet", plural="podsets")


def asked_for_peers() -> None:
    if not os.environ.get("KUBEWRIGHT_PEERS"):
        pytest.skip("peers run under `make peers`")


def kubewright() -> list[str]:
    return [str(BIN / "kubewright"), "run", "kubewright_podset:operator", "--install-crds", "true"]


def kopf() -> list[str]:
    asked_for_peers()
    return [
        str(ROOT / ".venv-peers/bin/python"),
        "-m",
        "kopf",
        "run",
        "--standalone",
        "--all-namespaces",
        "kopf_podset.py",
    ]


def controller_runtime() -> list[str]:
    asked_for_peers()
    if shutil.which("go") is None:
        pytest.skip("there is no Go")
    sys.path.insert(0, str(ROOT))
    from tools.built import built, run

    source = HERE / "controller_runtime"

    def build(folder: Path) -> None:
        run(["go", "build", "-mod=readonly", "-o", str(folder / "program"), "."], source, CGO_ENABLED="0", GOWORK="off")

    return [str(built("podset", sorted(source.glob("*.*")), build) / "program")]


@contextmanager
def beside(command: list[str], log: Path, **environment: str) -> Iterator[None]:
    with log.open("wb") as out:
        env = {**os.environ, **environment}
        child = subprocess.Popen(command, cwd=HERE, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield
    except BaseException:
        sys.stdout.write(log.read_text())
        raise
    finally:
        child.terminate()
        child.wait(timeout=30)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Of a cluster with two nodes and the hand-written CRD."""
    file = tmp_path / "cluster.yaml"
    up = [
        str(BIN / "kubewright"),
        "up",
        "--nodes",
        "2",
        "--kubeconfig",
        str(file),
        "--manifests",
        str(HERE / "crd.yaml"),
    ]
    log = tmp_path / "up.log"
    with beside(up, log):
        wait = f"timeout 60 bash -c 'until grep -q \"is ready\" {log}; do sleep 0.1; done'"
        subprocess.run(["bash", "-c", wait], check=True)
        yield file


async def names(client: Client, size: int, without: str = "") -> list[str]:
    def is_settled(podset: Unstructured) -> bool:
        nodes = (podset.get("status") or {}).get("nodes") or []
        return len(nodes) == size and without not in nodes

    found: list[str] = (await client.wait_until(PodSet, "sample", is_settled))["status"].get("nodes") or []
    return found


@pytest.mark.parametrize("framework", [kubewright, kopf, controller_runtime])
async def test_a_podset_of_each_framework_is_filled_scaled_repaired_and_deleted(
    framework: object, kubeconfig: Path, tmp_path: Path
) -> None:
    assert callable(framework)
    command: list[str] = framework()
    with beside(command, tmp_path / "operator.log", KUBECONFIG=str(kubeconfig)):
        async with Client(Config.from_kubeconfig(kubeconfig)) as client:
            await client.wait_until(
                CustomResourceDefinition, "podsets.apps.jicki.cn", lambda crd: bool(crd.status.conditions)
            )
            await client.create(PodSet(metadata=Metadata(name="sample"), content={"spec": {"size": 3}}))
            victim = (await names(client, 3))[0]
            await client.delete(Pod, victim)
            await names(client, 3, without=victim)
            await client.patch(PodSet, MergePatch({"spec": {"size": 1}}), name="sample")
            (last,) = await names(client, 1)

            await client.delete(PodSet, "sample")

            await client.wait_gone(Pod, last)


def test_the_page_that_compares_them_has_the_numbers_of_the_command_and_the_code_that_is_run() -> None:
    page = (ROOT / "docs/tutorial/side_by_side.md").read_text()

    assert table() in page
    assert examples() in page
    for file in ("kubewright_podset.py", "kopf_podset.py", "controller_runtime/main.go"):
        assert (HERE / file).read_text() in page

from __future__ import annotations

import asyncio
import json
import os
import shutil
import ssl
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from kubewright.errors import KubewrightError
from kubewright.testing import BinariesNotFound, KubectlFailed, RealControlPlane, StartFailed
from tests.real import require_binaries
from tests.testing.scripted import scripted_binaries

pytestmark = pytest.mark.xdist_group("real")

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "9"}}}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {
                "containers": [{"name": "main", "image": "none"}],
                # No kubelet runs here, so the node is never ready.
                "tolerations": [{"operator": "Exists"}],
            },
        },
    },
}


async def connect(plane: RealControlPlane, url: str) -> None:
    address = urlsplit(url)
    context = ssl.create_default_context(cafile=str(plane.ca_file))
    _, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
    writer.close()
    await writer.wait_closed()


def take_out(folder: Path) -> dict[str, str]:
    files = {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    shutil.rmtree(folder)
    return files


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full_plane() -> AsyncIterator[RealControlPlane]:
    """A plane with all its parts that tests may restart."""
    binaries = require_binaries(controller_manager=True, scheduler=True)
    async with RealControlPlane(
        binaries=binaries,
        controller_manager=["--controllers=*,-ttl-after-finished-controller"],
        scheduler=True,
        flags=["--service-cluster-ip-range=10.96.0.0/24"],
        runtime_config="api/all=true",
    ) as plane:
        yield plane


async def test_kubectl_creates_and_reads_objects(real_control_plane: RealControlPlane) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}, "data": {"k": "v"}}

    created = await real_control_plane.kubectl("create", "-f", "-", "-o", "name", input=json.dumps(manifest))
    read = await real_control_plane.kubectl("get", created.stdout.strip(), "-o", "jsonpath={.data.k}")

    assert read.stdout == "v"


async def test_kubectl_raises_what_the_server_said_when_it_refuses(real_control_plane: RealControlPlane) -> None:
    with pytest.raises(KubectlFailed, match='configmaps "absent" not found'):
        await real_control_plane.kubectl("get", "configmap", "absent")


async def test_kubectl_hands_back_its_exit_code_when_not_checked(real_control_plane: RealControlPlane) -> None:
    result = await real_control_plane.kubectl("get", "configmap", "absent", check=False)

    assert result.returncode == 1
    assert 'configmaps "absent" not found' in result.stderr


async def test_another_user_is_known_by_name_and_groups(real_control_plane: RealControlPlane) -> None:
    alice = real_control_plane.user("alice", ["dev", "ops"])

    answer = await real_control_plane.kubectl("auth", "whoami", "-o", "json", kubeconfig=alice)

    who = json.loads(answer.stdout)["status"]["userInfo"]
    assert who["username"] == "alice"
    assert sorted(who["groups"]) == ["dev", "ops", "system:authenticated"]


async def test_another_user_may_do_nothing_before_rbac_allows_it(real_control_plane: RealControlPlane) -> None:
    with pytest.raises(KubectlFailed, match=r'User "bob" cannot list resource "secrets"'):
        await real_control_plane.kubectl("get", "secrets", kubeconfig=real_control_plane.user("bob"))


async def test_the_ca_file_verifies_the_api_server(real_control_plane: RealControlPlane) -> None:
    await connect(real_control_plane, real_control_plane.url)


async def test_the_kubeconfig_is_readable_by_its_owner_alone(real_control_plane: RealControlPlane) -> None:
    assert stat.S_IMODE(real_control_plane.kubeconfig.stat().st_mode) == 0o600


async def test_every_process_has_a_log(real_control_plane: RealControlPlane) -> None:
    assert sorted(log.name for log in real_control_plane.logs.iterdir()) == ["etcd.log", "kube-apiserver.log"]


async def test_pods_need_no_service_account_without_a_controller_manager(real_control_plane: RealControlPlane) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "alone-"},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }

    created = await real_control_plane.kubectl("create", "-f", "-", "-o", "name", input=json.dumps(pod))

    assert created.stdout.startswith("pod/alone-")


async def test_the_controller_manager_and_the_scheduler_bring_a_deployment_to_a_node(
    full_plane: RealControlPlane,
) -> None:
    await full_plane.kubectl("create", "-f", "-", input=json.dumps(NODE))
    await full_plane.kubectl("create", "-f", "-", input=json.dumps(DEPLOYMENT))

    await full_plane.kubectl("wait", "deployment/web", "--for=jsonpath={.status.replicas}", "--timeout=60s")
    await full_plane.kubectl("wait", "pod", "-l", "app=web", "--for=jsonpath={.spec.nodeName}=n1", "--timeout=60s")


async def test_the_runtime_config_turns_on_apis_that_are_off_by_default(
    real_control_plane: RealControlPlane, full_plane: RealControlPlane
) -> None:
    usual = (await real_control_plane.kubectl("api-versions")).stdout.split()
    full = (await full_plane.kubectl("api-versions")).stdout.split()

    assert set(usual) < set(full)


async def test_flags_replace_the_defaults_of_the_same_name(full_plane: RealControlPlane) -> None:
    service = await full_plane.kubectl("get", "service", "kubernetes", "-o", "jsonpath={.spec.clusterIP}")

    assert service.stdout == "10.96.0.1"


async def test_a_restarted_api_server_has_its_old_address_and_objects(full_plane: RealControlPlane) -> None:
    await full_plane.kubectl("create", "configmap", "kept")
    url = full_plane.url

    await full_plane.stop_api_server()
    with pytest.raises(ConnectionRefusedError):
        await connect(full_plane, url)
    await full_plane.restart_api_server()

    assert full_plane.url == url
    await full_plane.kubectl("get", "configmap", "kept")


async def test_nothing_is_left_when_a_plane_is_stopped(tmp_path: Path) -> None:
    async with RealControlPlane(binaries=scripted_binaries(tmp_path)) as plane:
        folder, url, ca = plane.kubeconfig.parent, plane.url, plane.ca_file.read_text(encoding="utf-8")

    assert "CERTIFICATE" in ca
    assert not folder.exists()
    address = urlsplit(url)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(address.hostname, address.port)


async def test_nothing_is_left_when_a_start_is_cancelled(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    etcd = f'echo "$PWD" >{tmp_path}/started; exec sleep 1000'
    task = asyncio.create_task(RealControlPlane(binaries=scripted_binaries(tmp_path, etcd=etcd)).start())
    working_folder = Path((await asyncio.to_thread((tmp_path / "started").read_text)).strip())

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert working_folder.name == "etcd"
    assert not working_folder.parent.exists()


async def test_a_failed_start_keeps_the_logs_that_its_message_names(tmp_path: Path) -> None:
    binaries = scripted_binaries(tmp_path, etcd="echo no space left; exit 1")

    with pytest.raises(StartFailed, match="etcd ended with exit code 1") as raised:
        await RealControlPlane(binaries=binaries).start()

    log = Path(str(raised.value).split("its log is in ")[1].split(" and ends")[0])
    assert take_out(log.parent.parent) == {"logs/etcd.log": "no space left\n"}


async def test_a_plane_that_is_not_running_says_how_to_use_it() -> None:
    with pytest.raises(KubewrightError, match="async with RealControlPlane"):
        _ = RealControlPlane().url


async def test_a_running_plane_refuses_a_second_start(tmp_path: Path) -> None:
    async with RealControlPlane(binaries=scripted_binaries(tmp_path)) as plane:
        with pytest.raises(KubewrightError, match="running already"):
            await plane.start()


async def test_a_stopped_plane_may_be_started_again(tmp_path: Path) -> None:
    plane = RealControlPlane(binaries=scripted_binaries(tmp_path), time_limit=timedelta(seconds=30))
    async with plane:
        first = plane.kubeconfig.parent

    async with plane:
        assert plane.kubeconfig.parent != first


async def test_a_missing_controller_manager_is_named(tmp_path: Path) -> None:
    plane = RealControlPlane(binaries=scripted_binaries(tmp_path), controller_manager=True)

    with pytest.raises(BinariesNotFound, match="kube-controller-manager"):
        await plane.start()


async def test_a_cancelled_kubectl_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    binaries = scripted_binaries(tmp_path)
    binaries.kubectl.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/started; exec sleep 1000\n", encoding="utf-8")
    async with RealControlPlane(binaries=binaries) as plane:
        task = asyncio.create_task(plane.kubectl("get", "pods", "--watch"))
        pid = int(await asyncio.to_thread((tmp_path / "started").read_text))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_missing_package_is_named_with_the_extra_to_install() -> None:
    # A fresh Python, in which the package cannot be imported.
    program = """
import asyncio, sys
sys.modules["cryptography"] = None
from kubewright.testing import MissingExtra, RealControlPlane
from tests.testing.scripted import scripted_binaries
import pathlib, tempfile
with tempfile.TemporaryDirectory() as folder:
    try:
        asyncio.run(RealControlPlane(binaries=scripted_binaries(pathlib.Path(folder))).start())
    except MissingExtra as error:
        print(error)
"""

    answer = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert "'cryptography'" in answer.stdout
    assert "pip install 'kubewright[testing]'" in answer.stdout

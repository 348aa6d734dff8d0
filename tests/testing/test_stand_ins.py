"""The programs of ``--write-assets`` in the place of kube-apiserver and etcd: same flags, same life."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright import Client, Config, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import Binaries, RealControlPlane
from tests.real import require_binaries


@pytest.fixture
def stand_ins(tmp_path: Path) -> Binaries:
    command = [sys.executable, "-m", "kubewright_apiserver", "--write-assets", str(tmp_path / "assets")]
    etcd, api_server, *_ = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return dataclasses.replace(require_binaries(), etcd=Path(etcd), kube_apiserver=Path(api_server))


async def test_a_control_plane_of_stand_ins_keeps_its_objects_over_a_restart(stand_ins: Binaries) -> None:
    async with RealControlPlane(binaries=stand_ins) as plane:
        async with Client(Config.from_kubeconfig(plane.kubeconfig)) as client:
            await client.create(ConfigMap(metadata=Metadata(name="stays"), data={"a": "b"}))
        await plane.restart_api_server()
        async with Client(Config.from_kubeconfig(plane.kubeconfig)) as client:
            found = await client.get(ConfigMap, "stays")
        told = await plane.kubectl("get", "configmaps", "stays", "--output", "name")

        assert found.data == {"a": "b"}
        assert told.stdout == "configmap/stays\n"


async def test_another_control_plane_of_stand_ins_is_empty(stand_ins: Binaries) -> None:
    async with RealControlPlane(binaries=stand_ins) as plane:
        await plane.kubectl("create", "configmap", "one")
    async with RealControlPlane(binaries=stand_ins) as plane:
        told = await plane.kubectl("get", "configmaps", "--output", "name")

    assert "configmap/one" not in told.stdout

"""``kubewright run`` against the cluster of a kubeconfig: a real one."""

from __future__ import annotations

import asyncio
import signal

import pytest

from kubewright import Client, Config, Metadata, Unstructured
from kubewright.kinds.core_v1 import Pod
from kubewright.testing import RealControlPlane
from tests.cli.test_run import EXAMPLES, lines_until, started

pytestmark = pytest.mark.asyncio(loop_scope="session")

PodSet = Unstructured.of("apps.jicki.cn/v1alpha1", "PodSet", plural="podsets")


async def test_a_podset_is_kept_by_an_operator_on_a_real_cluster(real_control_plane: RealControlPlane) -> None:
    flags = ["--kubeconfig", str(real_control_plane.kubeconfig), "--install-crds", "true", "--leader-election", "true"]
    with started("run", "podset:operator", *flags, "--log-format", "json", folder=EXAMPLES / "podset") as child:
        await asyncio.to_thread(lines_until, child, "controller podset works")
        async with Client(Config.from_kubeconfig(real_control_plane.kubeconfig)) as client:
            await client.create(PodSet(metadata=Metadata(name="cli"), content={"spec": {"size": 2}}))
            found = await client.wait_until(PodSet, "cli", lambda obj: len(obj.get("status", {}).get("nodes", [])) == 2)

            pods = await client.list(Pod, labels="apps.jicki.cn/podset=cli")
            assert sorted(pod.name for pod in pods) == sorted(found["status"]["nodes"])
            await client.delete(PodSet, "cli")
        child.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(child.wait, 20) == 0

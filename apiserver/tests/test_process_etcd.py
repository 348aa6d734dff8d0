"""Programs by the names of kube-apiserver and etcd, as tools start them that know only those."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewright_apiserver.access import Authority
from kubewright_apiserver.process.assets import write_assets
from kubewright_apiserver.process.place import folder_for

MAPS = "/api/v1/namespaces/default/configmaps"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def etcd(address: str, folder: Path, cwd: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """The stand-in of etcd with the flags of envtest, once it listens."""
    flags = ["--listen-peer-urls=http://127.0.0.1:0", f"--advertise-client-urls={address}", "--unsafe-no-fsync"]
    flags += [f"--listen-client-urls={address}", f"--data-dir={folder}"]
    (program,) = (path for path in write_assets(folder.parent / "assets") if path.name == "etcd")
    child = subprocess.Popen([program, *flags], cwd=cwd, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready to serve client requests\n"
        yield child
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def test_the_programs_can_be_run_and_nothing_else_is_written(tmp_path: Path):
    written = write_assets(tmp_path / "assets")

    assert [path.name for path in written][:2] == ["etcd", "kube-apiserver"]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o755 for path in written[:2])
    assert sorted((tmp_path / "assets").iterdir()) == written


def test_they_are_written_by_a_flag(tmp_path: Path):
    found = written_by_flag(tmp_path, PATH="")

    assert found == [str(tmp_path / "assets" / name) for name in ("etcd", "kube-apiserver")]


def written_by_flag(folder: Path, **environment: str) -> list[str]:
    command = [sys.executable, "-m", "kubewright_apiserver", "--write-assets", "assets"]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_kubectl_is_the_one_that_is_installed(tmp_path: Path):
    (tmp_path / "bin").mkdir()
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.write_text("#!/bin/sh\necho ours\n")
    kubectl.chmod(0o755)

    first = written_by_flag(tmp_path, PATH=str(kubectl.parent))
    again = written_by_flag(tmp_path, PATH=f"{tmp_path / 'assets'}:{kubectl.parent}")

    assert first[-1] == str(tmp_path / "assets" / "kubectl")
    assert again == first
    assert subprocess.check_output([first[-1]], text=True) == "ours\n"


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_they_help_as_envtest_looks_for_flags(tmp_path: Path, name: str):
    write_assets(tmp_path)
    (tmp_path / "yaml.py").write_text("raise SystemExit('a module of the user')")

    found = subprocess.run([tmp_path / name, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert "--insecure-port" not in found.stdout
    assert "\n  --" in found.stdout or "\n      --" in found.stdout


def test_etcd_is_healthy_and_ends_when_told_to(tmp_path: Path):
    address = f"http://127.0.0.1:{free_port()}"
    with etcd(address, tmp_path / "etcd") as child:
        with urllib.request.urlopen(f"{address}/health") as answer:
            health = json.load(answer)
        child.send_signal(signal.SIGTERM)

        assert health == {"health": "true", "reason": ""}
        assert child.wait(10) == 0


def test_a_server_keeps_its_data_with_its_etcd(start, tmp_path: Path):
    address = f"http://127.0.0.1:{free_port()}"
    with etcd(address, tmp_path / "etcd"):
        first = start(f"--etcd-servers={address}")
        first.ready()
        first.ask(MAPS, "POST", {"metadata": {"name": "stays"}})
        first.end(signal.SIGKILL)
        second = start(f"--etcd-servers={address}")
        second.ready()

        assert second.ask(f"{MAPS}/stays")[0] == 200
        assert second.said == ""
        assert (tmp_path / "etcd/kubewright/cluster.db").exists()


def test_an_etcd_on_a_socket_is_found(tmp_path: Path):
    with etcd("unix://client:1", tmp_path / "etcd", cwd=tmp_path):
        before = Path.cwd()
        os.chdir(tmp_path)
        try:
            found = folder_for("", ["unix://client:1"])
        finally:
            os.chdir(before)

    assert found == tmp_path / "etcd/kubewright"


def test_something_else_than_the_stand_in_offers_no_folder(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        silent.listen()

        assert folder_for("", [f"http://127.0.0.1:{free_port()}", "nonsense", f"http://127.0.0.1:{port}"]) is None


def test_a_server_runs_as_envtest_starts_it(start, tmp_path: Path):
    folder = tmp_path / "certs"
    folder.mkdir()
    authority, users, accounts = Authority(), Authority(), Authority()
    pair = authority.issue_server(["localhost", "127.0.0.1"])
    (folder / "apiserver.crt").write_bytes(pair.certificate)
    (folder / "apiserver.key").write_bytes(pair.key)
    (folder / "client-cert-auth-ca.crt").write_bytes(users.certificate)
    account = accounts.issue_server(["sa"])
    (folder / "sa-signer.crt").write_bytes(account.certificate)
    (folder / "sa-signer.key").write_bytes(account.key)
    process = start(
        "--allow-privileged=true",
        "--authorization-mode=RBAC",
        "--bind-address=127.0.0.1",
        f"--cert-dir={folder}",
        f"--client-ca-file={folder / 'client-cert-auth-ca.crt'}",
        "--disable-admission-plugins=ServiceAccount",
        "--etcd-servers=http://127.0.0.1:1",
        "--service-account-issuer=https://127.0.0.1:6443/",
        f"--service-account-key-file={folder / 'sa-signer.crt'}",
        f"--service-account-signing-key-file={folder / 'sa-signer.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
    )
    process.ready()

    assert process.ask("/healthz", as_nobody=True) == (200, "ok")
    assert process.ask("/api/v1/namespaces/default")[0] == 200
    assert (folder / "apiserver.crt").read_bytes() == pair.certificate
    assert process.end() == 0

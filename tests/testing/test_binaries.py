from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.testing import KUBERNETES_VERSION, BinariesNotFound, find_binaries
from tests.testing.scripted import write_script

REQUIRED = ("etcd", "kube-apiserver", "kubectl")
BUILD = Path(__file__).parents[2] / "tools" / "real" / "build.py"


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        write_script(folder / name, "exit 0")
    return folder


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("KUBEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "real" / KUBERNETES_VERSION


def test_find_binaries_prefers_kubebuilder_assets(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets = fill(tmp_path / "assets", *REQUIRED)
    fill(cache, *REQUIRED)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))

    found = find_binaries()

    assert (found.etcd, found.kube_apiserver, found.kubectl) == tuple(assets / name for name in REQUIRED)


def test_find_binaries_takes_the_cache_before_the_path(tmp_path: Path, cache: Path) -> None:
    fill(cache, *REQUIRED)
    fill(tmp_path / "path", *REQUIRED)

    assert find_binaries().etcd == cache / "etcd"


def test_find_binaries_takes_the_path_last(tmp_path: Path) -> None:
    folder = fill(tmp_path / "path", *REQUIRED)

    assert find_binaries().kubectl == folder / "kubectl"


def test_find_binaries_uses_the_shared_cache_folder_when_no_own_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBEWRIGHT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    folder = fill(tmp_path / "xdg" / "kubewright" / "real" / KUBERNETES_VERSION, *REQUIRED)

    assert find_binaries().etcd == folder / "etcd"


def test_find_binaries_never_mixes_places(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fill(tmp_path / "assets", "etcd", "kubectl")))
    fill(cache, *REQUIRED)

    assert find_binaries().etcd == cache / "etcd"


def test_find_binaries_leaves_out_what_is_not_asked_for(cache: Path) -> None:
    fill(cache, *REQUIRED, "kube-scheduler")

    found = find_binaries()

    assert found.kube_controller_manager is None
    assert found.kube_scheduler == cache / "kube-scheduler"


def test_find_binaries_passes_over_a_place_without_the_controller_manager_asked_for(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fill(tmp_path / "assets", *REQUIRED)))
    fill(cache, *REQUIRED, "kube-controller-manager")

    assert find_binaries(controller_manager=True).kube_controller_manager == cache / "kube-controller-manager"


def test_find_binaries_passes_over_a_file_that_cannot_be_run(tmp_path: Path, cache: Path) -> None:
    fill(cache, *REQUIRED)
    (cache / "etcd").chmod(0o644)
    fill(tmp_path / "path", *REQUIRED)

    assert find_binaries().etcd == tmp_path / "path" / "etcd"


def test_find_binaries_tells_every_place_and_the_remedy_when_nothing_is_there(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(fill(tmp_path / "assets", "etcd", "kubectl")))

    with pytest.raises(BinariesNotFound) as raised:
        find_binaries()

    message = str(raised.value)
    assert f"KUBEBUILDER_ASSETS={tmp_path / 'assets'}: no kube-apiserver" in message
    assert f"{cache}: no etcd, kube-apiserver, kubectl" in message
    assert "PATH: no etcd, kube-apiserver, kubectl" in message
    assert message.endswith("run `make real`")


def test_the_builder_builds_the_version_that_is_looked_for() -> None:
    assert runpy.run_path(str(BUILD))["VERSION"] == KUBERNETES_VERSION


@pytest.mark.parametrize("variable", ["KUBEWRIGHT_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_the_builder_fills_the_folder_that_is_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("KUBEWRIGHT_CACHE")
    monkeypatch.setenv(variable, str(tmp_path / variable))
    printed = subprocess.run(
        [sys.executable, BUILD, "--print-folder"], check=True, capture_output=True, text=True, env=os.environ
    )

    folder = fill(Path(printed.stdout.strip()), *REQUIRED)

    assert find_binaries().etcd == folder / "etcd"

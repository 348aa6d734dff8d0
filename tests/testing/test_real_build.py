"""The builder of the real binaries, run as a program with a scripted Go in place of the real one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubewright.testing import KUBERNETES_VERSION
from tests.testing.scripted import write_script

TOOLS = Path(__file__).parents[2] / "tools" / "real"
BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
GO = """
echo "$@" >>"{calls}"
case "$1" in env) echo {version}; exit 0;; esac
while [ "$1" != -o ]; do shift; done
{build}
echo "built from $3" >"$2"
chmod +x "$2"
"""


@dataclass
class Workshop:
    """A copy of the builder with its own cache folder and a ``PATH`` that holds the scripted Go alone."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "cache" / "real" / KUBERNETES_VERSION

    @property
    def calls(self) -> list[str]:
        log = self.root / "calls"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    @property
    def built(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("[!.]*"))

    def install_go(self, *, version: str = "go1.99.1", build: str = ":") -> None:
        write_script(self.root / "bin" / "go", GO.format(calls=self.root / "calls", version=version, build=build))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(self.root / "real" / "build.py"), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"KUBEWRIGHT_CACHE": str(self.root / "cache"), "PATH": f"{self.root}/bin:{self.root}/tools"}

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    shutil.copytree(TOOLS, tmp_path / "real", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tools").mkdir()
    for name in ("chmod", "cat"):
        (tmp_path / "tools" / name).symlink_to(shutil.which(name) or name)
    return Workshop(tmp_path)


def test_the_builder_builds_the_control_plane_by_default(workshop: Workshop) -> None:
    workshop.install_go()

    ended = workshop.run()

    assert ended.returncode == 0, ended.stderr
    assert workshop.built == sorted(BINARIES)
    assert (workshop.folder / "etcd").read_text(encoding="utf-8") == "built from go.etcd.io/etcd/server/v3\n"


def test_the_builder_builds_the_oracles_as_well_when_asked_to(workshop: Workshop) -> None:
    workshop.install_go()

    workshop.run("--oracles")

    assert workshop.built == sorted([*BINARIES, "controller-gen", "e2e.test", "helm"])
    assert any(call.startswith("test -c ") and call.endswith("k8s.io/kubernetes/test/e2e") for call in workshop.calls)


def test_the_builder_builds_only_what_is_named(workshop: Workshop) -> None:
    workshop.install_go()

    workshop.run("etcd", "helm")

    assert workshop.built == ["etcd", "helm"]


def test_the_builder_names_the_known_binaries_when_one_is_unknown(workshop: Workshop) -> None:
    ended = workshop.run("kubelet")

    assert ended.returncode == 2
    assert "unknown binaries: kubelet" in ended.stderr
    assert "kube-scheduler" in ended.stderr


def test_the_builder_pins_the_version_and_changes_no_module(workshop: Workshop) -> None:
    workshop.install_go()

    workshop.run("kubectl")

    assert "-mod=readonly -trimpath" in workshop.calls[-1]
    assert f"-X k8s.io/component-base/version.gitVersion=v{KUBERNETES_VERSION}" in workshop.calls[-1]


def test_the_builder_asks_nothing_of_go_when_all_is_there(workshop: Workshop) -> None:
    workshop.install_go()
    workshop.run()
    (workshop.root / "bin" / "go").unlink()

    ended = workshop.run()

    assert ended.returncode == 0, ended.stderr
    assert f"ready in {workshop.folder}" in ended.stdout


def test_the_builder_builds_again_only_what_a_changed_module_pins(workshop: Workshop) -> None:
    workshop.install_go()
    workshop.run()
    before = len(workshop.calls)
    with (workshop.root / "real" / "etcd" / "go.mod").open("a", encoding="utf-8") as module:
        module.write("// changed\n")

    workshop.run()

    assert [call.rpartition(" ")[2] for call in workshop.calls[before:]] == ["GOVERSION", "go.etcd.io/etcd/server/v3"]


def test_the_builder_builds_again_what_was_removed(workshop: Workshop) -> None:
    workshop.install_go()
    workshop.run()
    (workshop.folder / "kubectl").unlink()

    workshop.run()

    assert "kubectl" in workshop.built


def test_the_builder_keeps_the_old_binary_when_a_build_fails(workshop: Workshop) -> None:
    workshop.install_go()
    workshop.run("etcd")
    (workshop.root / "real" / "etcd" / "go.sum").write_text("changed", encoding="utf-8")
    workshop.install_go(build='echo half >"$2"; exit 1')

    ended = workshop.run("etcd")

    assert ended.returncode == 1
    assert "etcd could not be built" in ended.stderr
    assert (workshop.folder / "etcd").read_text(encoding="utf-8").startswith("built from")
    assert not list(workshop.folder.glob(".build-*"))


def test_a_killed_build_leaves_nothing_that_passes_for_a_binary(workshop: Workshop) -> None:
    os.mkfifo(workshop.root / "started")
    os.mkfifo(workshop.root / "go-on")
    workshop.install_go(build=f'echo half >"$2"; echo >"{workshop.root}/started"; cat "{workshop.root}/go-on"; exit 1')
    with subprocess.Popen(workshop.command("etcd"), env=workshop.environment, stdout=subprocess.PIPE) as build:
        (workshop.root / "started").read_text(encoding="utf-8")
        build.send_signal(signal.SIGKILL)
    (workshop.root / "go-on").write_text("", encoding="utf-8")
    assert workshop.built == []

    workshop.install_go()
    ended = workshop.run("etcd")

    assert ended.returncode == 0, ended.stderr
    assert workshop.built == ["etcd"]
    assert not list(workshop.folder.glob(".build-*"))


def test_the_builder_says_what_to_install_when_go_is_missing(workshop: Workshop) -> None:
    ended = workshop.run()

    assert ended.returncode == 2
    assert "Go is not installed" in ended.stderr
    assert "Install Go 1.26.0 or newer" in ended.stderr


def test_the_builder_says_what_to_install_when_go_is_too_old(workshop: Workshop) -> None:
    workshop.install_go(version="go1.20.3")

    ended = workshop.run()

    assert ended.returncode == 2
    assert "too old" in ended.stderr
    assert "go1.20.3" in ended.stderr
    assert "Install Go 1.26.0 or newer" in ended.stderr

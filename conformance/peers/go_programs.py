"""Programs of controller-runtime, built once from the module beside this file, and what controller-gen makes of it."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import yaml

from tools.built import built, run

__all__ = ["MODULE", "GoPrograms", "Unfetched"]

MODULE = Path(__file__).parent / "controller_runtime"
_CHAOS_POD = "sigs.k8s.io/controller-runtime/examples/crd/pkg"
_FLAGS = ("-mod=readonly", "-trimpath", "-ldflags", "-s -w")


class Unfetched(Exception):
    """The modules that the programs are built from are not there, and cannot be fetched."""


class GoPrograms:
    """Where the programs are: examples by their names, ``operator`` and ``environment.test``.

    Raises: `Unfetched` without a network, if the modules are not there.
    """

    def __init__(self) -> None:
        self.folder = built("controller-runtime-examples", _sources(), _build)

    def program(self, name: str) -> Path:
        """One program."""
        return self.folder / "programs" / name

    @property
    def definitions(self) -> Path:
        """The folder with the CRD of the example ``crd``."""
        return self.folder / "definitions"

    @cached_property
    def definition(self) -> dict[str, Any]:
        """The CRD of the example ``crd``."""
        (file,) = self.definitions.glob("*.yaml")
        found: dict[str, Any] = yaml.safe_load(file.read_text())
        return found

    def roles(self, *names: str) -> list[dict[str, Any]]:
        """What was generated from the markers of these roles."""
        found = [role for role in self._roles if role["metadata"]["name"] in names]
        assert len(found) == len(names), f"there is no role for some of {names}"
        return found

    @cached_property
    def _roles(self) -> list[dict[str, Any]]:
        files = sorted(self.folder.glob("roles/*/*.yaml"))
        return [role for file in files for role in yaml.safe_load_all(file.read_text())]


def _sources() -> list[Path]:
    return [Path(__file__), *sorted(path for path in MODULE.rglob("*") if path.is_file())]


def _build(folder: Path) -> None:
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    try:
        _go(["go", "mod", "download"])
    except CalledProcessError as error:
        raise Unfetched(f"the modules of {MODULE.name}/go.mod cannot be fetched: {error}") from error
    # The examples are tools of the module. With cgo a C compiler would be needed.
    _go(["go", "build", *_FLAGS, "-o", f"{programs}/", "tool", "./operator"])
    _go(["go", "test", "-c", "-vet=off", *_FLAGS, "-o", programs / "environment.test", "./environment"])
    generate = programs / "controller-gen"
    _go([generate, "rbac:roleName=operator", "paths=./operator", f"output:dir={folder}/roles/operator"])
    _go([generate, "rbac:roleName=examples", "paths=./roles", f"output:dir={folder}/roles/examples"])
    _go([generate, "crd", f"paths={_CHAOS_POD}", f"output:dir={folder}/definitions"])
    for file in (folder / "definitions").glob("*.yaml"):
        _name_version(file)


def _name_version(file: Path) -> None:
    """Give a definition the version that its Go types are registered with: controller-gen takes the package's name."""
    definition = yaml.safe_load(file.read_text())
    (version,) = definition["spec"]["versions"]
    version["name"] = "v1"
    file.write_text(yaml.safe_dump(definition))


def _go(command: list[str | Path]) -> None:
    run(command, MODULE, CGO_ENABLED="0", GOWORK="off")

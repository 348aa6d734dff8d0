"""kopf's own examples, with its CRDs and the role of its documentation: all from the archive of its sources."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import yaml

from conformance.peers.peer import PYTHON
from tools.built import built, run

__all__ = ["KopfExamples", "Unfetched"]

_REQUIREMENTS = Path(__file__).parent / "requirements.txt"
_DIGEST = "sha256:5baa180cfdebe1c5095d2a0a96d7d91825b6920541a0825c55719c36abb0054f"


class Unfetched(Exception):
    """The archive is not there and cannot be fetched."""


class KopfExamples:
    """Where the examples are, and what they need.

    Raises: `Unfetched` without a network, if they are not there.
    """

    def __init__(self) -> None:
        (self._folder,) = built("kopf-examples", [_REQUIREMENTS], _build).glob("kopf-*/")

    def program(self, name: str) -> Path:
        """The program of one example."""
        return self._folder / "examples" / name / "example.py"

    @property
    def definition(self) -> dict[str, Any]:
        """The CRD of what the examples handle."""
        return self._read("examples/crd.yaml")[0]

    @property
    def example(self) -> dict[str, Any]:
        """An object of that kind."""
        return self._read("examples/obj.yaml")[0]

    @property
    def peerings(self) -> list[dict[str, Any]]:
        """The CRDs by which operators know of each other."""
        return [document for document in self._read("peering.yaml") if "CustomResource" in document["kind"]]

    @property
    def roles(self) -> list[dict[str, Any]]:
        """The ClusterRole and the Role that the documentation gives an operator."""
        return [document for document in self._read("docs/deployment-rbac.yaml") if document["kind"].endswith("Role")]

    def _read(self, path: str) -> list[dict[str, Any]]:
        return [document for document in yaml.safe_load_all((self._folder / path).read_text()) if document]


def _build(folder: Path) -> None:
    pinned = re.search(r"^kopf==\S+", _REQUIREMENTS.read_text(), re.MULTILINE)
    assert pinned is not None
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{pinned[0]} --hash={_DIGEST}\n")
    pip: list[str | Path] = [
        PYTHON,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--dest",
        folder,
    ]
    try:
        run([*pip, "--no-binary", ":all:", "--requirement", wanted], folder)
    except CalledProcessError as error:
        raise Unfetched(f"the sources of {pinned[0]} cannot be fetched: {error}") from error
    (archive,) = folder.glob("kopf-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    archive.unlink()

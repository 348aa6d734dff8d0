"""Both wheels, as users get them: installed into an empty environment, the smallest program runs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """
from kubewright import Client, Metadata, Model, Resource
from kubewright.api import to_dict
from kubewright.kinds.core_v1 import ConfigMap
from kubewright_apiserver.data import resources

class GreetingSpec(Model):
    text: str

class Greeting(Resource, group="demo.example.com", version="v1"):
    spec: GreetingSpec

print(to_dict(Greeting(metadata=Metadata(name="hello"), spec=GreetingSpec(text="hi"))))
print(resources()["kubernetes"])
"""


def run(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, cwd=ROOT).stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, ROOT / "apiserver"):
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, project)
    return sorted(folder.glob("*.whl"))


def test_installed_into_an_empty_environment_the_smallest_program_runs(wheels: list[Path], tmp_path: Path):
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    python = tmp_path / "env/bin/python"

    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--constraint", ROOT / "constraints.txt", *wheels)
    printed = run(python, "-c", PROGRAM)

    assert "'apiVersion': 'demo.example.com/v1', 'kind': 'Greeting'" in printed
    assert "v1.36" in printed


def test_the_wheels_carry_types_data_and_licences_and_nothing_else(wheels: list[Path]):
    framework, server = (set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels)

    assert {"kubewright/py.typed", "kubewright/kinds/NOTICE", "kubewright/kinds/core_v1.py"} <= framework
    assert {"kubewright_apiserver/py.typed", "kubewright_apiserver/data/schemas.json"} <= server
    assert any(name.endswith("licenses/LICENSE") for name in framework)
    assert any(name.endswith("licenses/LICENSE") for name in server)
    assert {name.split("/")[0] for name in framework} == {"kubewright", "kubewright-0.1.0.dist-info"}

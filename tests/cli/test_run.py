"""``kubewright run``: as a person starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubewright import Client, Config, Metadata
from kubewright.cli.run import load_operator
from kubewright.errors import ConfigError
from kubewright.kinds.core_v1 import ConfigMap

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
GREETER = EXAMPLES / "greeter"


@contextmanager
def started(*arguments: str, folder: Path = GREETER) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kubewright.cli", *arguments]
    child = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()
        assert child.stderr is not None
        child.stderr.close()


def lines_until(child: subprocess.Popen[str], text: str) -> list[str]:
    assert child.stderr is not None
    seen = []
    for line in child.stderr:
        seen.append(line)
        if text in line:
            return seen
    raise AssertionError(f"{text!r} was never said:\n{''.join(seen)}")


async def test_an_operator_runs_with_a_server_of_its_own_and_ends_in_order() -> None:
    with started("run", "greeter:operator", "--embedded", "--log-format", "json") as child:
        said = lines_until(child, "controller greeting works")
        found = re.search(r"--kubeconfig (\S+)", said[0])
        assert found is not None
        kubeconfig = found[1]
        assert os.stat(kubeconfig).st_mode & 0o777 == 0o600
        async with Client(Config.from_kubeconfig(kubeconfig)) as client:
            from kubewright import Unstructured

            greeting = Unstructured.of("demo.example.com/v1", "Greeting")
            made = greeting(metadata=Metadata(name="hello"), content={"spec": {"text": "hi"}})
            await client.create(made)
            card = await client.wait_until(ConfigMap, "hello", lambda card: card.data == {"text": "hi"})
            assert card.controller_reference is not None

        child.send_signal(signal.SIGTERM)
        rest = lines_until(child, "ending: reconciles may finish within")
        assert child.wait(20) == 0

    assert json.loads(rest[-1])["level"] == "info"
    with pytest.raises(FileNotFoundError):
        os.stat(kubeconfig)


async def test_objects_stay_in_the_folder_of_the_embedded_server(tmp_path: Path) -> None:
    flags = ["run", "greeter:operator", "--embedded", "--data", str(tmp_path / "cluster"), "--log-format", "json"]

    for life in ("first", "second"):
        with started(*flags) as child:
            said = lines_until(child, "controller greeting works")
            found = re.search(r"--kubeconfig (\S+)", said[0])
            assert found is not None
            async with Client(Config.from_kubeconfig(found[1])) as client:
                await client.create(ConfigMap(metadata=Metadata(name=f"of-the-{life}-life")))
                names = [each.name for each in await client.list(ConfigMap)]
            child.send_signal(signal.SIGTERM)
            assert child.wait(20) == 0

    assert {"of-the-first-life", "of-the-second-life"} <= set(names)


def test_an_embedded_server_that_cannot_start_is_told_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "cluster").touch()
    command = [sys.executable, "-m", "kubewright.cli", "run", "greeter:operator", "--embedded"]
    command += ["--data", str(tmp_path / "cluster")]

    found = subprocess.run(command, cwd=GREETER, capture_output=True, text=True, check=False)

    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        f"Error: --data {tmp_path / 'cluster'} is a file; name a folder, which is made if missing",
        "kubewright: the embedded API server did not start; what it said is above",
    ]


def test_a_module_of_the_user_does_not_stand_in_for_one_of_the_embedded_server(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((GREETER / "greeter.py").read_text())
    (tmp_path / "kubewright_apiserver.py").write_text("raise SystemExit('a module of the user')")

    with started("run", "mine:operator", "--embedded", "--log-format", "json", folder=tmp_path) as child:
        said = lines_until(child, "controller greeting works")

    assert not any("a module of the user" in line for line in said)


def test_a_wrong_place_is_told_in_one_line() -> None:
    command = [sys.executable, "-m", "kubewright.cli", "run", "nowhere:operator"]
    found = subprocess.run(command, cwd=GREETER, capture_output=True, text=True, check=False)

    assert found.returncode == 1
    assert found.stderr == "kubewright: there is no module 'nowhere' here or among what is installed\n"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("greeter", "names no operator; write module:name"),
        ("kubewright.errors:Terminal", "is not an Operator; it holds no Operator at all"),
    ],
)
def test_what_is_no_operator_is_refused_with_a_hint(place: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_operator(place)


def test_options_of_the_embedded_server_need_it() -> None:
    command = [sys.executable, "-m", "kubewright.cli", "run", "greeter:operator", "--data", "x.db"]
    found = subprocess.run(command, cwd=GREETER, capture_output=True, text=True, check=False)

    assert found.returncode == 1
    assert "--data and --manifests are for --embedded" in found.stderr


def test_help_names_settings_and_an_example() -> None:
    command = [sys.executable, "-m", "kubewright.cli", "run", "--help"]
    found = subprocess.run(command, cwd=GREETER, capture_output=True, text=True, check=True)

    assert "kubewright run podset:operator --embedded" in found.stdout
    assert "--leader-election" in found.stdout

"""Asks the Go program that turns objects into protobuf and back."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

__all__ = ["decoded_by_go", "encoded_by_go"]

_PROGRAMS: Final = Path(__file__).parents[2] / "tools/facts/go_fields"


def encoded_by_go(objects: Iterable[dict[str, Any]]) -> list[bytes]:
    """The objects in protobuf; needs the ``go`` command."""
    return [base64.b64decode(answer["data"]) for answer in _ask({"object": document} for document in objects)]


def decoded_by_go(bodies: Iterable[tuple[bytes, dict[str, Any]]]) -> list[dict[str, Any]]:
    """For each body, sent where an object like another was expected, the ``object`` in it or the ``error``."""
    questions = (
        {"data": base64.b64encode(data).decode(), "kind": like["kind"], "version": like["apiVersion"]}
        for data, like in bodies
    )
    return _ask(questions)


def _ask(questions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    # Go keeps raw JSON as it is sent, so there must be no space in it.
    text = "".join(f"{json.dumps(question, separators=(',', ':'), ensure_ascii=False)}\n" for question in questions)
    run = subprocess.run(
        ["go", "run", "./oracle"], cwd=_PROGRAMS, input=text.encode(), check=True, stdout=subprocess.PIPE
    )
    return [json.loads(line.decode(errors="replace")) for line in run.stdout.splitlines()]

"""Runs the Go program that reflects over Kubernetes' types."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

__all__ = ["read_go_fields", "served"]

_PROGRAM: Final = Path(__file__).parent / "go_fields"
_BETA: Final = re.compile(r"\.v\d+beta\d+\.\w+$")


def read_go_fields() -> dict[str, Any]:
    """What Go's structs say of each type's fields; needs the ``go`` command."""
    run = subprocess.run(["go", "run", "."], cwd=_PROGRAM, check=True, stdout=subprocess.PIPE)
    types: dict[str, Any] = json.loads(run.stdout)
    return types


def served(types: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The types without those beta ones that client-go still knows but no server serves any more."""
    return {name: fields for name, fields in types.items() if name in schemas or not _BETA.search(name)}

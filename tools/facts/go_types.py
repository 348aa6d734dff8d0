"""Runs the Go program that reflects over Kubernetes' types."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

__all__ = ["read_go_fields", "read_messages", "read_template_types", "served", "served_messages"]

_PROGRAM: Final = Path(__file__).parent / "go_fields"
_BETA: Final = re.compile(r"\.v\d+beta\d+\.\w+$")


def read_go_fields() -> dict[str, Any]:
    """What Go's structs say of each type's fields; needs the ``go`` command."""
    return _reflected()


def read_messages() -> dict[str, Any]:
    """What Go's structs say of each type's protobuf form: by its number each field's name and type, and Go's name."""
    return _reflected("protobuf")


def read_template_types() -> dict[str, Any]:
    """What a pod template is made of, by Go's name: each struct's fields with their two names and type, in order."""
    return _reflected("templates")


def _reflected(*arguments: str) -> dict[str, Any]:
    run = subprocess.run(["go", "run", ".", *arguments], cwd=_PROGRAM, check=True, stdout=subprocess.PIPE)
    types: dict[str, Any] = json.loads(run.stdout)
    return types


def served(types: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The types without those beta ones that client-go still knows but no server serves any more."""
    return {name: fields for name, fields in types.items() if name in schemas or not _BETA.search(name)}


def served_messages(messages: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """The messages of served types, with what they are made of."""
    found = served(messages, schemas) | {name: messages[name] for name in messages if ".meta.v1beta1." in name}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for _, kind, *_ in messages[name].values():
            part = kind.lstrip("*[]{}")
            part = name.rpartition(".")[0] + part if part.startswith(".") else part
            if part in messages and part not in found:
                found[part] = messages[part]
                waiting.append(part)
    return {name: found[name] for name in sorted(found)}

"""The objects as they are committed: one a line, without what differs from run to run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

__all__ = ["MISSING", "OBJECTS", "is_volatile", "normal", "read_objects", "write_objects"]

OBJECTS: Final = Path(__file__).parents[2] / "tests/kinds/data/objects.jsonl"
MISSING: Final = OBJECTS.with_name("missing.json")

_REPLACED: Final = tuple(
    (re.compile(pattern), value)
    for pattern, value in (
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "11111111-2222-4333-8444-555555555555"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "2026-01-02T03:04:05.678901Z"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "2026-01-02T03:04:05Z"),
        (r"^\d{4}-\d\d-\d\d$", "2026-01-02"),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "token"),
        (r"(?<=X509SHA256=)[0-9a-f]{64}", "digest"),
        (r"(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", "certificate"),
    )
)


def normal(value: Any) -> Any:
    """A JSON value with fixed uids, times, tokens, certificates, resource versions, ports and order of rules."""
    if isinstance(value, dict):
        return {key: _FIXED[key](found) if key in _FIXED else normal(found) for key, found in value.items()}
    if isinstance(value, list):
        return [normal(found) for found in value]
    if isinstance(value, str):
        for pattern, fixed in _REPLACED:
            value = pattern.sub(fixed, value)
    return value


def _in_order(rules: list[Any]) -> list[Any]:
    return sorted(normal(rules), key=json.dumps)


_FIXED: Final[dict[str, Callable[[Any], Any]]] = {
    "nonResourceRules": _in_order,
    "resourceRules": _in_order,
    "resourceVersion": lambda _: "1",
    # Where the API server of this run listens, far above what the seeds name.
    "targetPort": lambda port: 6443 if isinstance(port, int) and port > 10000 else port,
}


def is_volatile(document: dict[str, Any]) -> bool:
    """Whether an object of the bootstrap has a name of its own in each run."""
    return document["kind"] in ("Event", "Lease") and document["metadata"]["name"] != "world"


def read_objects() -> list[dict[str, Any]]:
    """The committed objects."""
    return [json.loads(line) for line in OBJECTS.read_text().splitlines()]


def write_objects(objects: Iterable[dict[str, Any]]) -> None:
    """Commit other objects."""
    OBJECTS.parent.mkdir(exist_ok=True)
    lines = (json.dumps(normal(document), separators=(",", ":"), ensure_ascii=False) for document in objects)
    OBJECTS.write_text("".join(f"{line}\n" for line in lines))

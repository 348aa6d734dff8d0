"""An operator of kopf's that tells what it is called for as lines of JSON; started by ``kopf run``."""

from __future__ import annotations

import json
from typing import Any

import kopf

WIDGETS = ("peers.example.com", "v1", "widgets")


def tell(*what: Any) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


@kopf.on.event("pods")
def pod_changed(type: str | None, name: str, **_: Any) -> None:
    """What is there has no type; what comes later has that of the watch event."""
    tell("pod", type, name)


@kopf.on.create(*WIDGETS)
def widget_created(name: str, spec: Any, body: kopf.Body, **_: Any) -> dict[str, Any]:
    """What is returned, kopf writes into the status."""
    tell("widget", "create", name)
    kopf.event(body, type="Normal", reason="Seen", message="It is there.")
    return {"seen": spec["size"]}


@kopf.on.update(*WIDGETS, field="spec.size")
def widget_resized(name: str, old: int, new: int, **_: Any) -> None:
    """Kopf keeps what it saw last in an annotation."""
    tell("widget", "resize", name, old, new)


@kopf.on.delete(*WIDGETS)
def widget_deleted(name: str, **_: Any) -> None:
    """Makes kopf put a finalizer on each widget."""
    tell("widget", "delete", name)

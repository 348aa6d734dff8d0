"""``/metrics``: what the server counts, in the text form that Prometheus reads."""

from __future__ import annotations

from typing import Final

from kubewright_apiserver.engine import Engine

__all__ = ["METRICS_TYPE", "metrics_of"]

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_OBJECTS: Final = "apiserver_storage_objects"


def metrics_of(engine: Engine) -> bytes:
    """How many objects of each resource there are, under the name that kube-apiserver gives it."""
    lines = [f"# HELP {_OBJECTS} [STABLE] Number of stored objects.", f"# TYPE {_OBJECTS} gauge"]
    for name in engine.store.tables():
        group, _, plural = name.rpartition("/")
        resource = f"{plural}.{group}" if group else plural
        lines.append(f'{_OBJECTS}{{resource="{resource}"}} {len(engine.store.table(name))}')
    return ("\n".join(lines) + "\n").encode()

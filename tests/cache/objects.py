"""Objects as a server sends them, and entries of them, for tests without a server."""

from __future__ import annotations

import json
from typing import Any

from kubewright.api import Metadata
from kubewright.cache import Entry, Intake
from kubewright.kinds.core_v1 import ConfigMap

__all__ = ["config", "entry", "raw"]


def config(name: str, namespace: str = "default", labels: dict[str, str] | None = None, **data: str) -> ConfigMap:
    """A ConfigMap to be created."""
    return ConfigMap(metadata=Metadata(name=name, namespace=namespace, labels=labels or {}), data=data)


def raw(name: str = "a", version: int | str = 1, *, uid: str = "", namespace: str = "default", **more: Any) -> bytes:
    """A ConfigMap as a server sends it; what is named in ``more`` goes into its metadata, but for ``data``."""
    data = more.pop("data", {})
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"u-{name}", "resourceVersion": str(version)}
    document = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata | more, "data": data}
    return json.dumps(document, separators=(",", ":")).encode()


def entry(name: str = "a", version: int | str = 1, **more: Any) -> Entry:
    """The entry of such a ConfigMap."""
    return Intake("ConfigMap").read(raw(name, version, **more))

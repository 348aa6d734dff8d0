"""What every cluster has from its first moment, and what a server is asked to begin with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from kubewright_apiserver.app import App
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

__all__ = ["LoadError", "bootstrap", "load_manifests"]

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_AGENT: Final = [("User-Agent", "kube-apiserver/v1.36"), ("Content-Type", "application/json")]


class LoadError(Exception):
    """A manifest that cannot be read or is refused; the message names the file and the object."""


async def bootstrap(app: App) -> None:
    """Create the namespaces of every cluster and the Service of the API itself, unless they are there."""
    for name in _NAMESPACES:
        if app.engine.find("/namespaces", name) is None:
            await _create(app, "/api/v1/namespaces", {"metadata": {"name": name}})
    if app.engine.find("/services", "default/kubernetes") is not None:
        return
    spec = {
        "clusterIP": "10.0.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
    }
    labels = {"component": "apiserver", "provider": "kubernetes"}
    service = {"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec}
    await _create(app, "/api/v1/namespaces/default/services", service)


async def _create(app: App, path: str, obj: dict[str, Any]) -> None:
    status, _, chunks = await app.handle("POST", path, _AGENT, orjson.dumps(obj), "system:apiserver")
    body = b"".join([chunk async for chunk in chunks])
    if status != 201:
        raise LoadError(f"{path}: {body.decode('utf-8', 'replace')}")


async def load_manifests(app: App, paths: Sequence[Path]) -> None:
    """Create the objects in YAML and JSON files, CRDs first; folders are read in order of names."""
    found = [(file, document) for path in paths for file in _files(path) for document in _documents(file)]
    found.sort(key=lambda entry: entry[1].get("kind") not in ("CustomResourceDefinition", "Namespace"))
    for file, document in found:
        await _load(app, file, document)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise LoadError(f"{path}: there is no such file or folder")
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix in (".yaml", ".yml", ".json"))
    return [path]


def _documents(file: Path) -> list[dict[str, Any]]:
    try:
        parts = re.split(rb"^---[ \t]*$", file.read_bytes(), flags=re.MULTILINE)
        documents = [document for document in (read_yaml(part)[0] for part in parts) if document is not None]
    except MalformedYaml as error:
        raise LoadError(f"{file}: {error}") from None
    for document in documents:
        if not isinstance(document, dict) or "kind" not in document or "apiVersion" not in document:
            raise LoadError(f"{file}: a document is no object with apiVersion and kind")
    return documents


async def _load(app: App, file: Path, document: dict[str, Any]) -> None:
    group, _, version = str(document["apiVersion"]).rpartition("/")
    metadata = document.get("metadata") or {}
    served = app.engine.registry.find_kind(group, version, document["kind"])
    what = f"{document['kind']} {metadata.get('name', '')!r}"
    if served is None:
        raise LoadError(f"{file}: {what}: the server does not serve {document['kind']} of {document['apiVersion']}")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    if served.namespaced:
        root += f"/namespaces/{metadata.get('namespace') or 'default'}"
    status, _, chunks = await app.handle("POST", f"{root}/{served.plural}", _AGENT, orjson.dumps(document), "loader")
    body = b"".join([chunk async for chunk in chunks])
    if status not in (201, 409):
        message = orjson.loads(body).get("message", "")
        raise LoadError(f"{file}: {what}: {message}")

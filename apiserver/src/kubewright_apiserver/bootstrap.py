"""What every cluster has from its first moment, and what a server is asked to begin with."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final

import orjson

from kubewright_apiserver.access import ADMIN, MASTERS, FrontProxy, User, bootstrap_policy
from kubewright_apiserver.app import App
from kubewright_apiserver.data import bootstrap_objects
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.registry.ip_addresses import resume_services
from kubewright_apiserver.registry.lifecycle import resume_crds
from kubewright_apiserver.store import NoRoom
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

__all__ = ["LoadError", "bootstrap", "load_manifests", "resume"]

_API_SERVICES: Final = "apiregistration.k8s.io/apiservices"
_AUTHENTICATION: Final = "extension-apiserver-authentication"
_SERVICE_RANGES: Final = "networking.k8s.io/servicecidrs"
_TRACKING: Final = "kube-apiserver-legacy-service-account-token-tracking"
_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_SELF: Final = User(name="system:apiserver", groups=(MASTERS,))
_HEADERS: Final = {"user-agent": "kube-apiserver/v1.36", "content-type": "application/json"}


class LoadError(Exception):
    """A manifest that cannot be read or is refused; the message names the file and the object."""


async def bootstrap(
    app: App, authority: bytes | None = None, port: int = 6443, front_proxy: FrontProxy | None = None
) -> None:
    """Create what every cluster has, unless it is there: namespaces, roles, the API's own Service and the like.

    ``authority`` is the certificate that clients' certificates are checked by, and ``front_proxy`` whose word is taken,
    for others who check them too; ``port`` is the server's own.
    """
    await _install(app.engine)
    await _install_policy(app.engine)
    for name in _NAMESPACES:
        if app.engine.find("/namespaces", name) is None:
            await _create(app, "/api/v1/namespaces", {"metadata": {"name": name}})
    await _configure(app, _TRACKING, {"since": app.engine.timestamp().partition("T")[0]}, is_kept=True)
    if authority is not None:
        proxies = front_proxy.told if front_proxy is not None else {}
        await _configure(app, _AUTHENTICATION, {"client-ca-file": authority.decode(), **proxies})
    if app.engine.find("/services", "default/kubernetes") is not None:
        return
    spec = {
        "clusterIP": str(ip_network(app.engine.service_ranges[0])[1]),
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}],
    }
    labels = {"component": "apiserver", "provider": "kubernetes"}
    service = {"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec}
    await _create(app, "/api/v1/namespaces/default/services", service)


async def _install(engine: Engine) -> None:
    """Store the objects that are the same everywhere as they are."""
    writes = []
    for entry in bootstrap_objects(engine.timestamp()):
        table, obj = entry["table"], entry["object"]
        name, spec = obj["metadata"]["name"], obj.get("spec") or {}
        if table == _API_SERVICES and not engine.registry.serves(spec.get("group", ""), spec["version"]):
            continue
        if engine.find(table, name) is None:
            if table == _SERVICE_RANGES:
                obj["spec"]["cidrs"] = list(engine.service_ranges)
            obj["metadata"] = {"name": name, "uid": engine.new_uid(), **obj["metadata"]}
            writes.append(engine.store.put(table, name, obj, expected=0))
    await asyncio.gather(*writes)


async def _install_policy(engine: Engine) -> None:
    """Store the roles and bindings that are missing; those that somebody changed stay as they are."""
    policy = bootstrap_policy(engine.timestamp(), engine.new_uid)
    missing = [entry for entry in policy if engine.find(entry.table, entry.key) is None]
    await asyncio.gather(*(engine.store.put(entry.table, entry.key, entry.obj, expected=0) for entry in missing))


async def _configure(app: App, name: str, data: dict[str, str], *, is_kept: bool = False) -> None:
    """Tell the cluster something in a ConfigMap; what it was told before is changed unless it is to be kept."""
    path = "/api/v1/namespaces/kube-system/configmaps"
    found = app.engine.find("/configmaps", f"kube-system/{name}")
    if found is None:
        await _create(app, path, {"metadata": {"name": name}, "data": data})
    elif found.get("data") != data and not is_kept:
        headers = {**_HEADERS, "content-type": "application/merge-patch+json"}
        await app.answer("PATCH", f"{path}/{name}", headers, orjson.dumps({"data": data}), _SELF)


async def _create(app: App, path: str, obj: dict[str, Any]) -> None:
    status, _, chunks = await app.answer("POST", path, _HEADERS, orjson.dumps(obj), _SELF)
    body = b"".join([chunk async for chunk in chunks])
    if status != 201:
        raise LoadError(f"{path}: {body.decode('utf-8', 'replace')}")


async def resume(engine: Engine) -> None:
    """Carry out what a server that was killed had begun: what follows a write of a CRD, and of a Service.

    Where there is no room on the disk for it, it waits for the next start.
    """
    with suppress(NoRoom):
        await resume_crds(engine.store, engine.registry, engine.timestamp())
        await resume_services(engine.store, now=engine.timestamp(), new_uid=engine.new_uid)


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
    status, _, chunks = await app.answer("POST", f"{root}/{served.plural}", _HEADERS, orjson.dumps(document), ADMIN)
    body = b"".join([chunk async for chunk in chunks])
    if status not in (201, 409):
        message = orjson.loads(body).get("message", "")
        raise LoadError(f"{file}: {what}: {message}")

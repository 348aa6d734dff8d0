"""Reads the columns of the tables that the server shows of its resources, and which resources have no tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kubewright import Config
from kubewright.client import HttpTransport, Request
from kubewright.testing import RealControlPlane

__all__ = ["read_tables"]

_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METHODS: Final = {"get": "GET", "create": "POST", "update": "PUT", "patch": "PATCH"}
_NOT_ACCEPTABLE: Final = 406
_CONTROLLERS: Final = "/api/v1/namespaces/default/replicationcontrollers"
_CONTROLLER: Final = {
    "metadata": {"name": "facts"},
    "spec": {
        "replicas": 0,
        "selector": {"app": "facts"},
        "template": {"metadata": {"labels": {"app": "facts"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    },
}


class _Answer(NamedTuple):
    status: int
    body: dict[str, Any]


class _Tables:
    """Asks for tables, and gathers their columns."""

    def __init__(self, transport: HttpTransport) -> None:
        self._transport = transport
        self.descriptions: list[str] = []
        self.columns: dict[str, list[dict[str, Any]]] = {}

    async def ask(self, method: str, path: str, body: Any = None, accept: str = _TABLE) -> _Answer:
        """One request and its answer."""
        headers = [("Accept", accept), ("User-Agent", "facts"), ("Content-Type", "application/json")]
        data = b"" if body is None else json.dumps(body).encode()
        request = Request(method=method, target=path, headers=headers, body=data, verb=method.lower())
        response = await self._transport.send(request)
        return _Answer(response.status, json.loads(response.body))

    async def gather(self, name: str, path: str) -> None:
        """Keep the columns of the table at a path; ``description`` is which of the descriptions they have."""
        self.columns[name] = []
        for column in (await self.ask("GET", path)).body["columnDefinitions"]:
            if column["description"] not in self.descriptions:
                self.descriptions.append(column["description"])
            self.columns[name].append({**column, "description": self.descriptions.index(column["description"])})


async def read_tables(plane: RealControlPlane, resources: list[dict[str, Any]]) -> dict[str, Any]:
    """``descriptions``, ``untabled`` (as ``group/resource/subresource``), and the columns of each ``group/kind``."""
    transport = HttpTransport(Config.from_kubeconfig(plane.kubeconfig))
    tables = _Tables(transport)
    try:
        for resource in resources:
            if "list" in resource["verbs"]:
                await tables.gather(f"{resource['group']}/{resource['kind']}", f"{_root(resource)}/{resource['name']}")
        await tables.ask("POST", _CONTROLLERS, _CONTROLLER, "application/json")
        await tables.gather("autoscaling/Scale", f"{_CONTROLLERS}/facts/scale")
        await tables.ask("DELETE", f"{_CONTROLLERS}/facts", None, "application/json")
        untabled = {
            name: None
            for resource in resources
            for name, method, path in _addresses(resource)
            if (await tables.ask(method, path, {})).status == _NOT_ACCEPTABLE
        }
    finally:
        await transport.aclose()
    return {"descriptions": tables.descriptions, "untabled": list(untabled), **tables.columns}


def _root(resource: dict[str, Any]) -> str:
    return f"/apis/{resource['group']}/{resource['version']}" if resource["group"] else f"/api/{resource['version']}"


def _addresses(resource: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What can be asked without harm, as nothing is there: its name, the method, the path."""
    namespace = "/namespaces/default" if resource["namespaced"] else ""
    path = f"{_root(resource)}{namespace}/{resource['name']}"
    name = f"{resource['group']}/{resource['name']}"
    if resource["verbs"] == ["create"]:
        yield name, "POST", path
    for part, found in resource.get("subresources", {}).items():
        method = next((_METHODS[verb] for verb in ("get", "create", "update") if verb in found["verbs"]), None)
        # What is proxied or streamed is no object of the API.
        if method is not None and part not in ("attach", "exec", "log", "portforward", "proxy"):
            yield f"{name}/{part}", method, f"{path}/nope/{part}"

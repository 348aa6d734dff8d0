"""Makes the objects of every served kind: from a seed, through creation, status and the other subresources."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from conformance.round_trip.grower import Grower, Ledger
from conformance.round_trip.schema import DATA, Schemas, Steps, schemas
from conformance.round_trip.server import Answer, Door, Server
from conformance.round_trip.values import Values
from kubewright.api import ApiResource
from kubewright.config import Config

__all__ = ["FLAGS", "RUNTIME_CONFIG", "Made", "Maker", "Served", "listable", "make_all", "seeds", "served"]

FLAGS: Final = ("--feature-gates=AllAlpha=true,AllBeta=true",)
"""Opens every gate of the server, so that the fields of alpha features can be set too."""

RUNTIME_CONFIG: Final = "api/all=true"
"""Some gates insist on their alpha APIs."""

_FOLDER: Final = Path(__file__).parent


class Served(NamedTuple):
    """A kind and the place where the server takes objects of it."""

    api_version: str
    kind: str
    resource: ApiResource
    subresources: frozenset[str]
    """Where else the server takes objects of the very same kind."""
    subresource: str = ""
    """Where it takes objects of this kind below those of another."""


def served() -> dict[tuple[str, str], Served]:
    """Every kind of which the server takes objects, by apiVersion and kind."""
    found: dict[tuple[str, str], Served] = {}
    for entry in _entries():
        for kind in _served_at(entry) if entry["name"] != "bindings" else ():
            found.setdefault((kind.api_version, kind.kind), kind)
    return found


def _served_at(entry: dict[str, Any]) -> Iterator[Served]:
    resource = _resource(entry)
    below = entry.get("subresources", {})
    if "create" in entry["verbs"]:
        own = frozenset(name for name, other in below.items() if other["kind"] == entry["kind"])
        yield Served(resource.api_version, resource.kind, resource, own)
    for name, other in below.items():
        if "group" in other or other["kind"] == "Binding":
            api_version = f"{other['group']}/{other['version']}" if "group" in other else resource.api_version
            yield Served(api_version, other["kind"], resource, frozenset(), name)


def listable() -> list[ApiResource]:
    """Every kind that can be listed."""
    return [_resource(entry) for entry in _entries() if "list" in entry["verbs"]]


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((DATA / "resources.json").read_text())["resources"]
    return entries


def _resource(entry: dict[str, Any]) -> ApiResource:
    return ApiResource(
        group=entry["group"],
        version=entry["version"],
        kind=entry["kind"],
        plural=entry["name"],
        namespaced=entry["namespaced"],
    )


def seeds() -> list[dict[str, Any]]:
    """The smallest objects that the server takes; several of one kind are variants."""
    found: list[dict[str, Any]] = list(yaml.safe_load_all((_FOLDER / "seeds.yaml").read_text()))
    return found


class Made(NamedTuple):
    """What a real server gave."""

    bootstrap: list[dict[str, Any]]
    """What was there before anything was made, but for what the made objects refer to."""
    objects: list[dict[str, Any]]
    ledger: Ledger


async def make_all(config: Config) -> Made:
    """What is there on a fresh server, the objects of every kind, and what became of each field."""
    server = Server(config)
    try:
        maker = Maker(server)
        await maker.prepare()
        made = Made(await maker.bootstrap(), [], maker.ledger)
        for kind in dict.fromkeys((seed["apiVersion"], seed["kind"]) for seed in seeds()):
            made.objects.extend(await maker.make(*kind))
        return made
    finally:
        await server.aclose()


@dataclass
class Maker:
    """Makes objects on one server and keeps the ledger of what became of each field."""

    server: Server
    schemas: Schemas = field(default_factory=schemas)
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self._values = Values(self.schemas)
        self._served = served()

    async def prepare(self) -> None:
        """Create what the objects refer to."""
        for document in yaml.safe_load_all((_FOLDER / "world.yaml").read_text()):
            kind = self._served[document["apiVersion"], document["kind"]]
            created = _must(await self._create_door(kind, "default", dry_run=False).send(document))
            self._values.learn(f"{kind.kind}.uid", created["metadata"]["uid"])
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {}}
        door = Door(self.server, "POST", "/api/v1/namespaces/default/serviceaccounts/world/token")
        self._values.learn("token", _must(await door.send(request))["status"]["token"])

    async def bootstrap(self) -> list[dict[str, Any]]:
        """Every object that there is, of every kind that can be listed."""
        found: list[dict[str, Any]] = []
        for resource in listable():
            answer = _must(await self.server.send("GET", resource.path()))
            head = {"apiVersion": resource.api_version, "kind": resource.kind}
            found.extend({**head, **item} for item in answer["items"])
        return found

    async def make(self, api_version: str, kind: str) -> list[dict[str, Any]]:
        """The objects of one kind, as the server answered them: the first one with all that goes together."""
        found = self._served[api_version, kind]
        namespace = await self._namespace(found)
        door = await self._door_below(found, namespace) if found.subresource else self._create_door(found, namespace)
        mine = self._values.filled([seed for seed in seeds() if (seed["apiVersion"], seed["kind"]) == found[:2]])
        return await self._grown(found, door, [_placed(seed, namespace) for seed in mine])

    async def _namespace(self, kind: Served) -> str:
        """A namespace for this kind alone: a quota, for one, would stop all others."""
        if not kind.resource.namespaced:
            return ""
        name = re.sub("[./]", "-", f"{kind.kind.lower()}-{kind.api_version}")
        labels = {"resource.kubernetes.io/admin-access": "true"}
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        await Door(self.server, "POST", "/api/v1/namespaces", dry_run=False).send(document)
        return name

    def _create_door(self, kind: Served, namespace: str, *, dry_run: bool = True) -> Door:
        path = kind.resource.path(namespace if kind.resource.namespaced else None)
        return Door(self.server, "POST", path, dry_run=dry_run)

    def _grower(self, kind: Served, door: Door, *scope: Steps) -> Grower:
        owner = self.schemas.of_kind(kind.api_version, kind.kind)
        whole = tuple((name,) for name in self.schemas.properties(owner) if name != "status")
        return Grower(self.schemas, self._values, self.ledger, door, owner, scope or whole)

    async def _grown(self, kind: Served, door: Door, prepared: list[dict[str, Any]]) -> list[dict[str, Any]]:
        grower = self._grower(kind, door)
        objects = []
        for number, seed in enumerate(prepared):
            start = _must(await door.send(seed))
            start = start if number else await grower.enrich(start)
            objects.append(await grower.grow(start, only_new=number > 0))
        grower.remember(objects[0])
        variants = await grower.variants(prepared[0])
        return [*(await self._with_subresources(kind, objects) if kind.subresources else objects), *variants]

    async def _door_below(self, kind: Served, namespace: str) -> Door:
        """The way to a subresource of another kind's object, which is made for it."""
        parent = self._served[kind.resource.api_version, kind.resource.kind]
        seed = next(seed for seed in seeds() if (seed["apiVersion"], seed["kind"]) == parent[:2])
        created = _must(await self._create_door(parent, namespace, dry_run=False).send(_placed(seed, namespace)))
        for name in ("resourceVersion", "uid"):
            self._values.learn(f"parent.{name}", created["metadata"][name])
        path = kind.resource.path(namespace, created["metadata"]["name"], kind.subresource)
        method = "PUT" if kind.kind == "Scale" else "POST"
        return Door(self.server, method, path, echo=kind.kind not in ("Binding", "Eviction"))

    async def _with_subresources(self, kind: Served, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The objects with what only their subresources write, one object a subresource."""
        found = []
        for number, document in enumerate(objects):
            namespace, name = document["metadata"].get("namespace"), document["metadata"]["name"]
            created = _must(await self._create_door(kind, namespace, dry_run=False).send(document))
            for subresource in sorted(kind.subresources & _SCOPES.keys()):
                path = kind.resource.path(namespace, name, subresource)
                grower = self._grower(kind, Door(self.server, "PATCH", path), _SCOPES[subresource])
                found.append(await grower.grow(created, only_new=number > 0))
                found.extend(await grower.variants(created))
        return found


_SCOPES: Final[dict[str, Steps]] = {
    "approval": ("status", "conditions"),
    "ephemeralcontainers": ("spec", "ephemeralContainers"),
    "status": ("status",),
}


def _placed(seed: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = {"namespace": namespace} if namespace else {}
    return {**seed, "metadata": {**seed.get("metadata", {"name": "a"}), **metadata}}


def _must(answer: Answer) -> dict[str, Any]:
    if not answer.accepted:
        raise ValueError(f"the server refuses a seed: {answer.message}")
    return answer.document

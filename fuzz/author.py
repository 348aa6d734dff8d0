"""``Author``: writes requests, the same ones for the same seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import yaml

from conformance.protobuf.mutation import mutated
from fuzz.corpus import Place
from fuzz.mutation import copied, scratched, twisted
from fuzz.options import ACCEPTED, TYPES, query, written
from fuzz.patches import TYPES as PATCHES
from fuzz.patches import json_patch, merge_patch, strategic_patch
from kubewright_apiserver.protobuf import written_object
from kubewright_apiserver.schema.node import ANY

__all__ = ["Author", "Sent"]

_DANGEROUS: Final = frozenset(
    (
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "flowcontrol.apiserver.k8s.io",
    )
)
_TRICKS: Final = (
    "/..",
    "/.",
    "//",
    "/",
    "%2F",
    "%2e%2e",
    "/%00",
    "/a%2Fb",
    "/%C3%BC",
    "/%ff",
    "/%zz",
    ";a=b",
    "/a;b",
    "/" + "a" * 300,
    "/status/status",
    "/a/b/c",
    "%20",
    "/watch",
    "\\",
    "/*",
    "/proxy/x",
)
_ELSEWHERE: Final = (
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps",
    "/apis/apps/v1",
    "/apis/nope/v1/x",
    "/version",
    "/healthz",
    "/readyz?verbose",
    "/openapi/v3",
    "/openapi/v3/apis/apps/v1",
    "/metrics",
    "/api/v1/watch/pods",
    "/api/v2/pods",
    "/logs",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
)
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO")
_AGENTS: Final = ("fuzz/1", "fuzz/1", "kubectl/v1.36.3 (linux/amd64)", "", "fuzzer", "a b/1")


class Sent(NamedTuple):
    """A request. ``@revision@`` and ``@uid@`` in it stand for what the server said last of the object at ``path``."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    path: str
    what: str
    """Which sort of request it is, in a few words."""


class Author:
    """Writes requests about objects in a namespace, in the order in which they should be sent.

    A careful one changes nothing that other requests depend on: for servers that are shared, or that take it seriously.
    """

    def __init__(
        self, places: Sequence[Place], dice: Random, namespace: str, *, suffix: str = "", is_careful: bool = False
    ) -> None:
        self._places = places
        self.dice: Random = dice
        """What decides."""
        self._namespace = namespace
        self._names = tuple(f"{name}{suffix}" for name in ("a", "b", "c"))
        self._is_careful = is_careful
        self._favourites = dice.sample(list(places), min(6, len(places)))
        self._acts: tuple[Callable[[Place], Sent], ...] = (
            *(self._create,) * 6,
            *(self._put,) * 3,
            *(self._patch,) * 7,
            *(self._part,) * 3,
            *(self._delete,) * 2,
            *(self._read,) * 3,
            *(self._watch,) * 1,
            *(self._protobuf,) * 2,
            self._stray,
        )

    def requests(self, count: int) -> Iterator[Sent]:
        """So many requests."""
        for _ in range(count):
            # Most are about few resources, so that they meet objects of those before them.
            among = self._favourites if self.dice.random() < 0.8 else self._places
            yield self.dice.choice(self._acts)(self.dice.choice(among))

    def _seed(self, place: Place, name: str) -> dict[str, Any]:
        seed: dict[str, Any] = copied(self.dice.choice(place.seeds))
        seed.setdefault("metadata", {})["name"] = self._qualified(place, name)
        return seed

    def _qualified(self, place: Place, name: str) -> str:
        """The name, or for kinds whose names must say something that."""
        if place.served.plural == "customresourcedefinitions":
            named: str = place.seeds[0]["metadata"]["name"]
            return named
        if place.served.plural in ("apiservices", "ipaddresses"):
            own: str = place.seeds[0]["metadata"]["name"]
            return own
        return name

    def _object(self, place: Place, name: str) -> dict[str, Any]:
        """An object with a few changes, or with none."""
        return twisted(self._seed(place, name), place.served.node, self.dice, self.dice.choice((0, 0, 1, 1, 2, 4)))

    def _name(self, place: Place) -> str:
        return self._qualified(place, self.dice.choice(self._names))

    def _body(self, value: Any, content_type: str) -> tuple[bytes, str]:
        """A value as bytes, and their type."""
        dice = self.dice
        if content_type == "application/json" and dice.random() < 0.08:
            try:
                data = yaml.safe_dump(value, default_flow_style=dice.random() < 0.3).encode(errors="replace")
            except yaml.YAMLError:
                data = b"{}"
            content_type = "application/yaml"
        else:
            data = json.dumps(value, separators=(",", ":"), ensure_ascii=dice.random() < 0.5).encode(errors="replace")
        if dice.random() < 0.12:
            data = scratched(data, dice)
        if dice.random() < 0.02:
            content_type = dice.choice(TYPES) or content_type
        return data, content_type

    def _sent(
        self,
        method: str,
        path: str,
        what: str,
        *,
        parameters: dict[str, str],
        value: Any = None,
        content_type: str = "",
    ) -> Sent:
        dice = self.dice
        data, type = self._body(value, content_type or "application/json") if value is not None else (b"", "")
        headers = [("Accept", dice.choice(ACCEPTED)), ("User-Agent", dice.choice(_AGENTS) or "fuzz/2")]
        if type:
            headers.append(("Content-Type", type))
        return Sent(method, path + written(parameters, dice), tuple(headers), data, path, what)

    def _kept_safe(self, place: Place, parameters: dict[str, str]) -> dict[str, str]:
        served = place.served
        is_dangerous = served.group in _DANGEROUS or served.plural in ("namespaces", "resourcequotas")
        return parameters | ({"dryRun": "All"} if self._is_careful and is_dangerous else {})

    def _create(self, place: Place) -> Sent:
        name = self._name(place)
        value = self._object(place, name)
        metadata = value.get("metadata")
        if self.dice.random() < 0.04 and isinstance(metadata, dict):
            metadata.pop("name", None)
            metadata["generateName"] = self.dice.choice((f"{name}-", "A-", "a" * 300, ""))
        what = f"create {place.served.plural}"
        parameters = self._kept_safe(place, query("write", self.dice))
        sent = self._sent("POST", place.path(self._namespace), what, parameters=parameters, value=value)
        return sent._replace(path=place.path(self._namespace, name))

    def _put(self, place: Place) -> Sent:
        name = self._name(place)
        value = self._object(place, name)
        metadata = value.get("metadata")
        if self.dice.random() < 0.6 and isinstance(metadata, dict):
            metadata["resourceVersion"] = "@revision@"
        parameters = self._kept_safe(place, query("write", self.dice))
        path = place.path(self._namespace, name)
        return self._sent("PUT", path, f"update {place.served.plural}", parameters=parameters, value=value)

    def _patch(self, place: Place, subresource: str = "") -> Sent:
        dice = self.dice
        name = self._name(place)
        type = dice.choice(("json", "merge", "strategic", "apply", "apply"))
        seed, node = self._seed(place, name), place.served.node
        if type == "json":
            value = json_patch(seed, dice)
        elif type == "merge":
            value = merge_patch(seed, node, dice)
        elif type == "strategic":
            value = strategic_patch(seed, node, dice)
        else:
            value = self._object(place, name)
        parameters = query("apply" if type == "apply" else "write", dice)
        if type == "apply" and dice.random() < 0.95:
            parameters.setdefault("fieldManager", dice.choice(("m", "n")))
        what = f"patch ({type}) {place.served.plural}{subresource and '/'}{subresource}"
        path = place.path(self._namespace, name, subresource)
        parameters = self._kept_safe(place, parameters)
        return self._sent("PATCH", path, what, parameters=parameters, value=value, content_type=PATCHES[type])

    def _part(self, place: Place) -> Sent:
        """A request to a subresource, if the resource has any."""
        dice = self.dice
        parts = sorted(place.served.subresources)
        if not parts:
            return self._patch(place)
        part = dice.choice(parts)
        verbs = place.served.subresources[part].verbs
        verb = dice.choice(verbs)
        path = place.path(self._namespace, self._name(place), part)
        if verb == "patch":
            return self._patch(place, part)
        what = f"{verb} {place.served.plural}/{part}"
        if verb not in ("create", "update") or part in ("exec", "attach", "portforward", "proxy"):
            method = {"get": "GET", "delete": "DELETE"}.get(verb, "GET")
            return self._sent(method, path, what, parameters=query("get", dice))
        bodies = place.bodies(part)
        value = twisted(copied(dice.choice(bodies)), ANY, dice, dice.choice((0, 0, 1, 2))) if bodies else None
        value = value if value is not None else self._object(place, self._names[0])
        parameters = self._kept_safe(place, query("write", dice))
        method = "POST" if verb == "create" else "PUT"
        return self._sent(method, path, what, parameters=parameters, value=value)

    def _delete(self, place: Place) -> Sent:
        dice = self.dice
        name = self._name(place) if dice.random() < 0.85 else ""
        if not name and self._is_careful and not place.served.namespaced:
            name = self._name(place)
        if not name and not place.served.namespaced and place.served.plural in ("namespaces", "clusterroles"):
            name = self._name(place)
        options: dict[str, Any] | None = None
        if dice.random() < 0.3:
            grace = dice.choice((0, 0, 1, -1, "x"))
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": grace}
            more: tuple[dict[str, Any], ...] = (
                {},
                {"preconditions": {"uid": "@uid@"}},
                {"propagationPolicy": "Orphan"},
            )
            options |= dice.choice(more)
        parameters = self._kept_safe(place, query("delete", dice))
        what = f"{'delete' if name else 'delete all'} {place.served.plural}"
        return self._sent("DELETE", place.path(self._namespace, name), what, parameters=parameters, value=options)

    def _read(self, place: Place) -> Sent:
        dice = self.dice
        name = self._name(place) if dice.random() < 0.5 else ""
        verb = "get" if name else "list"
        namespace = self._namespace if name or dice.random() < 0.8 or self._is_careful else ""
        path = place.path(namespace, name)
        return self._sent("GET", path, f"{verb} {place.served.plural}", parameters=query(verb, dice))

    def _watch(self, place: Place) -> Sent:
        parameters = {"watch": "1", **query("watch", self.dice), "timeoutSeconds": "1"}
        return self._sent("GET", place.path(self._namespace), f"watch {place.served.plural}", parameters=parameters)

    def _protobuf(self, place: Place) -> Sent:
        dice = self.dice
        seed = self._seed(place, self._name(place))
        try:
            data = written_object(seed)
        except (KeyError, TypeError, ValueError, AttributeError):
            return self._create(place)
        if dice.random() < 0.8:
            data = mutated(data, dice)
        is_new = dice.random() < 0.7
        path = place.path(self._namespace, "" if is_new else seed["metadata"]["name"])
        parameters = self._kept_safe(place, query("write", dice))
        what = f"{'create' if is_new else 'update'} (protobuf) {place.served.plural}"
        type = "application/vnd.kubernetes.protobuf"
        headers = (("Accept", dice.choice(ACCEPTED)), ("User-Agent", "fuzz/1"), ("Content-Type", type))
        method = "POST" if is_new else "PUT"
        target = path + written(parameters, dice)
        return Sent(method, target, headers, data, place.path(self._namespace, seed["metadata"]["name"]), what)

    def _stray(self, place: Place) -> Sent:
        """A request to a strange address, or with a strange method."""
        dice = self.dice
        if dice.random() < 0.3:
            method = "GET" if dice.random() < 0.7 else dice.choice(_METHODS)
            return self._sent(method, dice.choice(_ELSEWHERE), "elsewhere", parameters={})
        path = place.path(self._namespace, dice.choice(("", self._name(place))))
        if dice.random() < 0.6:
            at = dice.choice([at for at, letter in enumerate(path) if letter == "/" and at] + [len(path)])
            path = path[:at] + dice.choice(_TRICKS) + path[at:]
            method = "GET" if dice.random() < 0.6 else dice.choice(_METHODS[:5])
        else:
            method = dice.choice(_METHODS)
        value = self._seed(place, self._names[0]) if method in ("POST", "PUT", "PATCH") else None
        parameters = {"dryRun": "All"} if self._is_careful and method not in ("GET", "HEAD") else {}
        return self._sent(method, path, "a strange address", parameters=parameters, value=value)

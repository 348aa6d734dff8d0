"""``App``: the server on plain types: ``handle(method, target, headers, body)`` gives status, headers and chunks.

Everything below is reached from here; how bytes come in and go out is ``http``'s matter, or a test's.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Final
from urllib.parse import parse_qs

import orjson
import yaml

from kubewright_apiserver.discovery import Discovery
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.expiry import EVENTS
from kubewright_apiserver.negotiation import Accepted, accepted_by
from kubewright_apiserver.path import Address, address_in
from kubewright_apiserver.registry import Served
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.registry.lifecycle import follow_crd
from kubewright_apiserver.status import Refusal, internal_error, method_not_allowed, not_found, unserved
from kubewright_apiserver.verbs import Call, Reply, verb_for

__all__ = ["Answer", "App", "Whole"]

Answer = tuple[int, Sequence[tuple[str, str]], AsyncIterable[bytes]]

_log = logging.getLogger("kubewright_apiserver")
_MOST_BYTES: Final = 3 << 20
_PRIVATE: Final = ("Cache-Control", "no-cache, private")


class App:
    """Answers requests on an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine: Engine = engine
        self._discovery = Discovery(engine.registry)

    async def handle(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, user: str = ""
    ) -> Answer:
        """Answer one request."""
        path, _, query = target.partition("?")
        lower = {name.lower(): value for name, value in headers}
        try:
            return await self._answer(method, path, query, lower, body, user)
        except Refusal as refusal:
            return _refused(refusal)
        except Exception:
            _log.exception("%s %s failed", method, path)
            return _refused(internal_error("Internal error occurred: the server failed; its log says why"))

    async def _answer(
        self, method: str, path: str, query: str, headers: dict[str, str], body: bytes, user: str
    ) -> Answer:
        found = self._discovery.answer(path, query, headers)
        if found is not None:
            status, more, data = found
            return status, more, Whole(data)
        address = address_in(path)
        if address is None:
            return _plain(404, "404 page not found\n")
        served = self.engine.registry.find(address.group, address.version, address.plural)
        if served is None:
            return self._nothing_there(address)
        return await self._call(method, address, served, query, headers, body, user)

    async def _follow(self, address: Address, reply: Reply) -> None:
        body = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
        names = [address.name or body.get("metadata", {}).get("name", "")]
        names += [item["metadata"]["name"] for item in body.get("items", ())]
        for name in filter(None, names):
            await follow_crd(self.engine.store, self.engine.registry, name, self.engine.timestamp())

    def _note_event(self, address: Address, reply: Reply) -> None:
        body = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
        row = self.engine.store.table(EVENTS).get(f"{address.namespace}/{body['metadata']['name']}")
        if row is not None:
            self.engine.expiry.note(row)

    def _nothing_there(self, address: Address) -> Answer:
        if self.engine.registry.serves(address.group):
            raise unserved()
        return _plain(404, "404 page not found\n")

    async def _call(
        self, method: str, address: Address, served: Served, query: str, headers: dict[str, str], body: bytes, user: str
    ) -> Answer:
        parameters = parse_qs(query, keep_blank_values=True)
        is_read = method in ("GET", "HEAD")
        verb = verb_for(method, address, served, parameters)
        if verb is None:
            raise _no_verb(address, served) if is_read and address.subresource else method_not_allowed()
        accepted = accepted_by(headers.get("accept", ""))
        if len(body) > _MOST_BYTES:
            message = f"Request entity too large: limit is {_MOST_BYTES}"
            raise Refusal(413, "RequestEntityTooLarge", message)
        call = Call(
            self.engine, served, address, method=method, query=parameters, headers=headers, body=body, user=user
        )
        call.accept = accepted.representation
        call.warnings += behaviour_of(served).deprecations
        _check_kind(accepted, address, call)
        try:
            reply = await verb(call)
        except Refusal as refusal:
            return _refused(refusal, call.warnings)
        if method not in ("GET", "HEAD") and served.plural == "customresourcedefinitions":
            await self._follow(address, reply)
        if method in ("POST", "PUT", "PATCH") and served.plural == "events":
            self._note_event(address, reply)
        return _answered(reply, accepted, call.warnings)


def _no_verb(address: Address, served: Served) -> Refusal:
    """404 for a subresource that a kind does not have; custom resources say it in other words."""
    return unserved() if served.crd is None else not_found(served.group, served.plural, address.name)


def _check_kind(accepted: Accepted, address: Address, call: Call) -> None:
    is_list = not address.name and call.method == "GET" and not call.flag("watch") and not address.is_watch
    if accepted.kind == "PartialObjectMetadata" and is_list:
        listed = f"*core.{call.served.list_kind}" if not call.served.crd else "*unstructured.UnstructuredList"
        message = f"you requested PartialObjectMetadata, but the requested object is a list ({listed})"
        raise Refusal(406, "NotAcceptable", message)


def _answered(reply: Reply, accepted: Accepted, warnings: list[str]) -> Answer:
    headers = [*reply.headers, _PRIVATE, *_warning_headers(warnings)]
    if reply.stream is not None:
        return reply.status, [*headers, ("Content-Type", "application/json")], reply.stream
    data = reply.body if isinstance(reply.body, bytes) else orjson.dumps(reply.body)
    if accepted.content_type == "application/yaml":
        text = yaml.safe_dump(orjson.loads(data), sort_keys=False)
        return reply.status, [*headers, ("Content-Type", "application/yaml")], Whole(text.encode())
    return reply.status, [*headers, ("Content-Type", "application/json")], Whole(data)


def _warning_headers(warnings: list[str]) -> list[tuple[str, str]]:
    return [("Warning", f"299 - {_quoted(text)}") for text in dict.fromkeys(warnings)]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def _refused(refusal: Refusal, warnings: Sequence[str] = ()) -> Answer:
    headers = [*refusal.headers, _PRIVATE, *_warning_headers(list(warnings)), ("Content-Type", "application/json")]
    return refusal.code, headers, Whole(orjson.dumps(refusal.body))


def _plain(status: int, text: str) -> Answer:
    headers = [_PRIVATE, ("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]
    return status, headers, Whole(text.encode())


class Whole:
    """An answer that is there already, as the one chunk of its stream."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data

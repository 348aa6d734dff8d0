"""``App``: the server on plain types: ``handle(method, target, headers, body)`` gives status, headers and chunks.

Everything below is reached from here; how bytes come in and go out is ``http``'s matter, or a test's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

import msgspec
import orjson

from kubewright_apiserver.access import LOCAL, Peer, User, openid_document
from kubewright_apiserver.answer import PRIVATE, Answer, Whole, broken, plain, refused
from kubewright_apiserver.body import LARGEST_BODY, body_format, patch_format, too_large
from kubewright_apiserver.discovery import Discovery, metrics_of
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.expiry import EVENTS
from kubewright_apiserver.golang import duration_problem
from kubewright_apiserver.negotiation import Accepted, Form, accepted_by, form_for, form_of_refusal, unstreamed
from kubewright_apiserver.path import Address, address_in, asks_to_watch
from kubewright_apiserver.query import BAD_ESCAPE, read_query
from kubewright_apiserver.reception import Received
from kubewright_apiserver.registry import Served
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.registry.lifecycle import follow_crd
from kubewright_apiserver.request_log import RequestLog
from kubewright_apiserver.status import Refusal, bad_request, internal_error, method_not_allowed, not_found, unserved
from kubewright_apiserver.store import Closed, StoreFailed
from kubewright_apiserver.verbs import Call, Reply, check_name, has_table, tabled_reply, verb_for
from kubewright_apiserver.warning import warning_headers

__all__ = ["Answer", "App", "Whole"]

_log = logging.getLogger("kubewright_apiserver")
_NOTHING: Final = 204
_LONG: Final = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_READING: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_ON_OBJECTS: Final = ("get", "update", "patch", "delete")


class App:
    """Answers requests on an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine: Engine = engine
        self.requests: RequestLog = RequestLog(engine.now)
        """What was asked lately."""
        self._discovery = Discovery(engine.registry, lambda: metrics_of(engine))
        self._writing: set[asyncio.Task[Answer]] = set()

    async def handle(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes, peer: Peer = LOCAL
    ) -> Answer:
        """Answer one request, and note it in the log of requests."""
        return await self.answer_received(self.receive(method, target, headers, peer), body)

    def receive(self, method: str, target: str, headers: Sequence[tuple[str, str]], peer: Peer) -> Received:
        """A request whose body is yet to be read: who sends it, and whether they may."""
        return Received(self.engine.access, method, target, headers, peer)

    async def answer_received(self, received: Received, body: bytes) -> Answer:
        """Answer a request that has been received, and note it in the log of requests.

        Cancelled, a write goes on if it has begun: what follows it must not be left out.
        """
        if received.method in _READING or not self.engine.store.is_durable:
            # In memory nothing waits between a write and what follows it.
            return await self._answer_received(received, body)
        writing = asyncio.create_task(self._answer_received(received, body))
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        return await asyncio.shield(writing)

    async def finish(self) -> None:
        """Return when no write is under way any more."""
        while self._writing:
            await asyncio.wait(self._writing)

    async def _answer_received(self, received: Received, body: bytes) -> Answer:
        method, target, headers = received.method, received.target, received.headers
        record = self.requests.note(method, target, received.user_name, headers.get("user-agent", ""))
        answer = received.refused
        if answer is None:
            received.came_with(body)
            answer = await self.answer(method, target, headers, body, received.user)
        self.requests.answered(record, answer[0])
        return received.answered(answer)

    async def answer(self, method: str, target: str, headers: dict[str, str], body: bytes, user: User) -> Answer:
        """Answer one request, whose headers have names in small letters, unnoted; whether one may is not asked."""
        path, _, query = target.partition("?")
        try:
            return await self._answer(method, path, query, headers, body, user)
        except Refusal as refusal:
            return refused(refusal, form_of_refusal(headers, query))
        except (Closed, StoreFailed) as error:
            return broken(error)
        except Exception as error:
            if _is_too_deep(error):
                return refused(internal_error("invalid character '{' exceeded max depth"), Form())
            _log.exception("%s %s failed", method, path)
            return refused(internal_error("Internal error occurred: the server failed; its log says why"), Form())

    async def _answer(
        self, method: str, path: str, query: str, headers: dict[str, str], body: bytes, user: User
    ) -> Answer:
        if "%" in path and BAD_ESCAPE.search(path):
            return 400, [("Content-Type", "text/plain; charset=utf-8")], Whole(b"400 Bad Request")
        if "timeout" in query or "%" in query:
            _check_timeout(method, path, read_query(query))
        found = self._discovery.answer(path, query, headers)
        if found is not None:
            if method != "GET" and self._is_only_read(path):
                raise method_not_allowed()
            status, more, data = found
            return _formed(status, more, data, form_for(headers, query))
        address = address_in(path)
        if address is None:
            document = openid_document(self.engine.access.issuer, method, path, headers.get("accept", ""))
            if document is not None:
                status, more, data = document
                return status, more, Whole(data)
            return plain(404, "404 page not found\n")
        served = self.engine.registry.find(address.group, address.version, address.plural)
        if served is None:
            return self._nothing_there(address)
        return await self._call(method, address, served, query, headers, body, user)

    def _is_only_read(self, path: str) -> bool:
        """Whether a path of discovery takes no method but GET; the others are careless, and so are those of CRDs."""
        root, *rest = path.strip("/").split("/")
        if root != "apis":
            return root in ("api", "version")
        versions = ((served.group, served.version) for served in self.engine.registry.resources() if not served.crd)
        return len(rest) == 2 and (rest[0], rest[1]) in versions

    async def _follow(self, address: Address, reply: Reply) -> None:
        body = orjson.loads(reply.body) if isinstance(reply.body, bytes) else reply.body
        names = [address.name or body.get("metadata", {}).get("name", "")]
        names += [item["metadata"]["name"] for item in body.get("items") or ()]
        for name in filter(None, names):
            await follow_crd(self.engine.store, self.engine.registry, name, self.engine.timestamp())

    def _note_event(self, address: Address, reply: Reply) -> None:
        name = address.name or _name_in(reply)
        row = self.engine.store.table(EVENTS).get(f"{address.namespace}/{name}")
        if row is not None:
            self.engine.expiry.note(row)

    def _nothing_there(self, address: Address) -> Answer:
        """404: as a Status where groups are built in, and in plain words where only definitions serve something."""
        if self.engine.registry.is_built_in(address.group):
            raise unserved()
        return plain(404, "404 page not found\n")

    async def _call(
        self,
        method: str,
        address: Address,
        served: Served,
        query: str,
        headers: dict[str, str],
        body: bytes,
        user: User,
    ) -> Answer:
        parameters = read_query(query)
        is_read = method in ("GET", "HEAD")
        if _is_elsewhere(address, served) or (address.rest and served.crd is None and address.subresource != "proxy"):
            return self._nothing_there(address)
        verb = verb_for(method, address, served, parameters)
        if verb is None:
            raise _no_verb(address, served)
        check_name(address.name)
        is_list = is_read and not address.name
        is_built_in = served.crd is None
        if method == "PATCH":
            patch_format(headers.get("content-type", ""), is_custom=not is_built_in)
        accept = headers.get("accept", "")
        accepted = accepted_by(
            accept,
            is_routed=is_built_in,
            is_list=is_list,
            has_protobuf=is_built_in,
            has_tables="as=Table" in accept and has_table(served, address.subresource),
        )
        if len(body) > LARGEST_BODY and not is_read:
            raise _too_large(method, served, headers.get("content-type", ""))
        call = Call(
            self.engine, served, address, method=method, query=parameters, headers=headers, body=body, user=user
        )
        call.accept, call.table = _shown_as(accepted)
        call.warnings += behaviour_of(served).deprecations
        form = form_for(headers, query, accepted)
        call.is_protobuf = form.is_protobuf
        try:
            reply = await verb(call)
        except Refusal as refusal:
            return refused(refusal, form_of_refusal(headers, query), call.warnings)
        if method not in ("GET", "HEAD") and served.plural == "customresourcedefinitions":
            await self._follow(address, reply)
        if served.crd is not None and "deletionTimestamp" in served.crd["metadata"] and not is_read:
            # The last of its objects may have gone, which a definition waits for.
            key = served.crd["metadata"]["name"]
            await follow_crd(self.engine.store, self.engine.registry, key, self.engine.timestamp())
        if method in ("POST", "PUT", "PATCH") and served.plural == "events":
            self._note_event(address, reply)
        _represent(accepted, call, reply)
        return _answered(reply, form, call.warnings)


def _shown_as(accepted: Accepted) -> tuple[str, str]:
    """The versions of PartialObjectMetadata and of the table that are asked for, one of them at most."""
    is_table = accepted.kind == "Table"
    return ("", accepted.representation) if is_table else (accepted.representation, "")


class _Metadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Metadata


def _name_in(reply: Reply) -> str:
    """The name of the object that is answered; nothing else of it is read."""
    if isinstance(reply.body, bytes):
        return msgspec.json.decode(reply.body, type=_Named).metadata.name
    name: str = reply.body["metadata"]["name"]
    return name


def _check_timeout(method: str, path: str, parameters: dict[str, list[str]]) -> None:
    """Refuse a time limit that is none, except for what takes long; one that is, is for slower servers."""
    value = parameters.get("timeout", [""])[0]
    problem = duration_problem(value) if value else ""
    if problem and not _takes_long(method, address_in(path), parameters):
        raise bad_request(f'invalid timeout specified in the request URL - time: {problem} "{value}"')


def _takes_long(method: str, address: Address | None, parameters: dict[str, list[str]]) -> bool:
    """Whether a request is a watch, or one of those that last as long as the client likes."""
    if address is None:
        return False
    asked = parameters["watch"][0] if "watch" in parameters and method in ("GET", "HEAD") else None
    return address.subresource in _LONG or asks_to_watch(address, asked)


def _is_elsewhere(address: Address, served: Served) -> bool:
    """Whether a resource has no such address: in a namespace though it is of none, or an object without its own."""
    if served.namespaced:
        return bool(address.name) and not address.namespace
    return bool(address.namespace)


def _no_verb(address: Address, served: Served) -> Refusal:
    """404 for an address that a kind does not have, custom resources say it in other words; 405 for a method."""
    if not address.subresource:
        return method_not_allowed() if _has_address(address, served) else unserved()
    if address.subresource in served.subresources:
        return method_not_allowed()
    return unserved() if served.crd is None else not_found(served.group, served.plural, address.name)


def _has_address(address: Address, served: Served) -> bool:
    """Whether a resource has an address of that shape, for any method: some have no objects that could be named."""
    if served.crd is not None or not (address.name or (served.namespaced and not address.namespace)):
        return True
    wanted = _ON_OBJECTS if address.name else ("list",)
    return any(verb in served.verbs for verb in wanted)


def _too_large(method: str, served: Served, content_type: str) -> Refusal:
    """413, or 415 for a type of body that nobody would read."""
    try:
        if method == "PATCH":
            patch_format(content_type, is_custom=served.crd is not None)
        else:
            body_format(content_type)
    except Refusal as refusal:
        return refusal
    return too_large()


def _is_too_deep(error: Exception) -> bool:
    """Whether an object was nested more deeply than can be walked, or than orjson writes."""
    return isinstance(error, RecursionError) or "Recursion limit reached" in str(error) or "max depth" in str(error)


def _represent(accepted: Accepted, call: Call, reply: Reply) -> None:
    """Make a table of the answer if that was asked for; refuse metadata of one where there are many.

    Not for a Status; nor metadata of many where there is one.
    """
    if call.table:
        tabled_reply(call, reply)
        return
    if (
        not accepted.kind
        or reply.stream is not None
        or (isinstance(reply.body, dict) and reply.body["kind"] == "Status")
    ):
        return
    is_list = not call.address.name and call.method in ("GET", "DELETE")
    if is_list is accepted.kind.endswith("List"):
        return
    what = "a list" if is_list else "not a list"
    message = f"you requested {accepted.kind}, but the requested object is {what} ({_go_type(call.served, is_list)})"
    raise Refusal(406, "NotAcceptable", message)


def _go_type(served: Served, is_list: bool) -> str:
    """The type of what is shown, as the server knows it inside."""
    if served.crd is not None:
        return "*unstructured.UnstructuredList" if is_list else "*unstructured.Unstructured"
    package = served.group.partition(".")[0] or "core"
    return f"*{package}.{served.list_kind if is_list else served.kind}"


def _answered(reply: Reply, form: Form, warnings: list[str]) -> Answer:
    headers = [*reply.headers, PRIVATE, *warning_headers(warnings)]
    if reply.status == _NOTHING:
        return reply.status, headers, Whole(b"")
    if reply.as_it_is:
        return reply.status, headers, reply.stream
    if reply.stream is not None and form.is_yaml:
        raise unstreamed()
    if reply.stream is not None:
        return reply.status, [*headers, ("Content-Type", form.stream_type)], reply.stream
    return reply.status, [*headers, ("Content-Type", form.content_type)], Whole(form.written(reply.body))


def _formed(status: int, headers: list[tuple[str, str]], data: bytes, form: Form) -> Answer:
    """What discovery says; that of it which is an object of the API is written as the client likes it."""
    if headers[-1] != ("Content-Type", "application/json") or not data:
        return status, headers, Whole(data)
    if not data.startswith(b'{"kind":'):
        form = Form(is_pretty=form.is_pretty)
    return status, [*headers[:-1], ("Content-Type", form.content_type)], Whole(form.written(data))

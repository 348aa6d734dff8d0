"""Raw requests to a server, and what came back, told so that two servers can be compared.

A case is a script of requests; every exchange of it is compared with the answers of the real server, which are
committed in ``golden/``. Names of namespaces, uids, times and revisions are normalised.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from kubewright.client import Request, Response

__all__ = ["Answer", "Api", "differences", "is_gone", "is_served", "normalised"]

_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
_TOLD_HEADERS = ("content-type", "warning", "retry-after", "cache-control", "vary", "allow")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_IDENTITY = ("operation", "manager", "apiVersion", "subresource")
# What a patch made, as Go prints it: the order of fields is nobody's business.
_PATCHED = re.compile(r'(Invalid value: )"\{(?:[^"\\]|\\.)*\}"')
_PAUSE = 0.1
_BREATH = 0.01
_PATIENCE = 60.0
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"


class Answer:
    """What a server answered."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.headers}
        self.warnings = response.header_values("warning")
        self.text = response.body.decode("utf-8", "replace")

    @property
    def body(self) -> Any:
        """The JSON in the answer, or its text."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text

    def told(self) -> dict[str, Any]:
        """What of the answer is compared."""
        headers = {name: self.headers[name] for name in _TOLD_HEADERS if name in self.headers}
        if self.warnings:
            headers["warning"] = self.warnings  # type: ignore[assignment]
        return {"status": self.status, "headers": headers, "body": self.body}


def is_served(answer: Answer) -> bool:
    """Whether something is there."""
    return answer.status == 200


def is_gone(answer: Answer) -> bool:
    """Whether nothing is there."""
    return answer.status == 404


class Api:
    """One case's way to the server. ``{ns}`` in a path is the namespace of the case."""

    def __init__(self, send: Callable[[Request], Awaitable[Response]], namespace: str) -> None:
        self.send = send
        self.namespace = namespace
        self.exchanges: list[dict[str, Any]] = []
        self.is_recording = True
        self.identity: tuple[tuple[str, str], ...] = ()
        """Headers that tell who asks, with every request."""
        self.is_patient = True
        """Whether a watch is read until the server ends it; else until nothing more comes."""
        self.is_timed = True
        """Whether the order of managers is compared, which depends on the second in which each wrote."""

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request; its answer becomes part of the case unless recording is paused."""
        request = self.request(method, path, body, query=query, headers=headers, content_type=content_type)
        return self._kept(request, Answer(await self.send(request)))

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Request:
        """What would be sent."""
        target = path.replace("{ns}", self.namespace)
        if query:
            target += ("&" if "?" in target else "?") + urlencode(query)
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Accept": "application/json", "User-Agent": "conformance/1", **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", content_type)
        pairs = [*sent.items(), *self.identity]
        return Request(method=method, target=target, headers=pairs, body=data, verb=method.lower())

    def acting_as(self, user: str, *groups: str, uid: str = "", extra: Mapping[str, str] | None = None) -> Api:
        """The same case's requests as somebody else's."""
        identity = [("Impersonate-User", user), *(("Impersonate-Group", group) for group in groups)]
        identity += [("Impersonate-Uid", uid)] if uid else []
        identity += [(f"Impersonate-Extra-{key}", value) for key, value in (extra or {}).items()]
        return self.with_headers(*identity)

    def with_headers(self, *identity: tuple[str, str]) -> Api:
        """The same case's requests with further headers, which may come twice."""
        twin = Api(self.send, self.namespace)
        twin.exchanges, twin.is_patient, twin.is_recording = self.exchanges, self.is_patient, self.is_recording
        twin.identity = tuple((name, value.replace("{ns}", self.namespace)) for name, value in identity)
        return twin

    def _kept(self, request: Request, answer: Answer) -> Answer:
        if self.is_recording:
            self.exchanges.append({"request": str(request), "answer": answer.told()})
        return answer

    async def get(self, path: str, **options: Any) -> Answer:
        """GET."""
        return await self.call("GET", path, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        """POST."""
        return await self.call("POST", path, body, **options)

    async def put(self, path: str, body: Any, **options: Any) -> Answer:
        """PUT."""
        return await self.call("PUT", path, body, **options)

    async def patch(self, path: str, body: Any, *, type: str = "merge", **options: Any) -> Answer:
        """PATCH of a type: json, merge, strategic or apply."""
        return await self.call("PATCH", path, body, content_type=_PATCHES.get(type, type), **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        """DELETE."""
        return await self.call("DELETE", path, body, **options)

    async def glance(self, path: str, **options: Any) -> Answer:
        """GET of what may be a watch: the server's whole answer, or what it says before it waits for changes."""
        request = self.request("GET", path, **options)
        request.streaming = not self.is_patient
        return self._kept(request, Answer(await _until_quiet(await self.send(request))))

    async def watch(self, path: str, **query: Any) -> list[Any]:
        """The events of a watch that the server ends after a second."""
        answer = await self.glance(path, query={"watch": "true", "timeoutSeconds": 1, **query})
        return [json.loads(line) for line in answer.text.splitlines() if line]

    async def until(self, path: str, holds: Callable[[Answer], bool], **options: Any) -> Answer:
        """GET again and again, unrecorded, until the answer is as wanted; that answer."""
        with self.unrecorded():
            async with asyncio.timeout(_PATIENCE):
                answer = await self.get(path, **options)
                while not holds(answer):
                    await _breathe()
                    answer = await self.get(path, **options)
        return answer

    def note(self, what: str, value: Any) -> None:
        """Make a value that was found out part of the case, for answers that are too large to keep."""
        self.exchanges.append({"noted": what, "value": json.loads(json.dumps(value))})

    def unrecorded(self) -> _Unrecorded:
        """``with api.unrecorded():`` requests inside are no part of what is compared."""
        return _Unrecorded(self)


async def _breathe() -> None:
    """Let the server go on: one in this process would never get its turn."""
    await asyncio.sleep(_BREATH)


async def _until_quiet(response: Response) -> Response:
    """An answer with all of its stream that comes without a pause."""
    if response.stream is None:
        return response
    chunks: list[bytes] = []
    stream = aiter(response.stream)
    with contextlib.suppress(TimeoutError, StopAsyncIteration):
        while True:
            async with asyncio.timeout(_PAUSE):
                chunks.append(await anext(stream))
    await response.aclose()
    return Response(response.status, response.headers, b"".join(chunks))


class _Unrecorded:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._before = api.is_recording

    def __enter__(self) -> None:
        self._api.is_recording = False

    def __exit__(self, *_: object) -> None:
        self._api.is_recording = self._before


def normalised(api: Api) -> Any:
    """The exchanges of a case without what differs from run to run."""
    return _Normaliser(api.namespace, is_timed=api.is_timed).value(api.exchanges)


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two values differ, a line for each place."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [*theirs, *(key for key in ours if key not in theirs)]
        pairs = [(ours.get(key, "(absent)"), theirs.get(key, "(absent)"), f"{path}.{key}") for key in keys]
        return [line for one, other, place in pairs for line in differences(one, other, place)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        if path.endswith(".headers.warning"):
            # The real server looks at the keys of a map in whatever order they come.
            ours, theirs = sorted(ours), sorted(theirs)
        elif path.endswith(".managedFields"):
            # They are ordered by time, in whole seconds: one more or less between two writes is chance.
            ours, theirs = _by_identity(ours), _by_identity(theirs)
        return [
            line
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
            for line in differences(one, other, f"{path}[{index}]")
        ]
    return [] if ours == theirs else [f"{path}: ours {ours!r:.600}, the real server's {theirs!r:.600}"]


def _by_identity(managers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(managers, key=lambda entry: [entry.get(part, "") for part in _IDENTITY])


def _is_of_a_case(group: dict[str, Any]) -> bool:
    """Whether an API group comes from a CRD that some case installed."""
    name: str = group.get("name") or group["metadata"].get("name", "")
    return name.endswith(".example.com")


def _in_order(status: dict[str, Any]) -> dict[str, Any]:
    """A refusal with its causes sorted: of several errors the real server tells some in random order."""
    causes = status.get("details", {}).get("causes", [])
    if len(causes) < 2:
        return status
    ordered = sorted(causes, key=lambda cause: (cause.get("field", ""), cause["message"]))
    message = status["message"]
    if status["reason"] == "Invalid":
        message = re.sub(r"\[.*\]", "[…]", message, flags=re.DOTALL)
    return {**status, "message": message, "details": {**status["details"], "causes": ordered}}


class _Normaliser:
    def __init__(self, namespace: str, *, is_timed: bool) -> None:
        self._namespace = namespace
        self._is_timed = is_timed
        self._tokens: dict[tuple[str, str], str] = {}

    def _token(self, kind: str, text: str) -> str:
        return self._tokens.setdefault((kind, text), f"<{kind} {sum(k == kind for k, _ in self._tokens) + 1}>")

    def value(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return self._map(value)
        if isinstance(value, list):
            return [self.value(item, key) for item in value]
        return self._text(value, key) if isinstance(value, str) else value

    def _map(self, value: dict[str, Any]) -> dict[str, Any]:
        for groups in ("groups", "items"):
            if value.get("kind") in ("APIGroupList", "APIGroupDiscoveryList") and groups in value:
                value = {**value, groups: [found for found in value[groups] if not _is_of_a_case(found)]}
        if value.get("reason") in ("Invalid", "Conflict"):
            value = _in_order(value)
        is_list = isinstance(value.get("items"), list) and isinstance(value.get("metadata"), dict)
        result = {}
        for key, item in value.items():
            if is_list and key == "metadata":
                item = {k: f"<{k} of a list>" if k in ("resourceVersion", "continue") else v for k, v in item.items()}
            if key == "managedFields" and isinstance(item, list) and not self._is_timed:
                item = _by_identity(item)
            result[key.replace(self._namespace, "<namespace>")] = self.value(item, key)
        generate = value.get("generateName")
        if isinstance(generate, str) and generate and isinstance(result.get("name"), str):
            pattern = re.escape(generate[:58]) + _SUFFIX
            result["name"] = re.sub(f"^{pattern}$", generate[:58] + "<suffix>", result["name"])
        return result

    def _text(self, text: str, key: str) -> str:
        if key == "resourceVersion" and text.isdigit() and text != "0":
            return self._token("version", text)
        if key == "continue" and text:
            return "<continue>"
        if key == "storageVersionHash":
            return "<hash>"
        if key == "token" and text.count(".") == 2:
            return "<token>"
        if "\n" in text and text.startswith('{"type":"'):
            return "\n".join(json.dumps(self.value(json.loads(line)), sort_keys=True) for line in text.splitlines())
        text = text.replace(self._namespace, "<namespace>")
        text = _PATCHED.sub(r'\1"<object>"', text)
        text = _TIME.sub(lambda found: "<micro time>" if found.group(1) else "<time>", text)
        text = _UID.sub(lambda found: self._token("uid", found.group()), text)
        text = re.sub(r"(resourceVersion=|continue=)[^&\s]+", r"\1…", text)
        text = re.sub(r'(resourceVersion\\*":\\*")\d+', r"\1…", text)
        text = re.sub(r"(ResourceVersion in record \()\d+", r"\1…", text)
        text = re.sub(r"\(\{[^(]* \.\.\.\)", "(<body>)", text)
        text = re.sub(r"\b10\.0\.0\.\d+\b", "<cluster address>", text)
        return re.sub(r"(resource version: )\d+( \(\d+\))?", r"\1…", text)

"""An API server that only ever says the same: fixed bytes over HTTP/1.1, so that what is measured is the client.

``python -m benchmarks.server PODS`` prints its port and answers until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys
from urllib.parse import parse_qs, urlsplit

import msgspec

from benchmarks.pods import pod

__all__ = ["Answers", "main"]

_PODS = ("/api/v1/pods", "/api/v1/namespaces/default/pods")
_HEAD = (
    "HTTP/1.1 {status}\r\n"
    "Audit-Id: 6b1f1f0e-2f6a-4c8e-9f4f-0d6f3a1c2b7e\r\n"
    "Cache-Control: no-cache, private\r\n"
    "Content-Type: application/json\r\n"
    "X-Kubernetes-Pf-Flowschema-Uid: 0f1b4a4e-8f0a-4c39-a3c5-2d7c6b1e9f10\r\n"
    "X-Kubernetes-Pf-Prioritylevel-Uid: 7c2d9e7a-51d4-4d0e-8f62-9a3b5c4d6e21\r\n"
    "Date: Thu, 15 Jan 2026 08:31:00 GMT\r\n"
    "Content-Length: {length}\r\n\r\n"
)
_DISCOVERY = {
    "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "pods",
                "singularName": "pod",
                "namespaced": True,
                "kind": "Pod",
                "verbs": ["get", "list", "watch"],
                "shortNames": ["po"],
            }
        ],
    },
}


class Answers:
    """What is answered to each target: discovery, a pod by name, all pods, a page of them."""

    def __init__(self, count: int) -> None:
        self._items = [msgspec.json.encode(pod(index)) for index in range(count)]
        self._names = {f"pod-{index:05}": index for index in range(count)}
        self._made: dict[str, bytes] = {}

    def __call__(self, target: str) -> bytes:
        found = self._made.get(target)
        if found is None:
            # Made once: a repeated request costs the server next to nothing.
            found = self._made[target] = self._make(target)
        return found

    def _make(self, target: str) -> bytes:
        parts = urlsplit(target)
        path, query = parts.path.rstrip("/"), {key: values[0] for key, values in parse_qs(parts.query).items()}
        collection, _, name = path.rpartition("/")
        if path in _DISCOVERY:
            return _answer(msgspec.json.encode(_DISCOVERY[path]))
        if path in _PODS:
            return _answer(self._list(query))
        if collection == _PODS[1] and name in self._names:
            return _answer(b'{"kind":"Pod","apiVersion":"v1",' + self._items[self._names[name]][1:])
        return _answer(b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}', "404 Not Found")

    def _list(self, query: dict[str, str]) -> bytes:
        items = self._items
        if "fieldSelector" in query:
            name = query["fieldSelector"].split(",")[0].removeprefix("metadata.name=")
            items = [items[self._names[name]]]
        start = int(query.get("continue", 0))
        end = start + int(query["limit"]) if "limit" in query else len(items)
        rest = f',"continue":"{end}","remainingItemCount":{len(items) - end}' if end < len(items) else ""
        head = f'{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"1010000"{rest}}},"items":['
        return head.encode() + b",".join(items[start:end]) + b"]}"


def _answer(body: bytes, status: str = "200 OK") -> bytes:
    return _HEAD.format(status=status, length=len(body)).encode() + body


class _Connection(asyncio.Protocol):
    """Requests have no bodies here, so each ends with its head."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        *heads, self._received = (self._received + data).split(b"\r\n\r\n")
        for head in heads:
            self._transport.write(self._answers(head.split(b" ", 2)[1].decode()))


async def main(count: int) -> None:
    """Serve until standard input ends, as it does when the parent dies."""
    loop = asyncio.get_running_loop()
    answers = Answers(count)
    server = await loop.create_server(lambda: _Connection(answers), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

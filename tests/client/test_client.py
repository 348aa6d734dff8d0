"""Views of a client: other options or further interceptors on the same connections."""

from __future__ import annotations

from kubewright.client import Interceptor, Request, Response, Retry, Send
from kubewright.kinds.core_v1 import ConfigMap
from tests.client.scripted import Server, failure, thing


def noting(notes: list[str], name: str) -> Interceptor:
    async def note(request: Request, send: Send) -> Response:
        notes.append(f"{name} {request.verb}")
        response = await send(request)
        notes.append(f"{name} {response.status}")
        return response

    return note


async def test_interceptors_of_a_view_stand_around_those_of_its_client():
    notes: list[str] = []
    server = Server((200, thing()))

    async with server.client(interceptors=[noting(notes, "inner")]) as client:
        view = client.intercepted(noting(notes, "first"), noting(notes, "second"))
        await view.get(ConfigMap, "a")

    assert notes == ["first get", "second get", "inner get", "inner 200", "second 200", "first 200"]


async def test_a_client_does_not_see_the_interceptors_of_its_views():
    notes: list[str] = []
    server = Server((200, thing()))

    async with server.client(namespace="x") as client:
        view = client.intercepted(noting(notes, "view"))
        await client.get(ConfigMap, "a")
        assert notes == []

        await view.using(field_manager="y").get(ConfigMap, "a")
        assert notes == ["view get", "view 200"]
        assert (view.namespace, view.discovery is client.discovery) == ("x", True)


async def test_interceptors_of_a_view_see_each_retry():
    notes: list[str] = []
    busy = (429, failure(429, "TooManyRequests"), [("Retry-After", "0")])
    server = Server(busy, (200, thing()))

    async with server.client(retry=Retry(attempts=2)) as client:
        await client.intercepted(noting(notes, "view")).get(ConfigMap, "a")

    assert notes == ["view get", "view 429", "view get", "view 200"]

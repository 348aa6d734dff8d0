"""Answers in protobuf, told as JSON so that two servers can be compared."""

from __future__ import annotations

import json
from typing import Any, Final

from conformance.exchange import Api
from kubewright.client import Response
from kubewright_apiserver.protobuf import MAGIC, Decoder, definition_of, open_envelope, written_object

__all__ = ["PROTOBUF", "read_frames", "read_object", "tell"]

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_decoder: Final = Decoder(str)


async def tell(
    api: Api,
    method: str,
    path: str,
    body: bytes | dict[str, Any] | None = None,
    *,
    accept: str = PROTOBUF,
    content_type: str = PROTOBUF,
) -> None:
    """Send a request, and make what is answered part of the case."""
    data = written_object(body) if isinstance(body, dict) else body
    request = api.request(method, path, data, headers={"Accept": accept}, content_type=content_type)
    response = await api.send(request)
    api.note(f"{request}", _told(response))


def _told(response: Response) -> dict[str, Any]:
    content_type = next(value for name, value in response.headers if name.lower() == "content-type")
    told: dict[str, Any] = {"status": response.status, "type": content_type}
    if content_type == f"{PROTOBUF};stream=watch":
        return told | {"events": read_frames(response.body)}
    if response.body.startswith(MAGIC):
        return told | {"object": read_object(response.body)}
    if content_type == "application/json":
        return told | {"object": json.loads(response.body)}
    return told | {"text": response.body.decode()}


def read_object(data: bytes) -> dict[str, Any]:
    """The object in a body; what is empty is left out."""
    envelope = open_envelope(data)
    definition = definition_of(envelope.api_version, envelope.kind)
    said = {"kind": envelope.kind, "apiVersion": envelope.api_version}
    return said | _decoder.decode(definition, envelope.message)


def read_frames(data: bytes) -> list[dict[str, Any]]:
    """The events in what came of a watch."""
    events = []
    while data:
        size = int.from_bytes(data[:4], "big")
        frame, data = data[4 : 4 + size], data[4 + size :]
        kind, _, _ = frame[2:].partition(b"\x12")
        events.append({"type": kind.decode(), "object": read_object(frame[frame.index(MAGIC) :])})
    return events

"""What every answer must be, whatever was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

__all__ = ["Heard", "problem_of"]

_OURS: Final = b"Internal error occurred: the server failed"
"""What the server says when it is at its end; other messages that come with 500 are the real server's own."""


class Heard(NamedTuple):
    """An answer."""

    status: int
    headers: Sequence[tuple[str, str]]
    data: bytes
    is_stream: bool = False

    @property
    def type(self) -> str:
        """What the answer says that it is."""
        return next((value for name, value in self.headers if name == "Content-Type"), "")

    @property
    def document(self) -> Any:
        """The JSON in it, None if it is something else."""
        try:
            return orjson.loads(self.data)
        except ValueError:
            return None


def problem_of(method: str, heard: Heard) -> str:
    """What is wrong with an answer, or an empty text."""
    if _OURS in heard.data and heard.status == 500:
        return "the server failed"
    if heard.is_stream:
        return _problem_of_stream(heard)
    if heard.type.startswith("application/json"):
        return _problem_of_json(method, heard)
    return "" if heard.type or not heard.data else "an answer of no type"


def _problem_of_json(method: str, heard: Heard) -> str:
    document = heard.document
    if document is None:
        return "" if method == "HEAD" else f"no JSON: {heard.data[:200]!r}"
    if heard.status < 400:
        return "" if isinstance(document, dict) else f"no object: {heard.data[:200]!r}"
    return _problem_of_status(heard.status, document)


def _problem_of_status(code: int, document: Any) -> str:
    if not isinstance(document, dict) or document.get("kind") != "Status":
        return f"status {code} without a Status: {document!r:.200}"
    if document.get("code") != code or document.get("status") != "Failure":
        return f"a Status that contradicts {code}: {document!r:.200}"
    return "" if isinstance(document.get("message", ""), str) else f"a message that is no text: {document!r:.200}"


def _problem_of_stream(heard: Heard) -> str:
    if not heard.type.startswith("application/json"):
        return ""
    for line in heard.data.splitlines():
        try:
            event = orjson.loads(line)
        except ValueError:
            return f"an event that is no JSON: {line[:200]!r}"
        if not isinstance(event, dict) or set(event) != {"type", "object"}:
            return f"an event that is none: {line[:200]!r}"
    return ""

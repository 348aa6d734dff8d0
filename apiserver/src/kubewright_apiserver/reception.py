"""``Received``: a request that has come, before its body is read: whose it is, or why it goes no further."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence
from typing import Any

import orjson

from kubewright_apiserver.access import ANONYMOUS, Access, Asked, Peer, Trail, User, Visit, is_plain
from kubewright_apiserver.answer import Answer, Upgraded, Whole, broken, plain, refused
from kubewright_apiserver.negotiation import Form, form_of_refusal
from kubewright_apiserver.query import BAD_ESCAPE
from kubewright_apiserver.status import Refusal, internal_error
from kubewright_apiserver.store import Closed, StoreFailed
from kubewright_apiserver.warning import warning_headers

__all__ = ["Received"]

_log = logging.getLogger("kubewright_apiserver")


class Received:
    """A request on its way in. ``refused`` is the answer if it goes no further."""

    __slots__ = ("_visit", "headers", "method", "refused", "target", "user")

    def __init__(
        self, access: Access, method: str, target: str, headers: Sequence[tuple[str, str]], peer: Peer
    ) -> None:
        self.method: str = method
        self.target: str = target
        if not all(value.isascii() for _, value in headers):
            headers = [(name, _readable(value)) for name, value in headers]
        self.headers: dict[str, str] = {name.lower(): value for name, value in headers}
        """By names in small letters; of those that come twice, one."""
        self.user: User = ANONYMOUS
        """Whose it is, if it was let in."""
        self.refused: Answer | None = None
        path, _, query = target.partition("?")
        self._visit: Visit | None = None
        if "%" in path and BAD_ESCAPE.search(path):
            # No address at all, and refused as such whoever asks.
            return
        self._visit = access.visit(Asked(method, target, path, query, headers, self.headers), peer)
        try:
            self.user = self._visit.enter()
            if not self.user.is_master and not is_plain(path):
                self.refused = plain(404, "404 page not found\n")
        except Refusal as refusal:
            self.refused = refused(refusal, form_of_refusal(self.headers, query))
        except (Closed, StoreFailed) as error:
            self.refused = broken(error)
        except Exception:
            _log.exception("who sends %s %s could not be told", method, path)
            failed = internal_error("Internal error occurred: the server failed; its log says why")
            self.refused = refused(failed, Form())

    @property
    def user_name(self) -> str:
        """Who asks, or whom they act as, as far as that is known."""
        return self._visit.user_name if self._visit is not None else ""

    @property
    def audit_id(self) -> str:
        """What auditors know the request by, as the client wants it or the log has it; else empty."""
        trail = self._visit.trail if self._visit is not None else None
        return trail.audit_id if trail is not None else self.headers.get("audit-id", "")

    def came_with(self, body: bytes) -> None:
        """Tell auditors what was sent, if they want to know."""
        trail = self._visit.trail if self._visit is not None else None
        if trail is not None:
            trail.sent(body, self.headers.get("content-type", ""))

    def answered(self, answer: Answer) -> Answer:
        """The answer as it goes out: with what the client should know of its credentials, and told to auditors."""
        if self._visit is None:
            return answer
        if "authorization" in self.headers and (warnings := self._visit.warnings):
            status, headers, chunks = answer
            answer = status, [*headers, *warning_headers(warnings)], chunks
        return answer if self._visit.trail is None else _audited(answer, self._visit.trail)


def _readable(value: str) -> str:
    """The value of a header whose bytes that are no UTF-8 came as surrogates, which no answer can hold."""
    return value.encode(errors="surrogateescape").decode(errors="replace")


def _audited(answer: Answer, trail: Trail) -> Answer:
    status, headers, chunks = answer
    if isinstance(chunks, Upgraded):
        trail.started(status)
        return status, headers, Upgraded(chunks.socket, lambda: trail.completed(status))
    if not isinstance(chunks, Whole):
        trail.started(status)
        return status, headers, _told_of(chunks, lambda: trail.completed(status))
    trail.completed(status, _object_in(chunks.data))
    return answer


async def _told_of(chunks: AsyncIterable[bytes], end: Callable[[], None]) -> AsyncIterator[bytes]:
    """A stream whose end is told, whoever ends it."""
    iterator = aiter(chunks)
    try:
        async for chunk in iterator:
            yield chunk
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
        end()


def _object_in(data: bytes) -> dict[str, Any] | None:
    """The object of the API in an answer, if it is one in JSON."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and "kind" in found else None

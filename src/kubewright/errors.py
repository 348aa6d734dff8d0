"""The one exception tree of kubewright, drawn here.

::

    KubewrightError
    ├── ConfigError              a kubeconfig, context or in-cluster account that cannot be used
    ├── CredentialError          credentials that could not be had: exec plugin, OIDC, token file
    ├── TransportError           no whole answer came: refused, reset, cut short, timed out
    │   ├── ConnectError         the request never left, so it is safe to send it again
    │   ├── RequestTimeout       the time limit passed; the server may have acted
    │   └── ProtocolError        the answer is not Kubernetes' (HTML, truncated JSON, …)
    ├── ApiError                 the API server refused; carries its whole Status
    │   ├── BadRequest           400
    │   ├── Unauthorized         401
    │   ├── Forbidden            403
    │   ├── NotFound             404
    │   │   └── NotServed        404 the server does not serve this kind (its CRD may not be installed)
    │   ├── MethodNotAllowed     405
    │   ├── NotAcceptable        406
    │   ├── AlreadyExists        409
    │   ├── Conflict             409 the object changed since it was read
    │   │   └── ApplyConflict    409 other field managers own what apply wants
    │   ├── Gone                 410 the resourceVersion or continue token is too old
    │   ├── TooLarge             413
    │   ├── UnsupportedMediaType 415
    │   ├── Invalid              422 with causes by field
    │   ├── TooManyRequests      429 with retry_after
    │   ├── InternalError        500
    │   ├── Unavailable          503
    │   └── ServerTimeout        504
    ├── Undecodable              an object that does not fit its Python type
    ├── NotRead                  an update of an object that was not read from a server
    ├── WasRead                  an apply of an object that was read from a server
    ├── NotCached                a read from the cache of a kind that is not watched
    ├── AlreadyOwned             an object that another one controls
    ├── WaitTimeout              an object that did not become what was waited for
    ├── LeadershipLost           a write that was not begun because another replica may lead by now
    └── Terminal                 raised by a reconcile: trying again is of no use until something changes
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

import msgspec

__all__ = [
    "AlreadyExists",
    "AlreadyOwned",
    "ApiError",
    "ApiStatus",
    "ApplyConflict",
    "BadRequest",
    "ConfigError",
    "Conflict",
    "ConnectError",
    "CredentialError",
    "FieldConflict",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "KubewrightError",
    "LeadershipLost",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotCached",
    "NotFound",
    "NotRead",
    "NotServed",
    "ProtocolError",
    "RequestTimeout",
    "ServerTimeout",
    "StatusCause",
    "StatusDetails",
    "Terminal",
    "TooLarge",
    "TooManyRequests",
    "TransportError",
    "Unauthorized",
    "Unavailable",
    "Undecodable",
    "UnsupportedMediaType",
    "WaitTimeout",
    "WasRead",
    "error_of",
]


class KubewrightError(Exception):
    """Root of every exception that kubewright raises on purpose."""


class ConfigError(KubewrightError):
    """A kubeconfig, context or in-cluster account cannot be used; the message names the file and the remedy."""


class CredentialError(KubewrightError):
    """Credentials could not be had: an exec plugin failed, a refresh was refused, a token file is unreadable."""


class TransportError(KubewrightError):
    """No whole answer came from the API server."""


class ConnectError(TransportError):
    """No connection came about, so the request was never sent and may safely be sent again."""


class RequestTimeout(TransportError):
    """The time limit passed before the answer was whole; a write may have taken effect."""


class ProtocolError(TransportError):
    """What answered does not speak Kubernetes: HTML, truncated JSON, a malformed watch line."""


class Undecodable(KubewrightError):
    """An object does not fit its Python type; the message names the object and the field."""


class NotRead(KubewrightError):
    """An update of an object that was not read from a server: there is nothing to compare it with."""


class WasRead(KubewrightError):
    """An apply of an object that was read: its sender would come to own every field of it."""


class NotCached(KubewrightError):
    """A kind was read from a cache that does not watch it; the message says what to add."""


class AlreadyOwned(KubewrightError):
    """An object was to be owned that another object controls; the message names both."""


class WaitTimeout(KubewrightError):
    """An object did not become what was waited for in time; the message says how it was last."""


class LeadershipLost(KubewrightError):
    """A write was not begun: the Lease was not renewed in time, so another replica may be leading."""


class Terminal(KubewrightError):
    """Raised by a reconcile: trying again is of no use until the object, or something it depends on, changes."""


class StatusCause(msgspec.Struct, kw_only=True, frozen=True):
    """One reason inside a refusal: what is wrong with which field."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, kw_only=True, frozen=True, rename="camel"):
    """Whom a refusal is about, and its causes."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: int = 0


class ApiStatus(msgspec.Struct, kw_only=True, frozen=True):
    """The API's ``Status`` object: how the server tells an outcome that is not an object."""

    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class ApiError(KubewrightError):
    """The API server refused the request.

    ``status`` is the server's whole answer; ``code``, ``reason`` and ``causes`` are short-cuts into it.
    """

    def __init__(self, status: ApiStatus, *, retry_after: float | None = None) -> None:
        super().__init__(status.message or f"{status.code} {status.reason or 'without a message'}")
        self.status: ApiStatus = status
        self.retry_after: float | None = retry_after
        """Seconds that the server asked to wait before trying again, or None."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.status, self.retry_after))

    @property
    def code(self) -> int:
        """HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """Kubernetes' machine-readable reason, for example ``NotFound``."""
        return self.status.reason

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The causes by field, empty when the server told none."""
        return (self.status.details.causes or ()) if self.status.details else ()


def _rebuild(kind: type[ApiError], status: ApiStatus, retry_after: float | None) -> ApiError:
    return kind(status, retry_after=retry_after)


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the server does not know who asks."""


class Forbidden(ApiError):
    """403: whoever asks may not do this, or admission refused it."""


class NotFound(ApiError):
    """404: no such object, or no such resource."""


class NotServed(NotFound):
    """404: the API server does not serve this kind; its CRD may not be installed."""


class MethodNotAllowed(ApiError):
    """405: the resource has no such verb."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in the representation asked for."""


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""


class Conflict(ApiError):
    """409: the object changed since it was read; read it again and retry."""


class FieldConflict(msgspec.Struct, frozen=True):
    """One field that apply wanted and another manager owns."""

    manager: str
    field: str


class ApplyConflict(Conflict):
    """409: server-side apply met fields that other managers own; ``conflicts`` names managers and fields."""

    _MANAGER: ClassVar[re.Pattern[str]] = re.compile(r'conflict with "((?:[^"\\]|\\.)*)"')

    @property
    def conflicts(self) -> tuple[FieldConflict, ...]:
        """Who owns which of the fields that apply wanted."""
        found = []
        for cause in self.causes:
            manager = self._MANAGER.search(cause.message)
            found.append(FieldConflict(manager.group(1) if manager else "", cause.field))
        return tuple(found)


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class TooLarge(ApiError):
    """413: the body is larger than the server takes."""


class UnsupportedMediaType(ApiError):
    """415: the server does not take this kind of body or patch for this resource."""


class Invalid(ApiError):
    """422: the object breaks its schema or rules; ``causes`` says which field and why."""


class TooManyRequests(ApiError):
    """429: the server is busy, or a disruption budget forbids the eviction; ``retry_after`` says for how long."""


class InternalError(ApiError):
    """500: the server failed."""


class Unavailable(ApiError):
    """503: the server, or one that it depends on, is not ready."""


class ServerTimeout(ApiError):
    """504: the server gave up waiting, for example for a resourceVersion from the future."""


_BY_CODE: Final[dict[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: Unavailable,
    504: ServerTimeout,
}


def error_of(status: ApiStatus, *, retry_after: float | None = None) -> ApiError:
    """The exception for a Status, of the most telling class."""
    return _class_of(status)(status, retry_after=retry_after)


def _class_of(status: ApiStatus) -> type[ApiError]:
    if status.code == 409:
        if status.reason == "AlreadyExists":
            return AlreadyExists
        causes = (status.details.causes or ()) if status.details else ()
        if any(cause.reason == "FieldManagerConflict" for cause in causes):
            return ApplyConflict
    return _BY_CODE.get(status.code, ApiError)

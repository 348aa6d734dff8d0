"""Who the client is to the API server: the interface that the transport asks, and the credentials that need no work.

Those that must be obtained are in ``exec_plugin`` and ``oidc``.
"""

from __future__ import annotations

import logging
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from kubewright.config.secret import Secretive
from kubewright.errors import CredentialError

__all__ = ["Anonymous", "BearerToken", "Credentials", "Password", "TokenFile", "are_in", "bearer"]

_logger = logging.getLogger(__name__)
_REREAD_AFTER: Final = 60.0
"""Seconds; the kubelet renews a projected token at 80 % of its life, at the earliest after eight minutes."""


class Credentials(Protocol):
    """Headers and a client certificate that tell the API server who is asking.

    Ask for ``headers()`` before each request and before each connection: it is what renews an expired certificate.
    """

    @property
    def renewable(self) -> bool:
        """Whether ``invalidate`` can lead to other credentials, so that trying again after a 401 makes sense."""
        ...

    async def headers(self) -> dict[str, str]:
        """The headers to send now, renewed first if they have expired. Raises ``CredentialError``."""
        ...

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        """Forget the credentials after a 401, so that the next ``headers()`` gets new ones.

        ``refused`` are the headers that were sent: if others have replaced them meanwhile, nothing is forgotten, so
        that many requests refused at once lead to one renewal.
        """

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """Certificate and key as PEM, if these credentials bring one; it may change after ``headers()``."""
        ...


def bearer(token: str, source: str) -> dict[str, str]:
    """The Authorization header for a token; ``CredentialError`` naming ``source`` if no header can carry it."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CredentialError(f"the token of {source} is empty, or has blanks, line ends or non-ASCII characters in it")
    return {"Authorization": f"Bearer {token}"}


def are_in(current: Mapping[str, str] | None, refused: Mapping[str, str] | None) -> bool:
    """Whether the refused headers (None: whatever they were) carry the current credentials."""
    return refused is None or all(refused.get(name) == value for name, value in (current or {}).items())


class Anonymous(Secretive):
    """Credentials of nobody: no header, no certificate (one in the kubeconfig belongs to its ``TlsConfig``)."""

    renewable: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    async def headers(self) -> dict[str, str]:
        """No headers."""
        return {}

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        """Nothing: there is nothing to renew."""

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """None."""
        return None


class BearerToken(Anonymous):
    """A token that never changes."""

    def __init__(self, token: str, *, source: str = "the configuration") -> None:
        self._headers = bearer(token.strip(), source)

    async def headers(self) -> dict[str, str]:
        """The token as an Authorization header."""
        return dict(self._headers)


class Password(Anonymous):
    """User name and password, sent as HTTP basic authentication."""

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        secret = b64encode(f"{username}:{password}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {secret}"}

    def __repr__(self) -> str:
        return f"Password({self._username!r})"

    async def headers(self) -> dict[str, str]:
        """User name and password as an Authorization header."""
        return dict(self._headers)


class TokenFile(Secretive):
    """A token in a file that others renew: read again at most each minute, and after ``invalidate``.

    A file that cannot be read later on leaves the token read before in use, as long as the server takes it;
    ``fallback`` is a token for when the file was never readable.
    """

    renewable: bool = True

    def __init__(self, path: Path, *, fallback: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._fallback = fallback.strip() if fallback is not None else None
        self._clock = clock
        self._headers: dict[str, str] | None = None
        self._read_at = 0.0

    def __repr__(self) -> str:
        return f"TokenFile({str(self._path)!r})"

    async def headers(self) -> dict[str, str]:
        """The token in the file as an Authorization header."""
        now = self._clock()
        if self._headers is None or now - self._read_at >= _REREAD_AFTER:
            self._headers = self._reread()
            self._read_at = now
        return dict(self._headers)

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        """Read the file again next time, unless another token than the refused one is in use already."""
        if are_in(self._headers, refused):
            self._headers = None

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """None."""
        return None

    def _reread(self) -> dict[str, str]:
        try:
            return bearer(_token_in(self._path), f"the file {self._path}")
        except CredentialError as error:
            if self._headers is not None:
                _logger.warning("keeping the token read before: %s", error)
                return self._headers
            if self._fallback is not None:
                return bearer(self._fallback, f"the configuration beside the token file {self._path}")
            raise


def _token_in(path: Path) -> str:
    try:
        token = path.read_bytes().decode("utf-8", "replace").strip()
    except OSError as error:
        raise CredentialError(f"cannot read the token file {path}: {error.strerror}") from error
    if not token:
        raise CredentialError(f"the token file {path} is empty; whoever renews it has to write a token")
    return token

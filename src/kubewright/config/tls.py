"""TLS towards the API server: what the configuration says, and an ``ssl.SSLContext`` that follows rotated files."""

from __future__ import annotations

import logging
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from kubewright.config.certificate import certificates_in, expiry_of
from kubewright.config.credentials import Anonymous, Credentials
from kubewright.config.renewal import wall_clock
from kubewright.config.secret import Secretive
from kubewright.errors import ConfigError, CredentialError

__all__ = ["TlsConfig", "TlsContext"]

_logger = logging.getLogger(__name__)
_LOOK_AFTER: Final = 1.0
"""Seconds between two looks at the files."""

_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig(Secretive):
    """How to trust the server, and which certificate to show it; where both are given, data wins over a file.

    Without a CA the system's are trusted. Raises ``ConfigError`` if the parts do not go together.
    """

    ca_file: Path | None = None
    ca_data: bytes = field(default=b"", repr=False)
    cert_file: Path | None = None
    cert_data: bytes = field(default=b"", repr=False)
    key_file: Path | None = None
    key_data: bytes = field(default=b"", repr=False)
    insecure: bool = False
    """Whether to trust any server, whatever its certificate."""
    server_name: str | None = None
    """The name that the server's certificate must bear, if it is not the host of the address."""
    origin: str = ""
    """Where this comes from, for messages."""

    def __post_init__(self) -> None:
        if self.insecure and (self.ca_data or self.ca_file):
            raise self.error("insecure-skip-tls-verify and a certificate authority exclude each other; remove one")
        if bool(self.cert_data or self.cert_file) != bool(self.key_data or self.key_file):
            raise self.error("client-certificate and client-key go together, but one of them is missing")

    def error(self, problem: str) -> ConfigError:
        """The problem as an exception that names where the configuration comes from."""
        return ConfigError(f"{self.origin}: {problem}" if self.origin else problem)

    def files(self) -> tuple[Path, ...]:
        """The files that this configuration reads."""
        named = ((self.ca_file, self.ca_data), (self.cert_file, self.cert_data), (self.key_file, self.key_data))
        return tuple(file for file, data in named if file is not None and not data)

    def authority(self) -> bytes:
        """The CA bundle as PEM, empty for the system's."""
        return self._content(self.ca_data, self.ca_file, "certificate-authority")

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """Client certificate and key as PEM, or None."""
        certificate = self._content(self.cert_data, self.cert_file, "client-certificate")
        key = self._content(self.key_data, self.key_file, "client-key")
        return (certificate, key) if certificate else None

    def _content(self, data: bytes, file: Path | None, what: str) -> bytes:
        if data or file is None:
            return data
        try:
            content = file.read_bytes()
        except OSError as error:
            raise self.error(f"cannot read {what} {file}: {error.strerror}") from error
        if not content.strip():
            raise self.error(f"{what} {file} is empty")
        return content


class TlsContext(Secretive):
    """The ``ssl.SSLContext`` for a server, built anew when a file changed or the credentials bring another certificate.

    Guarantees: files are looked at once a second at most; a changed file that cannot be used (half written, or with
    a key that does not fit yet) leaves the context before in use, is logged, and is tried again at the next look.
    """

    def __init__(
        self,
        server: str,
        tls: TlsConfig,
        credentials: Credentials | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], datetime] = wall_clock,
    ) -> None:
        self.server_name: str | None = tls.server_name
        """The name to verify in place of the host's, or None."""
        self._secure = server.lower().startswith("https:")
        self._tls = tls
        self._credentials = credentials or Anonymous()
        self._clock = clock
        self._wall_clock = wall_clock
        self._built: _Built | None = None
        self._looked_at = 0.0
        self._trouble = ""

    def __repr__(self) -> str:
        return f"TlsContext({self._tls!r})"

    def context(self) -> ssl.SSLContext | None:
        """The context for a new connection, or None for a server without TLS.

        While nothing changed it is the same object. Raises ``ConfigError`` for a certificate or key that cannot be
        used, ``CredentialError`` for one that expired or that an exec plugin gave.
        """
        if not self._secure:
            return None
        issued = self._credentials.client_certificate()
        built = self._built
        if built is None or built.issued != issued:
            built = self._rebuild(issued)
        elif self._files_changed(built):
            built = self._rebuild_if_possible(built)
        self._check_expiry(built)
        return built.context

    def _files_changed(self, built: _Built) -> bool:
        now = self._clock()
        if not built.stamps or now - self._looked_at < _LOOK_AFTER:
            return False
        self._looked_at = now
        return _stamps(self._tls) != built.stamps

    def _rebuild_if_possible(self, built: _Built) -> _Built:
        try:
            return self._rebuild(built.issued)
        except ConfigError as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _logger.warning("keeping the TLS files read before: %s", error)
            return built

    def _rebuild(self, issued: tuple[bytes, bytes] | None) -> _Built:
        self._looked_at = self._clock()
        # Stamps first: a file that changes while it is read is then seen as changed at the next look.
        stamps = _stamps(self._tls)
        certificate = issued or self._tls.client_certificate()
        context = _trusting(self._tls)
        if certificate is not None:
            _load_certificate(context, certificate, self._certificate_error(issued))
        expiry = expiry_of(certificate[0]) if certificate is not None else None
        self._built = _Built(context, stamps, issued, expiry)
        self._trouble = ""
        return self._built

    def _certificate_error(self, issued: tuple[bytes, bytes] | None) -> Callable[[str], ConfigError | CredentialError]:
        if issued is None:
            return self._tls.error
        return lambda problem: CredentialError(f"from {self._credentials!r}: {problem}")

    def _check_expiry(self, built: _Built) -> None:
        if built.expiry is not None and built.expiry <= self._wall_clock():
            source = self._tls.cert_file if not self._tls.cert_data else None
            where = f"in {source}" if source else f"of {self._tls.origin or repr(self._credentials)}"
            raise CredentialError(
                f"the client certificate {where} expired at {built.expiry:%Y-%m-%d %H:%M:%S} UTC; get a new one"
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    context: ssl.SSLContext
    stamps: tuple[_Stamp, ...]
    issued: tuple[bytes, bytes] | None = field(repr=False)
    expiry: datetime | None


def _stamps(tls: TlsConfig) -> tuple[_Stamp, ...]:
    return tuple(_stamp(file) for file in tls.files())


def _stamp(file: Path) -> _Stamp:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _trusting(tls: TlsConfig) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    authority = tls.authority()
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not authority:
        context.load_default_certs()
    else:
        # As Go does: whatever the bundle holds is trusted, be it a root or not.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _load_authority(context, authority, tls)
    return context


def _load_authority(context: ssl.SSLContext, authority: bytes, tls: TlsConfig) -> None:
    what = "certificate-authority-data" if tls.ca_data else f"certificate-authority {tls.ca_file}"
    certificates = certificates_in(authority)
    if not certificates:
        raise tls.error(f"{what} holds no PEM certificate (-----BEGIN CERTIFICATE-----)")
    try:
        context.load_verify_locations(cadata="\n".join(certificates))
    except ssl.SSLError as error:
        raise tls.error(f"{what} holds a certificate that cannot be read: {error.reason or 'damaged'}") from error


def _load_certificate(
    context: ssl.SSLContext,
    certificate: tuple[bytes, bytes],
    error_of: Callable[[str], ConfigError | CredentialError],
) -> None:
    def refuse_to_ask() -> str:
        raise error_of("the client key is encrypted with a passphrase, which is not supported; store it decrypted")

    # Python loads keys from files only; this one is readable by its owner alone and gone at once.
    with tempfile.NamedTemporaryFile(prefix="kubewright-") as file:
        file.write(b"\n".join(certificate))
        file.flush()
        try:
            context.load_cert_chain(file.name, password=refuse_to_ask)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise error_of("the client certificate and the client key do not belong together") from error
            raise error_of("the client certificate or its key is not PEM, or is damaged") from error

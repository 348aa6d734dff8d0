"""``Certificates``: what a server shows to its clients, and whose certificates it believes."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kubewright_apiserver.access.certificates import Authority, KeyPair

__all__ = ["Certificates"]


class Certificates:
    """The certificates of one server: its own authority's, or what it is given.

    ``server`` is what it shows instead of a certificate of its own authority, with those of authorities behind it.
    ``clients`` are further authorities, as PEM, whose certificates tell who a client is. ``authority`` is its own, for
    one that is kept.
    """

    def __init__(
        self, *, authority: Authority | None = None, server: KeyPair | None = None, clients: bytes = b""
    ) -> None:
        self.authority: Authority = authority or Authority()
        """The server's own authority."""
        self._server = server
        self._clients = clients

    @property
    def believed(self) -> bytes:
        """The authorities of clients, for others who check their certificates too."""
        return self._clients or self.authority.certificate

    @property
    def shown(self) -> bytes:
        """What a client has to believe in order to believe the server."""
        return self._server.certificate if self._server is not None else self.authority.certificate

    @property
    def accepted(self) -> bytes:
        """The authorities whose certificates tell who a client is: the server's own, and those that were given."""
        return self.authority.certificate + b"\n" + self._clients

    def context(self, hosts: Sequence[str], proxies: bytes = b"") -> ssl.SSLContext:
        """TLS for a server at these names, which takes, but does not demand, certificates from its clients.

        ``proxies`` are authorities of proxies, whose certificates it takes too.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=(self.accepted + b"\n" + proxies).decode())
        pair = self._server or self.authority.issue_server(hosts)
        # Python loads keys from files only; this one is readable by its owner alone and gone at once.
        with tempfile.NamedTemporaryFile(prefix="kubewright-apiserver-") as file:
            file.write(pair.certificate + b"\n" + pair.key)
            file.flush()
            context.load_cert_chain(Path(file.name))
        return context

"""``FrontProxy``: a proxy in front of the server, which has looked who asks and says so in headers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from urllib.parse import unquote

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from kubewright_apiserver.access.user import User

__all__ = ["FrontProxy", "is_issued_by"]

Headers = Sequence[tuple[str, str]]


class FrontProxy:
    """Believes the headers of those who show a certificate of the proxies' authority.

    ``authority`` is that one's certificate as PEM; ``allowed_names`` are the common names of proxies, all if there are
    none. The others name the headers: of the user's name, uid and groups, and beginnings of those of anything else.
    """

    def __init__(
        self,
        authority: bytes,
        *,
        allowed_names: Sequence[str] = (),
        name_headers: Sequence[str] = (),
        uid_headers: Sequence[str] = (),
        group_headers: Sequence[str] = (),
        extra_prefixes: Sequence[str] = (),
    ) -> None:
        self.authority: bytes = authority
        self._allowed_names = list(allowed_names)
        self._name_headers = list(name_headers)
        self._uid_headers = list(uid_headers)
        self._group_headers = list(group_headers)
        self._extra_prefixes = list(extra_prefixes)

    def user_of(self, headers: Headers, certificate: bytes | None) -> User | None:
        """Whom a proxy with this certificate (DER) names in the headers; None if it is no proxy's, or names nobody."""
        if certificate is None or not is_issued_by(certificate, self.authority) or not self._is_allowed(certificate):
            return None
        name = next(_values(headers, self._name_headers), "")
        if not name:
            return None
        user = User(
            name=name,
            groups=tuple(_values(headers, self._group_headers)),
            uid=next(_values(headers, self._uid_headers), ""),
            extra={key: tuple(values) for key, values in self._extra(headers).items()},
        )
        return user.known()

    def _is_allowed(self, certificate: bytes) -> bool:
        if not self._allowed_names:
            return True
        names = x509.load_der_x509_certificate(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return bool(names) and names[-1].value in self._allowed_names

    def _extra(self, headers: Headers) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for prefix in self._extra_prefixes:
            for name, value in headers:
                if name.lower().startswith(prefix.lower()):
                    found.setdefault(unquote(name[len(prefix) :]).lower(), []).append(value)
        return found

    @cached_property
    def told(self) -> dict[str, str]:
        """What others who have to believe the same proxies find in the cluster."""
        lists = {
            "requestheader-allowed-names": self._allowed_names,
            "requestheader-extra-headers-prefix": self._extra_prefixes,
            "requestheader-group-headers": self._group_headers,
            "requestheader-username-headers": self._name_headers,
            **({"requestheader-uid-headers": self._uid_headers} if self._uid_headers else {}),
        }
        written = {name: json.dumps(values, separators=(",", ":")) for name, values in lists.items()}
        return {**written, "requestheader-client-ca-file": self.authority.decode()}


def _values(headers: Headers, wanted: Sequence[str]) -> Iterator[str]:
    for name in wanted:
        yield from (value for given, value in headers if value and given.lower() == name.lower())


@lru_cache(maxsize=1024)
def is_issued_by(certificate: bytes, authorities: bytes) -> bool:
    """Whether one of the authorities (PEM) has itself issued a certificate (DER)."""
    leaf = x509.load_der_x509_certificate(certificate)
    for authority in x509.load_pem_x509_certificates(authorities):
        try:
            leaf.verify_directly_issued_by(authority)
        except (InvalidSignature, TypeError, ValueError):
            continue
        return True
    return False

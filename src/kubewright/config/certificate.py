"""What can be told from PEM certificates without a cryptography library; TLS set-up and exec plugins ask it."""

from __future__ import annotations

import binascii
import re
import ssl
from datetime import UTC, datetime
from typing import Final

__all__ = ["certificates_in", "expiry_of"]

_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----\s+[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----")
_SEQUENCE, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_FIELDS_BEFORE_VALIDITY: Final = 3
"""Serial number, signature algorithm and issuer (RFC 5280, 4.1)."""


def certificates_in(pem: bytes) -> list[str]:
    """The certificates of a PEM file, one text each, without the comments and keys between them."""
    return [found.decode("ascii") for found in _CERTIFICATE.findall(pem)]


def expiry_of(pem: bytes) -> datetime | None:
    """When the first certificate in ``pem`` expires, or None if there is none that can be read."""
    found = certificates_in(pem)
    if not found:
        return None
    try:
        return _not_after(ssl.PEM_cert_to_DER_cert(found[0]))
    except (ValueError, IndexError, binascii.Error):
        return None


def _not_after(der: bytes) -> datetime:
    to_be_signed = _contents(_contents(der))
    rest = to_be_signed if to_be_signed[0] != _VERSION else _split(to_be_signed)[2]
    for _ in range(_FIELDS_BEFORE_VALIDITY):
        rest = _split(rest)[2]
    not_before_and_after = _contents(rest)
    tag, text, _ = _split(_split(not_before_and_after)[2])
    return _time(tag, text.decode("ascii"))


def _time(tag: int, text: str) -> datetime:
    if tag == _GENERALIZED_TIME:
        return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    if tag != _UTC_TIME:
        raise ValueError("not a time")
    # RFC 5280 puts the two-digit years 50 to 99 into the last century; strptime would begin it at 69.
    century = "19" if text[:2] >= "50" else "20"
    return datetime.strptime(century + text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)


def _contents(der: bytes) -> bytes:
    tag, contents, _ = _split(der)
    if tag != _SEQUENCE:
        raise ValueError("not a sequence")
    return contents


def _split(der: bytes) -> tuple[int, bytes, bytes]:
    """Tag and contents of the first DER element, and the bytes after it."""
    tag, length, start = der[0], der[1], 2
    if length & 0x80:
        start = 2 + (length & 0x7F)
        length = int.from_bytes(der[2:start], "big")
    if start + length > len(der):
        raise ValueError("cut short")
    return tag, der[start : start + length], der[start + length :]

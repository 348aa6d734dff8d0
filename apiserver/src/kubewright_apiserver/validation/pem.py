"""PEM: the blocks of certificates and keys in a text."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

__all__ = ["pem_blocks"]

_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s*(.*?)-----END \1-----", re.DOTALL)


def pem_blocks(text: bytes) -> list[tuple[str, bytes | None]]:
    """The PEM blocks in a text: their types and what is in them, None for one with headers."""
    found: list[tuple[str, bytes | None]] = []
    for kind, body in _BLOCK.findall(text):
        if b":" in body:
            found.append((kind.decode(), None))
            continue
        try:
            found.append((kind.decode(), base64.b64decode(re.sub(rb"\s", b"", body), validate=True)))
        except binascii.Error:
            continue
    return found

"""Which images are pulled always: those whose tag is ``latest``, said or meant."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["pull_policy"]

_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_DIGEST: Final = r"sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}"
_REFERENCE: Final = re.compile(
    rf"(?:{_HOST}/)(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?\Z",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}\Z")


@lru_cache(maxsize=4096)
def pull_policy(image: str) -> str:
    """``Always`` for an image tagged latest, or neither tagged nor digested; ``IfNotPresent`` for all else.

    A reference that cannot be read is not ``latest``: validation has the word on it.
    """
    found = _REFERENCE.match(_normalised(image))
    if found is None or _IDENTIFIER.match(image) or len(found["path"]) > 255:
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _normalised(image: str) -> str:
    first, slash, rest = image.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first or first != first.lower()):
        domain, remainder = first, rest
        if domain == "index.docker.io":
            domain = "docker.io"
    else:
        domain, remainder = "docker.io", image
    if domain == "docker.io" and "/" not in remainder:
        remainder = f"library/{remainder}"
    return f"{domain}/{remainder}"

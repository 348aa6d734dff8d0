"""Parameters in URLs, read as Go reads them: what is malformed is passed over."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_plus

__all__ = ["BAD_ESCAPE", "read_query"]

BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
"""A percent sign that escapes nothing."""

_MOST: Final = 10_000


def read_query(text: str) -> dict[str, list[str]]:
    """The parameters of a query with their values in order, empty ones too.

    A pair with a semicolon or a bad escape is left out; of more than 10,000 pairs none is read.
    """
    found: dict[str, list[str]] = {}
    if text.count("&") >= _MOST:
        return found
    for pair in text.split("&"):
        if not pair or ";" in pair or ("%" in pair and BAD_ESCAPE.search(pair)):
            continue
        name, _, value = pair.partition("=")
        if "%" in pair or "+" in pair:
            name, value = unquote_plus(name), unquote_plus(value)
        found.setdefault(name, []).append(value)
    return found

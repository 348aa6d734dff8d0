"""Addresses of servers and proxies: their parts if they are whole, and their form for messages."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

__all__ = ["parts_of", "redacted"]


def parts_of(url: str) -> SplitResult | None:
    """The parts of a URL that names a host and, perhaps, a port; None for any other text."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def redacted(url: str) -> str:
    """The URL for messages and logs, without user name, password and query."""
    try:
        return _shown(urlsplit(url))
    except ValueError:
        return "…"


def _shown(parts: SplitResult) -> str:
    # A port that is no number (which raises here), or a late @, may mean a password that is not in its place.
    if parts.port == 0 or "@" in parts.path:
        return "…"
    host = parts.netloc.rpartition("@")[2]
    user = "…@" if "@" in parts.netloc else ""
    return f"{parts.scheme}{'://' if parts.scheme else ''}{user}{host}{parts.path}"

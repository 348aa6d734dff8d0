"""Where the embedded server differs from the real one on purpose or for now, each case with the reason."""

from __future__ import annotations

DIFFERENCES: dict[str, str] = {}

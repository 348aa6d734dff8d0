"""Warnings as headers: as many and as long as kube-apiserver lets them be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["warning_headers"]

_MOST_IN_ALL: Final = 4096
_MOST_IN_ONE: Final = 256
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def warning_headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """A header for each text, once; texts with control characters are left out.

    If all together have more than 4,096 letters, each is cut to 256, and nothing is added to 4,096 of those.
    """
    kept: list[str] = []
    told: list[str] = []
    written = 0
    is_cutting = False
    for text in dict.fromkeys(filter(None, texts)):
        if is_cutting and written >= _MOST_IN_ALL:
            break
        told.append(text)
        fitting = text[:_MOST_IN_ONE] if is_cutting else text
        if _CONTROL.search(fitting):
            continue
        if not is_cutting and written + len(fitting) > _MOST_IN_ALL:
            is_cutting = True
            kept = [cut for cut in (earlier[:_MOST_IN_ONE] for earlier in told) if not _CONTROL.search(cut)]
            written = sum(map(len, kept))
            continue
        kept.append(fitting)
        written += len(fitting)
    return [("Warning", f"299 - {_quoted(text)}") for text in kept]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

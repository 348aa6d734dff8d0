"""A periodic relist: does the cache hold what the server holds? What it does not is repaired and counted as drift."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, Final, TypeAlias

from kubewright.api import Key
from kubewright.cache.entry import Entry, is_older
from kubewright.cache.reflector import Reflector

__all__ = ["Repair", "relist_forever"]

_log = logging.getLogger("kubewright.cache")

_PATIENCE: Final = 120
"""Seconds until a watch must have passed the list's revision; servers send bookmarks about once a minute."""

Repair: TypeAlias = Callable[[list[Entry], str, Collection[Key]], None]
"""Takes all objects, their revision, and the keys that the watch has told to be gone meanwhile."""


async def relist_forever(reflector: Reflector[Any], repair: Repair, *, every: timedelta, dice: random.Random) -> None:
    """List what the reflector watches again and again, and hand it to ``repair`` once the watch is as far."""
    while True:
        await asyncio.sleep(every.total_seconds() * dice.uniform(0.8, 1.0))
        if not reflector.synced.is_set():
            continue
        reflector.buried = set()
        try:
            await _relist(reflector, repair)
        except Exception as error:
            _log.warning("a relist failed: %s; the next is in %s", error, every)
        finally:
            reflector.buried = None


async def _relist(reflector: Reflector[Any], repair: Repair) -> None:
    lists = reflector.lists
    pages = await reflector.listing().raw_whole()
    entries = [reflector.read(bytes(raw)) for page in pages for raw in page.items or ()]
    revision = pages[-1].metadata.resource_version
    for _ in range(_PATIENCE):
        if reflector.lists != lists:
            return  # The watch had to begin anew meanwhile, and that list is the later one.
        if reflector.revision and not is_older(reflector.revision, revision):
            repair([entry for entry in entries if entry is not None], revision, reflector.buried or ())
            return
        await asyncio.sleep(1)

"""Compaction by the clock, as kube-apiserver does it to etcd; run beside the server."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Final

from kubewright_apiserver.store.errors import Closed
from kubewright_apiserver.store.store import Store

__all__ = ["COMPACTION_INTERVAL", "compact_periodically"]

COMPACTION_INTERVAL: Final = timedelta(minutes=5)
"""Kubernetes' own interval."""


async def compact_periodically(store: Store, interval: timedelta = COMPACTION_INTERVAL) -> None:
    """Compact at every interval to where the store was one interval earlier; return when the store is closed.

    Raises: `StoreFailed` once the store has failed.
    """
    earlier = store.rev
    while True:
        await asyncio.sleep(interval.total_seconds())
        try:
            store.compact(min(earlier, store.rev))
        except Closed:
            return
        earlier = store.rev

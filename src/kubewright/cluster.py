"""``Cluster``: one API server as controllers see it: a client, a cache that its writes are seen in, a recorder."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kubewright.cache import Cache
from kubewright.client import Client
from kubewright.metrics import Registry
from kubewright.recorder import Recorder

__all__ = ["Cluster"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What an operator has of one API server. ``Cluster.of`` makes it from a client.

    ``client`` writes through the cache (what was written is read at once), ``operator`` is the name under which
    fields are owned and Events are told.
    """

    operator: str
    client: Client
    cache: Cache
    recorder: Recorder
    metrics: Registry
    dice: random.Random

    @classmethod
    @asynccontextmanager
    async def of(
        cls,
        client: Client,
        *,
        operator: str = "kubewright",
        instance: str = "",
        metrics: Registry | None = None,
        dice: random.Random | None = None,
        cache: Cache | None = None,
    ) -> AsyncIterator[Cluster]:
        """A cluster whose cache and recorder run inside the block."""
        metrics, dice = metrics or Registry(), dice or random.Random()
        cache = cache or Cache(client, metrics=metrics, dice=dice, keep_managers=f"{operator}/")
        async with cache, Recorder(client, component=operator, instance=instance, metrics=metrics) as recorder:
            yield cls(
                operator=operator,
                client=client.intercepted(cache.observe),
                cache=cache,
                recorder=recorder,
                metrics=metrics,
                dice=dice,
            )

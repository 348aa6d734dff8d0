"""``running``: an operator on an API server of its own, in this process, for one test."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kubewright.api import Resource
from kubewright.client import Client, InProcessTransport, Interceptor
from kubewright.operator import Operator, RunningOperator, install_crds
from kubewright.testing.embedded import embedded_server

if TYPE_CHECKING:
    from kubewright_apiserver import ApiServer

__all__ = ["EmbeddedCluster", "running"]

R = TypeVar("R", bound=Resource)

_READY: Final = timedelta(seconds=30)


class EmbeddedCluster:
    """What a test has: a client of its own, the server, and the operator that runs on it."""

    def __init__(self, client: Client, server: ApiServer, operator: RunningOperator) -> None:
        self.client: Client = client
        """The test's client, as another person than the operator."""
        self.server: ApiServer = server
        self.operator: RunningOperator = operator

    async def wait_until(
        self,
        kind: type[R],
        name: str,
        predicate: Callable[[R], bool],
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=60),
    ) -> R:
        """The object as soon as ``predicate`` holds for it; see ``Client.wait_until``."""
        return await self.client.wait_until(kind, name, predicate, namespace=namespace, within=within)

    async def wait_gone(
        self,
        kind: type[R],
        name: str,
        *,
        namespace: str | None = None,
        within: timedelta = timedelta(seconds=60),
    ) -> None:
        """Return when there is no such object; see ``Client.wait_gone``."""
        await self.client.wait_gone(kind, name, namespace=namespace, within=within)


@asynccontextmanager
async def running(
    operator: Operator,
    *,
    server: ApiServer | None = None,
    seed: int = 0,
    manifests: Sequence[str | Path] = (),
    interceptors: Sequence[Interceptor] = (),
    identity: str | None = None,
) -> AsyncIterator[EmbeddedCluster]:
    """The operator at work on an API server in this process, with its CRDs installed.

    >>> @virtual_time()
    ... async def test_a_card_follows_its_greeting() -> None:
    ...     async with running(operator) as cluster:
    ...         await cluster.client.create(greeting)
    ...         await cluster.wait_until(ConfigMap, "hello", lambda card: card.data["text"] == "hi")

    ``server``: one that runs already. ``interceptors`` stand around the operator's requests only, for faults.
    ``identity`` lets it take part in leader election.
    """
    if server is None:
        async with (
            embedded_server(seed=seed, manifests=manifests) as made,
            running(operator, server=made, seed=seed, interceptors=interceptors, identity=identity) as cluster,
        ):
            yield cluster
        return
    outside = Client(transport=InProcessTransport(server.handle), dice=random.Random(f"{seed}/test"))
    inside = Client(
        transport=InProcessTransport(server.handle),
        interceptors=interceptors,
        dice=random.Random(f"{seed}/client"),
    )
    async with outside, inside:
        await install_crds(outside.using(field_manager="kubectl"), operator)
        dice = random.Random(f"{seed}/operator")
        async with operator.running(inside, identity=identity, dice=dice) as at_work:
            # A kind that nobody serves, as a test may want it, is not waited for.
            with suppress(TimeoutError):
                async with asyncio.timeout(_READY.total_seconds()):
                    await at_work.wait_ready()
            yield EmbeddedCluster(outside, server, at_work)

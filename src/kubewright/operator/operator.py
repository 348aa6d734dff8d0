"""``Operator``: controllers and what they need to live, as one value that can be run."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kubewright.client import Client
from kubewright.metrics import Registry
from kubewright.operator.blueprint import Blueprint
from kubewright.operator.running import RunningOperator, Terms

if TYPE_CHECKING:
    from kubewright.operator.settings import Settings

__all__ = ["Operator"]


class Operator(Blueprint):
    """An operator: its controllers, and what else lives with them. Nothing happens until it is run.

    >>> operator = Operator("greeter", [Controller(Greeting, reconcile, owns=[ConfigMap])])
    >>> operator.run()                                  # owns the process: signals, logs, metrics, leader election
    >>> async with operator.running(client): ...        # inside your own program or test

    ``namespaces``: where it looks (everywhere if None). ``cached``: per kind, what of it is cached. ``background``:
    coroutines beside the controllers. ``lifespan``: resources, opened in order before the first reconcile and closed
    in reverse after the last. ``rules``: permissions that its reconciles need beyond what the controllers tell.
    ``requires``: kinds of which there must be an object, or it has nothing to do and is not ready.
    """

    @asynccontextmanager
    async def running(
        self,
        client: Client,
        *,
        identity: str | None = None,
        lease_namespace: str | None = None,
        metrics: Registry | None = None,
        dice: random.Random | None = None,
    ) -> AsyncIterator[RunningOperator]:
        """Run inside the block, on a client of yours; at its end reconciles finish within ``grace``.

        With an ``identity`` it takes part in leader election under that name, and works only while it leads. Nothing
        global is touched: no signals, no log handlers, no sockets but the client's.
        """
        terms = Terms(identity=identity, lease_namespace=lease_namespace or client.namespace)
        running = RunningOperator(self, client, terms, metrics or Registry(), dice or random.Random())
        async with running:
            yield running

    def run(self, settings: Settings | None = None) -> None:
        """Run until a signal ends it; owns the process: signals, logs, metrics and health over HTTP, the event loop.

        ``settings`` come from the environment and the command line if not given.
        """
        from kubewright.operator.process import run

        run(self, settings)

    def __repr__(self) -> str:
        return f"<Operator {self.name} with {len(self.controllers)} controllers>"

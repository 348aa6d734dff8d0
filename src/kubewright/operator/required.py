"""``Required``: an object without which an operator has nothing to do, and how people make it."""

from __future__ import annotations

import asyncio
import logging

from kubewright.api import Resource
from kubewright.cache import Cache

__all__ = ["Required"]

_log = logging.getLogger("kubewright.operator")


class Required:
    """A kind of which there must be an object; until there is, the operator is not ready, and says how to make it.

    >>> Operator("nginx", controllers, requires=[Required(NginxOperator, create="kubectl apply -f sample.yaml")])

    It is told in one line of the log when there is none, and in one when there is again; never in a loop.
    """

    def __init__(self, kind: type[Resource], *, create: str) -> None:
        self.kind: type[Resource] = kind
        self.create: str = create

    @property
    def name(self) -> str:
        """What readiness calls it."""
        return f"required-{self.kind.api_resource.group_resource}"

    def problem(self, cache: Cache) -> str:
        """Empty if all is well, else what is missing and how to make it."""
        informer = cache.informer(self.kind)
        if not informer.synced or len(informer):
            return ""
        return f"there is no {self.kind.api_resource.kind}; create one: {self.create}"

    async def watch(self, cache: Cache) -> None:
        """Tell in the log when there is none, and when there is one again."""
        changed = asyncio.Event()
        informer = cache.informer(self.kind)
        handler = informer.add_handler(lambda _: changed.set())
        is_told = False
        try:
            await informer.wait_synced()
            while True:
                problem = self.problem(cache)
                if problem and not is_told:
                    _log.warning("%s", problem)
                elif is_told and not problem:
                    _log.info("there is a %s now", self.kind.api_resource.kind)
                is_told = bool(problem)
                changed.clear()
                await changed.wait()
        finally:
            handler.remove()

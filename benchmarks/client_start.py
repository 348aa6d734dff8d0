"""What does it cost from nothing to the first pod in hand?"""

from __future__ import annotations

from benchmarks import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.clients import Client
    from benchmarks.measure import Contender, Meter

QUESTION = "What does it cost to import a client, connect and get a first pod?"
YARDSTICK = "aiohttp, untyped"
GOALS: dict[str, dict[str, float]] = {}
UNIT, SCALE = "ms", 1e3
SIZE = QUICK_SIZE = 1


def _starting(client: Client) -> Contender:
    async def first_pod() -> None:
        async with client() as (get, _):
            await get("pod-00000")

    def measured(meter: Meter) -> int:
        with meter:
            import asyncio

            asyncio.run(first_pod())
        return 1

    return measured


CONTENDERS = {
    "aiohttp, untyped": _starting(clients.aiohttp_untyped),
    "kubewright": _starting(clients.kubewright),
    "kubewright, Unstructured": _starting(clients.kubewright_untyped),
    "lightkube": _starting(clients.lightkube),
    "kr8s": _starting(clients.kr8s),
    "kubernetes": _starting(clients.kubernetes),
    "kubernetes-asyncio": _starting(clients.kubernetes_asyncio),
}

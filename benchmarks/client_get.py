"""What does one get cost?"""

from __future__ import annotations

from benchmarks import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.clients import Client
    from benchmarks.measure import Contender, Meter

QUESTION = "What does it cost to get one pod of 5 KB, {size:,} times in a row?"
YARDSTICK = "aiohttp, typed"
GOALS = {"kubewright": {"cpu": 1.3}}
UNIT, SCALE = "µs per get", 1e6
SIZE, QUICK_SIZE = 2_000, 20


def _getting(client: Client) -> Contender:
    async def measured(meter: Meter) -> int:
        async with client() as (get, _):
            await get("pod-00000")
            with meter:
                for _ in range(meter.size):
                    await get("pod-00000")
        return meter.size

    return measured


CONTENDERS = {
    "aiohttp, typed": _getting(clients.aiohttp_typed),
    "aiohttp, untyped": _getting(clients.aiohttp_untyped),
    "kubewright": _getting(clients.kubewright),
    "kubewright, Unstructured": _getting(clients.kubewright_untyped),
    "lightkube": _getting(clients.lightkube),
    "kr8s": _getting(clients.kr8s),
    "kubernetes": _getting(clients.kubernetes),
    "kubernetes-asyncio": _getting(clients.kubernetes_asyncio),
}

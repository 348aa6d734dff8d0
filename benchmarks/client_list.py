"""What does a long list cost?"""

from __future__ import annotations

from benchmarks import clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.clients import Client
    from benchmarks.measure import Contender, Meter

QUESTION = "What does it cost to list {size:,} pods of 5 KB?"
YARDSTICK = "aiohttp, untyped"
GOALS = {"kubewright": {"cpu": 1.5}}
UNIT, SCALE = "µs per pod", 1e6
SIZE, QUICK_SIZE = 10_000, 100


def _listing(client: Client) -> Contender:
    async def measured(meter: Meter) -> int:
        async with client() as (get, list_pods):
            # What happens once in a process (imports, discovery, a connection) is client_start's question.
            await get("pod-00000")
            with meter:
                pods = await list_pods()
        return len(pods)

    return measured


CONTENDERS = {
    "aiohttp, untyped": _listing(clients.aiohttp_untyped),
    "kubewright": _listing(clients.kubewright),
    "kubewright, page_size=0": _listing(clients.kubewright_whole),
    "kubewright, Unstructured": _listing(clients.kubewright_untyped),
    "lightkube": _listing(clients.lightkube),
    "kr8s": _listing(clients.kr8s),
    "kubernetes": _listing(clients.kubernetes),
    "kubernetes-asyncio": _listing(clients.kubernetes_asyncio),
}

"""What does importing cost?"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from benchmarks.measure import Contender, Meter

QUESTION = "What does importing the client cost?"
YARDSTICK = "aiohttp"
GOALS = {"kubewright": {"cpu": 1.25, "memory": 1.25}}
UNIT, SCALE = "ms", 1e3
SIZE = QUICK_SIZE = 1


def _importing(*modules: str) -> Contender:
    def measured(meter: Meter) -> int:
        with meter:
            for module in modules:
                __import__(module)
        return 1

    return measured


CONTENDERS = {
    "aiohttp": _importing("aiohttp"),
    "kubewright": _importing("kubewright"),
    "kubewright and aiohttp": _importing("kubewright", "aiohttp"),
    "kubewright and its Pod": _importing("kubewright", "kubewright.kinds.core_v1"),
    "lightkube": _importing("lightkube"),
    "lightkube and its Pod": _importing("lightkube", "lightkube.resources.core_v1"),
    "kr8s": _importing("kr8s"),
    "kubernetes": _importing("kubernetes"),
    "kubernetes-asyncio": _importing("kubernetes_asyncio"),
}

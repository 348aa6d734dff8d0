"""§7 Random operations of three field managers: the same objects, managedFields, refusals and events on both servers.

Each seed is a case; what the real server answered to its operations is recorded like any other.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, config_map, deployment

pytestmark = pytest.mark.section("7")

MANAGERS = ("one", "two", "three")
KEYS = ("a", "b", "c")
SIDECARS = ({"name": "x", "image": "x:1"}, {"name": "y", "image": "y:1", "args": ["-v"]})


class Walk:
    """One random walk through the operations."""

    def __init__(self, api: Api, seed: int) -> None:
        self._api = api
        self._dice = random.Random(seed)

    async def step(self) -> None:
        """One operation of one manager, on one of two objects."""
        manager = self._dice.choice(MANAGERS)
        act = self._dice.choice((self._apply_map, self._patch_map, self._put_map, self._apply_deployment, self._scale))
        await act(manager)
        if self._dice.random() < 0.08:
            await self._api.delete(MAPS + "/m")

    def _data(self) -> dict[str, str]:
        return {key: self._dice.choice("123") for key in KEYS if self._dice.random() < 0.6}

    def _force(self) -> dict[str, str]:
        return {"force": "true"} if self._dice.random() < 0.4 else {}

    async def _apply(self, path: str, body: Any, manager: str) -> None:
        await self._api.patch(path, body, type="apply", query={"fieldManager": manager, **self._force()})

    async def _apply_map(self, manager: str) -> None:
        labels = {key: "l" for key in KEYS if self._dice.random() < 0.3}
        await self._apply(MAPS + "/m", config_map("m", labels, **self._data()), manager)

    async def _patch_map(self, manager: str) -> None:
        data = {key: self._dice.choice(["1", "2", None]) for key in KEYS if self._dice.random() < 0.5}
        await self._api.patch(MAPS + "/m", {"data": data}, query={"fieldManager": manager})

    async def _put_map(self, manager: str) -> None:
        await self._api.put(MAPS + "/m", config_map("m", None, **self._data()), query={"fieldManager": manager})

    async def _apply_deployment(self, manager: str) -> None:
        intent = deployment("d", **({"replicas": self._dice.randint(1, 3)} if self._dice.random() < 0.5 else {}))
        containers = intent["spec"]["template"]["spec"]["containers"]
        containers += [dict(sidecar) for sidecar in SIDECARS if self._dice.random() < 0.4]
        await self._apply(DEPLOYMENTS + "/d", intent, manager)

    async def _scale(self, manager: str) -> None:
        patch = {"spec": {"replicas": self._dice.randint(1, 3)}}
        await self._api.patch(DEPLOYMENTS + "/d/scale", patch, query={"fieldManager": manager})


@pytest.mark.parametrize("seed", range(12))
async def test_a_random_walk(api: Api, seed: int):
    api.is_timed = False
    with api.unrecorded():
        start = (await api.get(MAPS)).body["metadata"]["resourceVersion"]
    walk = Walk(api, seed)

    for _ in range(14):
        await walk.step()

    await api.get(DEPLOYMENTS + "/d")
    await api.watch(MAPS, resourceVersion=start)

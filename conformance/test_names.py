"""Names of custom resources that more than one definition of a group asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.exchange import Answer, Api
from conformance.objects import CRDS, crd

pytestmark = pytest.mark.section("1.11")

Condition = tuple[str, str]


class Group:
    """The definitions of a case, in a group of their own."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.name = f"{api.namespace}.example.com"

    def definition(self, plural: str, **names: Any) -> dict[str, Any]:
        made = crd(plural, self.name)
        made["spec"]["names"] |= names
        return made

    async def create(self, plural: str, until: Condition, **names: Any) -> None:
        await self._api.post(CRDS, self.definition(plural, **names))
        await self.reached(plural, until)

    async def reached(self, plural: str, until: Condition) -> None:
        """Wait for a condition of a definition, and ask for it then."""
        await self._wait(plural, lambda answer: until in conditions(answer))
        await self._api.get(f"{CRDS}/{plural}.{self.name}")
        objects = f"/apis/{self.name}/v1/namespaces/{{ns}}/{plural}"
        with self._api.unrecorded():
            while until != NOT_ACCEPTED and (await self._api.get(objects)).status != 200:
                pass
        await self._api.get(objects)

    async def patch(self, plural: str, names: dict[str, Any]) -> None:
        await self._api.patch(f"{CRDS}/{plural}.{self.name}", {"spec": {"names": names}})

    async def delete(self, plural: str) -> None:
        with self._api.unrecorded():
            await self._api.delete(f"{CRDS}/{plural}.{self.name}")
            await self._wait(plural, lambda answer: answer.status == 404)

    async def _wait(self, plural: str, is_reached: Callable[[Answer], bool]) -> None:
        with self._api.unrecorded():
            while not is_reached(await self._api.get(f"{CRDS}/{plural}.{self.name}")):
                pass


def conditions(answer: Answer) -> list[Condition]:
    """Type and reason of the conditions of a definition."""
    found = (answer.body.get("status") or {}).get("conditions") or ()
    return [(condition["type"], condition["reason"]) for condition in found]


ESTABLISHED = ("Established", "InitialNamesAccepted")
NOT_ACCEPTED = ("Established", "NotAccepted")


@pytest.fixture
def group(api: Api) -> Group:
    api.is_timed = False
    return Group(api)


@pytest.mark.parametrize(
    "names",
    [{"kind": "Widget"}, {"listKind": "WidgetList"}, {"singular": "widget"}, {"shortNames": ["wd", "other"]}],
)
async def test_a_name_is_taken_until_its_holder_goes(api: Api, group: Group, names: dict[str, Any]):
    await group.create("widgets", ESTABLISHED, shortNames=["wd"])
    await group.create("gadgets", NOT_ACCEPTED, **names)
    await group.delete("widgets")
    await group.reached("gadgets", ESTABLISHED)


async def test_a_name_is_given_when_its_holder_lets_it_go(api: Api, group: Group):
    await group.create("widgets", ESTABLISHED, shortNames=["wd"])
    await group.create("gadgets", NOT_ACCEPTED, shortNames=["wd"])
    await group.patch("widgets", {"shortNames": ["wid"]})
    await group.reached("gadgets", ESTABLISHED)
    await group.reached("widgets", ("NamesAccepted", "NoConflicts"))


async def test_an_established_definition_wants_a_name_that_is_taken(api: Api, group: Group):
    await group.create("widgets", ESTABLISHED, shortNames=["wd"])
    await group.create("gadgets", ESTABLISHED, shortNames=["gd"])
    await group.patch("gadgets", {"shortNames": ["wd"]})
    await group.reached("gadgets", ("NamesAccepted", "ShortNamesConflict"))
    await group.delete("widgets")
    await group.reached("gadgets", ("NamesAccepted", "NoConflicts"))

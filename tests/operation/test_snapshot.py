"""Reads apart from writes: operations see one frozen snapshot, and are told when they look elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec
import pytest

from kubewright import Context, Metadata
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.operation import Operation, Performed, ReadElsewhere, Writes, perform
from kubewright.testing import running, virtual_time
from tests.controller.sites import Site, operator_of, site


class Seen(msgspec.Struct, frozen=True):
    site: Site
    cards: tuple[str, ...]


def card(name: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name))


class WriteCard(Operation[Seen]):
    def __init__(self, name: str, *, obstacle: str = "", asked: list[str] | None = None) -> None:
        self._card = name
        self._obstacle = obstacle
        self._asked = asked if asked is not None else []

    @property
    def name(self) -> str:
        return f"write {self._card}"

    def should(self, seen: Seen) -> bool:
        self._asked.append(f"should {self._card}")
        return self._card not in seen.cards

    def could(self, seen: Seen) -> str:
        self._asked.append(f"could {self._card}")
        return self._obstacle

    async def operate(self, seen: Seen, writes: Writes) -> None:
        self._asked.append(f"operate {self._card}")
        await writes.apply(card(self._card))


async def performed(operations: Callable[[Context], list[Operation[Seen]]], present: str = "") -> list[Performed]:
    """What became of the operations in the first reconcile of a site; ``present`` is a card that is there before."""
    found: list[Performed] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        cards = tuple(each.name for each in ctx.cache.list(ConfigMap))
        found.append(await perform(Seen(obj, cards), operations(ctx), ctx))

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        if present:
            await cluster.client.create(card(present))
        await cluster.client.create(site())
        await cluster.operator.settle()
    return found


@virtual_time()
async def test_those_operate_that_should_and_could() -> None:
    found = await performed(
        lambda _: [WriteCard("there"), WriteCard("missing"), WriteCard("blocked", obstacle="the shop is shut")],
        present="there",
    )

    assert found[0] == Performed(("write missing",), {"write blocked": "the shop is shut"})


@virtual_time()
async def test_all_are_asked_before_the_first_operates() -> None:
    asked: list[str] = []

    await performed(lambda _: [WriteCard("x", asked=asked), WriteCard("x", asked=asked)])

    assert asked[:6] == ["should x", "could x", "should x", "could x", "operate x", "operate x"]


class Curious(Operation[Seen]):
    """Looks elsewhere, by a context that it was not given."""

    def __init__(self, look: Callable[[], Awaitable[object]] | None = None, glance: Callable[[], object] | None = None):
        self._look = look
        self._glance = glance

    def should(self, seen: Seen) -> bool:
        if self._glance is not None:
            self._glance()
        return True

    async def operate(self, seen: Seen, writes: Writes) -> None:
        if self._look is not None:
            await self._look()


@pytest.mark.parametrize(
    ("operation", "what"),
    [
        (lambda ctx: Curious(glance=lambda: ctx.cache.get(ConfigMap, "a")), "ConfigMap a in the cache"),
        (lambda ctx: Curious(glance=lambda: ctx.owned(ConfigMap)), "ConfigMap objects in the cache"),
        (lambda ctx: Curious(look=lambda: ctx.client.list(ConfigMap)), "the server (list)"),
    ],
)
@virtual_time()
async def test_an_operation_that_reads_elsewhere_is_told_so(
    operation: Callable[[Context], Operation[Seen]], what: str
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        await performed(lambda ctx: [operation(ctx)])

    told = [warning for warning in caught if warning.category is ReadElsewhere]
    assert str(told[0].message) == (
        f"operation Curious reads {what} beside the snapshot; observe it before, with everything else"
    )


@virtual_time()
async def test_reads_before_and_after_the_operations_are_fine() -> None:
    async def reconcile(obj: Site, ctx: Context) -> None:
        ctx.owned(ConfigMap)
        await perform(Seen(obj, ()), [WriteCard("x")], ctx)
        assert [each.name for each in ctx.owned(ConfigMap)] == ["x"]
        await ctx.client.list(ConfigMap)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
            await cluster.client.create(site())
            await cluster.wait_until(ConfigMap, "x", lambda _: True)
            await cluster.operator.settle()

    assert [warning for warning in caught if warning.category is ReadElsewhere] == []


class Loose(msgspec.Struct):
    size: int = 0


@dataclass
class LooseToo:
    size: int = 0


@dataclass(frozen=True)
class Tight:
    size: int = 0


@pytest.mark.parametrize("snapshot", [Loose(), LooseToo(), {"size": 0}, [0]])
@virtual_time()
async def test_a_snapshot_that_is_not_frozen_is_refused(snapshot: object) -> None:
    refusals: list[str] = []

    async def reconcile(obj: Site, ctx: Context) -> None:
        await perform(Tight(), [], ctx)
        with pytest.raises(TypeError) as refusal:
            await perform(snapshot, [], ctx)
        refusals.append(str(refusal.value))

    async with running(operator_of(reconcile, owns=[ConfigMap])) as cluster:
        await cluster.client.create(site())
        await cluster.operator.settle()

    assert refusals[0] == (
        f"{type(snapshot).__name__} is no snapshot: make it a msgspec.Struct or dataclass with frozen=True"
    )

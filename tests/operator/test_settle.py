"""An operator is settled when nothing follows from anything any more."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright import Context, Controller, Metadata, Operator
from kubewright.cluster import Cluster
from kubewright.errors import WaitTimeout
from kubewright.kinds.core_v1 import ConfigMap, Secret
from kubewright.operator import Background
from kubewright.testing import elapse, running, virtual_time


async def copy_to_secret(config: ConfigMap, ctx: Context) -> timedelta | None:
    """Slowly, as if it asked somebody far away."""
    await elapse(timedelta(seconds=5))
    await ctx.apply(Secret(metadata=Metadata(name=config.name), string_data=dict(config.data)))
    return timedelta(hours=1)


async def note_secret(secret: Secret, ctx: Context) -> None:
    if "seen" not in secret.metadata.labels:
        secret.metadata.labels["seen"] = "yes"
        await ctx.client.update(secret)


def chain() -> Operator:
    first = Controller(ConfigMap, copy_to_secret, owns=[Secret], ready_condition=None)
    return Operator("chain", [first, Controller(Secret, note_secret, ready_condition=None)])


@virtual_time()
async def test_an_operator_is_settled_when_all_that_follows_from_a_change_is_done() -> None:
    async with running(chain()) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="a"), data={"k": "v"}))

        await cluster.operator.settle(quiet=timedelta(seconds=1))

        assert (await cluster.client.get(Secret, "a")).metadata.labels == {"seen": "yes"}


class Counting:
    """Something in the background that is done with its work after a while."""

    is_busy = True
    rounds = 0

    async def count(self, cluster: Cluster) -> None:
        for _ in range(10):
            await elapse(timedelta(seconds=1))
            self.rounds += 1
        self.is_busy = False


@virtual_time()
async def test_an_operator_is_not_settled_while_a_coroutine_in_its_background_is_busy() -> None:
    counting = Counting()
    operator = Operator("counting", [], background=[Background(counting.count, activity=counting)])
    async with running(operator) as cluster:
        await cluster.operator.settle()

        assert counting.rounds == 10


async def begin_again(config: ConfigMap, ctx: Context) -> timedelta | None:
    return timedelta(milliseconds=10)


@virtual_time()
async def test_an_operator_that_never_rests_is_named_when_time_is_up() -> None:
    busy = Operator("busy", [Controller(ConfigMap, begin_again, name="restless", ready_condition=None)])
    async with running(busy) as cluster:
        await cluster.client.create(ConfigMap(metadata=Metadata(name="a")))

        with pytest.raises(WaitTimeout, match="operator busy is not settled after 0:01:00"):
            await cluster.operator.settle()

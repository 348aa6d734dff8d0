"""Whatever history a server has and however it is told, the cache ends with what the server has, and so do handlers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.cache import Cache
from kubewright.errors import AlreadyExists, NotFound
from kubewright.kinds.core_v1 import ConfigMap
from kubewright.testing import VirtualTime, elapse, virtual_time, wait_idle
from tests.cache.objects import config
from tests.cache.wire import Cluster, Log, Wire, cluster, held, refusal

NAMES = st.sampled_from("abc")
RELIST = timedelta(minutes=10)

writes = st.one_of(
    st.tuples(st.just("create"), NAMES), st.tuples(st.just("update"), NAMES), st.tuples(st.just("delete"), NAMES)
)
pauses = st.tuples(st.just("elapse"), st.sampled_from([0, 1, 70, 200, 400]))
faults = st.tuples(
    st.sampled_from(["lose", "heal", "cut", "stall", "double", "repeat", "forget", "reset", "refuse"]), st.none()
)


async def step(made: Cluster, what: str, how: Any) -> None:
    if what in ("create", "update", "delete"):
        await write(made, what, how)
    elif what == "elapse":
        await elapse(timedelta(seconds=how))
    elif what == "reset":
        made.reset()
    elif what == "heal":
        heal(made)
    else:
        disturb(made.wire, what)


def disturb(wire: Wire, how: str) -> None:
    match how:
        case "lose":
            wire.loses = lambda event: event["type"] != "BOOKMARK"
        case "cut":
            wire.cuts = 1
        case "stall":
            wire.is_silent = True
        case "double":
            wire.copies = 2
        case "repeat":
            wire.repeats = 2
        case "forget":
            wire.cuts = 1
            wire.watch_answers.append(refusal(410, "Expired"))
        case "refuse":
            wire.watch_answers.append(refusal(403, "Forbidden"))


async def write(made: Cluster, verb: str, name: str) -> bool:
    """Try it; whether it was done."""
    try:
        if verb == "create":
            await made.direct.create(config(name))
        elif verb == "delete":
            await made.direct.delete(ConfigMap, name)
        else:
            await made.direct.modify(ConfigMap, name, lambda found: found.data.update(n=f"{found.data.get('n', '')}x"))
    except (AlreadyExists, NotFound):
        return False
    return True


def heal(made: Cluster) -> None:
    made.wire.loses = lambda event: False
    made.wire.copies = 1
    made.wire.is_silent = False


async def check(steps: list[tuple[str, Any]], relist: timedelta | None) -> None:
    async with cluster() as made:
        cache = Cache(made.client, dice=VirtualTime.current().dice_of("cache"))
        informer = cache.watch(ConfigMap, relist=relist)
        log = Log(informer)
        async with cache:
            for what, how in steps:
                await step(made, what, how)
            heal(made)
            await elapse(3 * (relist or RELIST))

            truth = await made.truth()
            assert held(informer) == truth
            assert log.state == truth
            assert informer.statistics().written == 0


@settings(derandomize=True, max_examples=60, deadline=None)
@given(steps=st.lists(st.one_of(writes, writes, pauses, faults), max_size=25))
@virtual_time()
async def test_with_a_relist_the_cache_ends_with_the_truth_whatever_is_lost(steps: list[tuple[str, Any]]):
    await check(steps, RELIST)


TOLD = ["cut", "stall", "double", "repeat", "forget", "refuse", "heal"]


@settings(derandomize=True, max_examples=40, deadline=None)
@given(steps=st.lists(st.one_of(writes, writes, pauses, st.tuples(st.sampled_from(TOLD), st.none())), max_size=25))
@virtual_time()
async def test_without_a_relist_nothing_but_lost_events_keeps_the_cache_from_the_truth(steps: list[tuple[str, Any]]):
    await check(steps, None)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["mine", "theirs"]), NAMES, st.sampled_from(["create", "update", "delete"])),
            st.tuples(st.sampled_from(["cut", "stall", "heal", "look"]), st.just(""), st.just("")),
        ),
        max_size=25,
    )
)
@virtual_time()
async def test_what_was_written_is_read_whatever_the_watch_does(steps: list[tuple[str, str, str]]):
    """After an own write the cache shows just that object as it is; and in the end the truth."""
    async with cluster() as made:
        cache = Cache(made.client, dice=VirtualTime.current().dice_of("cache"))
        informer = cache.watch(ConfigMap)
        mine = Cluster(made.server, made.wire, made.client, made.client.intercepted(cache.observe))
        async with cache:
            await cache.wait_synced()
            for what, name, verb in steps:
                if what == "mine":
                    if await write(mine, verb, name):
                        truth = await made.truth()
                        assert held(informer).get(f"default/{name}") == truth.get(f"default/{name}")
                elif what == "theirs":
                    await write(made, verb, name)
                elif what == "look":
                    await wait_idle()
                else:
                    await step(made, what, None)
            heal(made)
            await elapse(timedelta(minutes=20))

            assert held(informer) == await made.truth()
            assert informer.statistics().written == 0

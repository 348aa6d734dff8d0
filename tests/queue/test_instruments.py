"""The queue's metrics, by Kubernetes' names."""

from __future__ import annotations

import re
from datetime import timedelta

from kubewright.metrics import Registry
from kubewright.queue import LOW, Backoff, Queue
from kubewright.testing import elapse, virtual_time

SECOND = timedelta(seconds=1)


def sample(registry: Registry, name: str, **labels: str) -> float:
    pairs = ",".join(f'{label}="{value}"' for label, value in {"name": "web", "controller": "web", **labels}.items())
    found = re.search(rf"^{re.escape(f'workqueue_{name}{{{pairs}}}')} (\S+)$", registry.render(), re.MULTILINE)
    assert found, registry.render()
    return float(found[1])


@virtual_time()
async def test_depth_is_shown_by_priority():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    queue.add("a", priority=LOW)
    queue.add("b", priority=LOW)
    queue.add("c")

    assert sample(registry, "depth", priority="-100") == 2
    assert sample(registry, "depth", priority="0") == 1


@virtual_time()
async def test_depth_falls_to_zero_when_a_priority_has_no_more_keys():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    queue.add("a", priority=LOW)
    registry.render()

    await queue.get()

    assert sample(registry, "depth", priority="-100") == 0


@virtual_time()
async def test_many_priorities_share_one_label():
    registry = Registry()
    queue: Queue[int] = Queue("web", metrics=registry)
    for number in range(100):
        queue.add(number, priority=number)

    assert registry.render().count("workqueue_depth{") == 26
    assert sample(registry, "depth", priority="exceeded_cardinality_limit") == 75


@virtual_time()
async def test_adds_count_keys_that_became_ready_and_no_duplicates():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    for key in "aab":
        queue.add(key)
    queue.add_after("c", SECOND)

    assert sample(registry, "adds_total") == 2
    await elapse(SECOND)
    assert sample(registry, "adds_total") == 3


@virtual_time()
async def test_retries_count_what_is_queued_with_a_delay():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry, backoff=Backoff(first=SECOND))
    queue.retry("a")
    queue.retry("a")
    queue.add_after("a", SECOND)

    assert sample(registry, "retries_total") == 2
    queue.close()


@virtual_time()
async def test_the_wait_in_line_is_observed():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    queue.add("a")
    await elapse(3 * SECOND)

    await queue.get()

    assert sample(registry, "queue_duration_seconds_sum") == 3
    assert sample(registry, "queue_duration_seconds_bucket", le="1") == 0
    assert sample(registry, "queue_duration_seconds_bucket", le="10") == 1


@virtual_time()
async def test_the_time_of_the_work_is_observed():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    queue.add("a")
    await queue.get()
    await elapse(3 * SECOND)

    queue.done("a")

    assert sample(registry, "work_duration_seconds_sum") == 3
    assert sample(registry, "work_duration_seconds_count") == 1


@virtual_time()
async def test_work_under_way_is_shown_as_a_sum_and_by_the_oldest():
    registry = Registry()
    queue: Queue[str] = Queue("web", metrics=registry)
    for key in "ab":
        queue.add(key)
        await queue.get()
        await elapse(2 * SECOND)

    assert sample(registry, "unfinished_work_seconds") == 6
    assert sample(registry, "longest_running_processor_seconds") == 4


@virtual_time()
async def test_buckets_are_those_of_kubernetes():
    registry = Registry()
    Queue("web", metrics=registry)

    bounds = re.findall(r'workqueue_work_duration_seconds_bucket{.*le="(.*)"}', registry.render())

    assert bounds[:4] == ["1e-08", "1e-07", "1e-06", "9.999999999999999e-06"]
    assert bounds[-2:] == ["1000", "+Inf"]
    assert len(bounds) == 13


@virtual_time()
async def test_several_queues_share_a_registry():
    registry = Registry()
    queues: list[Queue[str]] = [Queue("web", metrics=registry), Queue("other", metrics=registry)]

    queues[1].add("a")

    assert sample(registry, "adds_total") == 0
    assert 'workqueue_adds_total{name="other",controller="other"} 1\n' in registry.render()


def test_a_queue_that_was_never_used_renders_outside_of_a_loop():
    registry = Registry()
    Queue("web", metrics=registry)

    assert sample(registry, "unfinished_work_seconds") == 0

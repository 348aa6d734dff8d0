"""The order in which ready items are picked."""

from __future__ import annotations

import pytest

from kubewright.queue.line import FAIR_SHARE, Line


def line_of(**priorities: int) -> Line[str]:
    line: Line[str] = Line()
    for item, priority in priorities.items():
        line.join(item, priority)
    return line


def picked(line: Line[str]) -> list[str]:
    items = []
    while line:
        items.append(line.pick())
    return items


def test_higher_priorities_are_picked_first_and_equal_ones_by_arrival():
    line = line_of(a=0, b=-100, c=5, d=0, e=-100)

    assert picked(line) == ["c", "a", "d", "b", "e"]


def test_every_tenth_pick_goes_to_the_lower_one_that_waited_longest():
    line = line_of(middle=0, low=-100)
    for number in range(30):
        line.join(f"high-{number}", 1)

    order = picked(line)

    assert order.index("middle") == FAIR_SHARE - 1
    assert order.index("low") == 2 * FAIR_SHARE - 1


def test_a_low_item_is_picked_in_time_under_an_endless_stream_of_urgent_ones():
    line = line_of(first=-100, second=-100)
    order = []

    for number in range(25):
        line.join(f"urgent-{number}", 0)
        order.append(line.pick())

    assert order.index("first") < FAIR_SHARE
    assert order.index("second") < 2 * FAIR_SHARE


def test_picks_of_a_single_priority_do_not_count_towards_the_fair_share():
    line = line_of(**{f"x{number}": 0 for number in range(FAIR_SHARE)})
    for _ in range(FAIR_SHARE - 1):
        line.pick()

    line.join("low", -100)

    assert line.pick() == "x9"


def test_an_item_that_left_is_not_picked():
    line = line_of(a=0, b=0, c=1)

    line.leave("a", 0)
    line.leave("c", 1)

    assert picked(line) == ["b"]


def test_depths_count_items_by_priority():
    line = line_of(a=0, b=-100, c=0)

    assert line.depths() == {-100: 1, 0: 2}
    assert len(line) == 3


def test_an_empty_line_is_false_and_has_no_depths():
    line = line_of(a=0)
    line.pick()

    assert not line
    assert line.depths() == {}


def test_picking_from_an_empty_line_is_an_error():
    with pytest.raises(IndexError):
        Line[str]().pick()

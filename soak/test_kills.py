"""Servers killed under load, as many as there is time for; ``make soak`` kills more."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.kills import Kills
from soak.ledger import Ledger, Lost, State
from soak.nursery import Nursery


def card(name: str, rev: int, number: int) -> dict[str, object]:
    return {"metadata": {"name": name, "resourceVersion": str(rev)}, "data": {"number": str(number)}}


async def test_nothing_acknowledged_is_lost_when_thirty_servers_are_killed(tmp_path: Path):
    with Nursery(tmp_path) as nursery:
        kills = Kills(nursery, seed=6)

        await kills.run(30)

        assert kills.ends["under load"] == 30
        assert kills.acknowledged > 30


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], r"one was acknowledged as State\(rev=5, number=1\) and is State\(rev=0, number=0\)"),
        ([card("one", 4, 1)], "one was acknowledged as"),
        ([card("one", 5, 1), card("two", 6, 9)], "two was acknowledged as"),
    ],
)
def test_the_ledger_notices_what_is_lost_and_what_nobody_wrote(items, message):
    ledger = Ledger()
    ledger.ask("one", 1)
    ledger.acknowledge("create", "one", State(5, 1))

    with pytest.raises(Lost, match=message):
        ledger.verify(items, 6)


def test_the_ledger_notices_revisions_that_go_back():
    ledger = Ledger()
    ledger.ask("one", 1)
    ledger.acknowledge("create", "one", State(5, 1))

    with pytest.raises(Lost, match="the revision went back from 5 to 4"):
        ledger.verify([card("one", 5, 1)], 4)


def test_the_ledger_notices_that_a_change_is_gone_that_was_shown():
    ledger = Ledger()
    ledger.ask("one", 1)
    ledger.acknowledge("create", "one", State(5, 1))
    ledger.ask("one", 2)
    ledger.show("MODIFIED", card("one", 6, 2))

    with pytest.raises(Lost, match="one was shown as"):
        ledger.verify([card("one", 5, 1)], 7)


def test_the_ledger_takes_an_unanswered_write_either_way():
    for items, came in (([], "not done"), ([card("one", 5, 1)], "done")):
        ledger = Ledger()
        ledger.ask("one", 1)

        ledger.verify(items, 6)

        assert ledger.unanswered == {came: 1}

"""Enough commands of kubectl are compared, and the table in ``README.md`` tells which."""

from __future__ import annotations

from pathlib import Path

from conformance.commands import FEWEST, different_commands, table, total

README = Path(__file__).parent / "README.md"


def test_enough_different_commands_are_compared():
    assert len(different_commands()) >= FEWEST
    assert total() >= FEWEST


def test_the_table_of_commands_is_that_of_the_recorded_answers():
    assert table() in README.read_text()

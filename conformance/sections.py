"""Which section of Kubernetes' behaviour each case is about, and whether every section has its share of cases.

A module or a case says it with ``pytest.mark.section("1.6")``; the nearest mark counts. ``README.md`` has the table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

__all__ = ["FEWEST", "SECTIONS", "Cases", "modules_in_the_table", "section_of"]

SECTIONS = tuple(f"1.{number}" for number in range(1, 14))
FEWEST = 15
"""How many cases a section needs at least."""

_HERE = Path(__file__).parent
_ROW = re.compile(r"^\| (\d+(?:\.\d+)?) \|.*\| ([^|]*) \|$", re.MULTILINE)


class Cases:
    """The cases that were collected, by section."""

    def __init__(self, items: Iterable[pytest.Item]) -> None:
        own = [item for item in items if item.path.parent == _HERE]
        told = [(section_of(item), item.path.stem) for item in own]
        self.names: set[str] = {item.name for item in own}
        self.counts: Counter[str] = Counter(section for section, _ in told)
        self.modules: dict[str, set[str]] = {}
        for section, module in told:
            self.modules.setdefault(section, set()).add(module)

    @property
    def is_whole(self) -> bool:
        """Whether cases of every module are among them."""
        collected = set().union(*self.modules.values())
        return collected >= {path.stem for path in _HERE.glob("test_*.py")}

    def __str__(self) -> str:
        parts = [f"§{section} {self.counts[section]}" for section in SECTIONS]
        return "cases: " + ", ".join([*parts, f"§6 {self.counts['6']}"])


def section_of(item: pytest.Item) -> str:
    """The section that a case is about, or an empty text."""
    marker = item.get_closest_marker("section")
    return marker.args[0] if marker is not None else ""


def modules_in_the_table() -> dict[str, set[str]]:
    """The modules that the table in ``README.md`` names for each section."""
    rows = _ROW.findall((_HERE / "README.md").read_text())
    return {section: {f"test_{name.strip(' `')}" for name in names.split(",")} for section, names in rows}

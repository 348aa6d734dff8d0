"""Figures of several contenders side by side: medians, ratios in the same round, goals; as JSON and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

__all__ = ["Goal", "Line", "summary", "table"]


@dataclass(frozen=True, slots=True)
class Goal:
    """What a ratio, or the figure itself if it is ``absolute``, is to be at most, or at least."""

    bound: float
    is_least: bool = False
    is_absolute: bool = False

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.bound:g}{'' if self.is_absolute else ' ×'}"

    def is_met(self, figures: dict[str, Any]) -> bool:
        """Whether these figures reach it."""
        reached: float = figures["median" if self.is_absolute else "ratio"]
        return reached >= self.bound if self.is_least else reached <= self.bound


@dataclass(frozen=True, slots=True)
class Line:
    """One thing measured: a figure of each contender in each round; the first contender is the yardstick."""

    what: str
    unit: str
    rounds: dict[str, list[float]]
    goals: dict[str, list[Goal]] = field(default_factory=dict)


def summary(lines: list[Line]) -> list[dict[str, Any]]:
    """The lines as JSON has them."""
    return [
        {
            "what": line.what,
            "unit": line.unit,
            "contenders": {name: _figures(line, name) for name in line.rounds},
        }
        for line in lines
    ]


def _figures(line: Line, name: str) -> dict[str, Any]:
    found, yardstick = line.rounds[name], next(iter(line.rounds.values()))
    ratios = [mine / theirs for mine, theirs in zip(found, yardstick, strict=True) if theirs]
    figures: dict[str, Any] = {
        "median": _rounded(median(found)),
        "least": _rounded(min(found)),
        "most": _rounded(max(found)),
        "ratio": _rounded(median(ratios)) if ratios else None,
    }
    goals = line.goals.get(name, [])
    if goals:
        figures["goals"] = {str(goal): "met" if goal.is_met(figures) else "missed" for goal in goals}
    return figures


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def table(lines: list[dict[str, Any]]) -> str:
    """A summary as Markdown: of each contender the median, the ratio to the first one, and how far its goal is."""
    names = list(dict.fromkeys(name for line in lines for name in line["contenders"]))
    head = "".join(f" {name} | × |" if index else f" {name} |" for index, name in enumerate(names))
    rows = [f"| |{head} goal |", "|---|" + "---|" * (2 * len(names))]
    return "\n".join([*rows, *(_row(line, names) for line in lines)])


def _row(line: dict[str, Any], names: list[str]) -> str:
    found = line["contenders"]
    cells = [f"{line['what']}, {line['unit']}"]
    for index, name in enumerate(names):
        figures = found.get(name, {})
        cells.append(f"{figures['median']:,.4g}" if figures else "")
        if index:
            ratio = figures.get("ratio")
            cells.append("" if ratio is None else f"{ratio:.2f}")
    return f"| {' | '.join([*cells, _verdicts(found)])} |"


def _verdicts(found: dict[str, Any]) -> str:
    """Each goal once, with the contenders that miss it."""
    told: dict[str, list[str]] = {}
    for name, figures in found.items():
        for goal, verdict in figures.get("goals", {}).items():
            told.setdefault(goal, []).extend([name] if verdict == "missed" else [])
    return "; ".join(f"{goal}: {'missed ' + ', '.join(missed) if missed else 'met'}" for goal, missed in told.items())

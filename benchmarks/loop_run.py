"""Measures operators on a real API server: ``python -m benchmarks.loop_run [--quick] [--runs N] [loop_start …]``."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import platform
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import comparison
from benchmarks.loop_peers import commands, versions
from kubewright.testing import KUBERNETES_VERSION

__all__ = ["main"]

_ALL = ("loop_start", "loop_reconcile", "loop_latency", "loop_informer")
_RUNS = 3
_PACKAGES = ("aiohttp", "msgspec", "kubewright", "uvloop")
_RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Ask each question, print its table, keep its results unless it was asked in passing or not of all."""
    options = _options()
    found = commands()
    chosen = {name: found[name] for name in options.contestants.split(";")} if options.contestants else found
    runs = 1 if options.quick else options.runs
    for name in options.names or _ALL:
        question = importlib.import_module(f"benchmarks.{name}")
        busy = os.getloadavg()[2]
        lines = asyncio.run(question.measure(chosen, runs=runs, quick=options.quick))
        results = _results(question.QUESTION, runs, busy, comparison.summary(lines))
        print(_table(results), flush=True)
        if not options.quick and chosen == found:
            (_RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures operators side by side on a real API server.")
    parser.add_argument("names", nargs="*", metavar="question", help=f"of {', '.join(_ALL)}; all of them by default")
    parser.add_argument("--quick", action="store_true", help="once and with little to do, only to see that it runs")
    parser.add_argument("--runs", type=int, default=_RUNS, help=f"how often each contestant runs; {_RUNS} by default")
    parser.add_argument("--contestants", metavar="A;B", help="only these; the first is the yardstick; nothing is kept")
    options = parser.parse_args()
    if unknown := set(options.names) - set(_ALL):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(_ALL)}")
    return options


def _results(question: str, runs: int, busy: float, lines: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "question": question,
        "runs": runs,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load before": round(busy, 1),
        "versions": {
            "kubernetes": KUBERNETES_VERSION,
            **versions(),
            **{package: metadata.version(package) for package in _PACKAGES if find_spec(package) is not None},
        },
        "lines": lines,
    }


def _table(results: dict[str, Any]) -> str:
    said = f"Medians of {results['runs']} rounds; × is the ratio to the first column in the same round."
    return f"\n{results['question']}\n{said}\n\n{comparison.table(results['lines'])}"


if __name__ == "__main__":
    main()

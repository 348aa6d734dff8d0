"""Runs the benchmarks: ``python benchmarks/run.py [--quick] [--runs N] [client server_watch …]``."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

Figures = dict[str, float]

_HERE = Path(__file__).parent
_ALL = sorted(path.stem for side in ("client", "server") for path in _HERE.glob(f"{side}_*.py"))
_RUNS = 7
_PACKAGES = ("aiohttp", "msgspec", "kubewright", "lightkube", "kr8s", "kubernetes", "kubernetes-asyncio")
_SERVER = ("aiohttp", "orjson", "kubewright-apiserver")
_CHILD = "from benchmarks import measure, {module}; measure.run({module}.CONTENDERS, {name!r}, {size})"
_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: benchmark
contexts: [{{name: benchmark, context: {{cluster: benchmark, user: benchmark}}}}]
clusters: [{{name: benchmark, cluster: {{server: "{server}"}}}}]
users: [{{name: benchmark, user: {{}}}}]
"""


def main() -> None:
    """Ask each question, print its table, keep its results unless it was asked in passing."""
    options = _options()
    sys.path[0] = str(_HERE.parent)
    for name in options.names:
        benchmark = importlib.import_module(f"benchmarks.{name}")
        runs = 1 if options.quick else options.runs or getattr(benchmark, "RUNS", _RUNS)
        ask = _ask_clients if hasattr(benchmark, "CONTENDERS") else _ask_servers
        results, table = ask(benchmark, runs, quick=options.quick)
        print(table, flush=True)
        if not options.quick:
            text = json.dumps(results, indent=1, ensure_ascii=False) + "\n"
            (_HERE / "results" / f"{name}.json").write_text(text)


def _ask_clients(benchmark: ModuleType, runs: int, *, quick: bool) -> tuple[dict[str, Any], str]:
    """A process for each contender and round, beside a server that only ever says the same."""
    size = benchmark.QUICK_SIZE if quick else benchmark.SIZE
    with tempfile.TemporaryDirectory() as folder, _serving(size, Path(folder)) as environment:
        figures = _rounds(benchmark, size, runs, environment)
    results = _results(benchmark, size, figures)
    return results, _table(results)


def _ask_servers(benchmark: ModuleType, runs: int, *, quick: bool) -> tuple[dict[str, Any], str]:
    """Servers in processes of their own; this one is their client."""
    from benchmarks import comparison
    from kubewright.testing import KUBERNETES_VERSION

    lines = comparison.summary(asyncio.run(benchmark.measure(runs=runs, quick=quick)))
    results = {
        "question": benchmark.QUESTION,
        "runs": runs,
        "python": platform.python_version(),
        "versions": {"kubernetes": KUBERNETES_VERSION, **{package: metadata.version(package) for package in _SERVER}},
        "lines": lines,
    }
    said = f"Medians of {runs} rounds; × is the ratio to the first column in the same round."
    return results, f"\n{benchmark.QUESTION}\n{said}\n\n{comparison.table(lines)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures kubewright beside its peers.")
    names = f"of {', '.join(_ALL)}; client or server for all of that side; all of both by default"
    parser.add_argument("names", nargs="*", metavar="benchmark", help=names)
    parser.add_argument("--quick", action="store_true", help="once and with little to do, only to see that it runs")
    parser.add_argument("--runs", type=int, help=f"how often each contender runs; {_RUNS}, or as the benchmark says")
    options = parser.parse_args()
    if unknown := [name for name in options.names if not _named(name)]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(_ALL)}")
    options.names = [found for name in options.names for found in _named(name)] or _ALL
    return options


def _named(name: str) -> list[str]:
    return [known for known in _ALL if known == name or known.startswith(f"{name}_")]


@contextlib.contextmanager
def _serving(pods: int, folder: Path) -> Iterator[dict[str, str]]:
    """Start the static server; give the environment in which clients find it."""
    from benchmarks import processes

    command = [sys.executable, "-m", "benchmarks.server", str(pods)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=_HERE.parent, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(_KUBECONFIG.format(server=address))
        yield processes.environment(BENCHMARK_SERVER=address, KUBECONFIG=str(kubeconfig))


def _rounds(benchmark: ModuleType, size: int, runs: int, environment: dict[str, str]) -> dict[str, list[Figures]]:
    """Figures of each contender, one a round: they take turns, so that a busy minute hits them all."""
    module = benchmark.__name__.rpartition(".")[2]
    names = list(benchmark.CONTENDERS)
    if runs > 1:
        for name in names:
            # Not counted: it compiles all modules and fills the disk's cache.
            _once(module, name, size, environment)
    rounds = [{name: _once(module, name, size, environment) for name in names} for _ in range(runs)]
    return {name: [figures[name] for figures in rounds] for name in names}


def _once(module: str, name: str, size: int, environment: dict[str, str]) -> Figures:
    child = [sys.executable, "-c", _CHILD.format(module=module, name=name, size=size)]
    done = subprocess.run(child, cwd=_HERE.parent, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _results(benchmark: ModuleType, size: int, figures: dict[str, list[Figures]]) -> dict[str, Any]:
    yardstick = figures[benchmark.YARDSTICK]
    scales = {"cpu": benchmark.SCALE / size, "wall": benchmark.SCALE / size, "memory": 1 / 2**20}
    return {
        "question": benchmark.QUESTION.format(size=size),
        "size": size,
        "runs": len(yardstick),
        "unit": benchmark.UNIT,
        "yardstick": benchmark.YARDSTICK,
        "python": platform.python_version(),
        "versions": {package: metadata.version(package) for package in _PACKAGES},
        "contenders": {
            name: {what: _summary(found, yardstick, what, scale) for what, scale in scales.items()}
            for name, found in figures.items()
        },
        "goals": benchmark.GOALS,
    }


def _summary(found: list[Figures], yardstick: list[Figures], what: str, scale: float) -> Figures:
    """Median, least and most, and the median over the rounds of the ratio to the yardstick in the same round."""
    values = [figure[what] * scale for figure in found]
    ratios = [mine[what] / (theirs[what] or 1) for mine, theirs in zip(found, yardstick, strict=True)]
    return {
        "median": round(median(values), 2),
        "least": round(min(values), 2),
        "most": round(max(values), 2),
        "ratio": round(median(ratios), 3),
    }


def _table(results: dict[str, Any]) -> str:
    unit = results["unit"]
    needed = results["contenders"][results["yardstick"]]["memory"]["median"]
    lines = [
        f"\n{results['question']}",
        f"Medians of {results['runs']} rounds; × is the ratio to “{results['yardstick']}” in the same round.\n",
        f"| | CPU, {unit} | least–most | × | wall, {unit} | × | memory, MiB | × | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in results["contenders"].items():
        cpu, wall, memory = found["cpu"], found["wall"], found["memory"]
        # Below that it is noise: a few pages of the allocator.
        memory_ratio = f"{memory['ratio']:.2f}" if needed >= 1 else "–"
        lines.append(
            f"| {name} | {cpu['median']:,.1f} | {cpu['least']:,.1f}–{cpu['most']:,.1f} | {cpu['ratio']:.2f} "
            f"| {wall['median']:,.1f} | {wall['ratio']:.2f} | {memory['median']:,.1f} | {memory_ratio} "
            f"| {_verdict(found, results['goals'].get(name, {}))} |"
        )
    return "\n".join(lines)


def _verdict(found: dict[str, Figures], goals: Figures) -> str:
    return ", ".join(
        f"{what} ≤ {most}: {'met' if found[what]['ratio'] <= most else 'missed'}" for what, most in goals.items()
    )


if __name__ == "__main__":
    main()

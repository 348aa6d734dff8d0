"""``python -m fuzz``: fuzz an embedded server, or compare it with a real one; see README.md."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections import Counter

from fuzz.rounds import ROUND, all_rounds
from fuzz.running import Finding

_SHOWN = 40
_VARYING = re.compile(r"""'[^']*'|"[^"]*"|\d+""")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Fuzz the embedded API server.")
    parser.add_argument("--requests", type=int, default=10_000, help="how many (default: 10000)")
    parser.add_argument("--seed", type=int, default=1, help="which (default: 1)")
    parser.add_argument("--processes", type=int, default=1, help="how many at once (default: 1)")
    parser.add_argument("--round", type=int, default=None, help="only the round of this number")
    parser.add_argument("--against-real", action="store_true", help="compare with a real kube-apiserver")
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _fuzz(options: argparse.Namespace) -> int:
    count = max(1, options.requests // ROUND)
    numbers = list(range(count)) if options.round is None else [options.round]
    statuses: Counter[int] = Counter()
    findings: list[Finding] = []
    began = told = time.monotonic()
    done = 0
    for round in all_rounds(options.seed, numbers, options.processes):
        done += round.requests
        statuses += round.statuses
        findings += round.findings
        if time.monotonic() - told > 10:
            told = time.monotonic()
            _say(f"{done} requests, {done / (told - began):.0f}/s, {len(findings)} findings")
    _say(_summary(options.seed, done, time.monotonic() - began, statuses, findings))
    return 1 if findings else 0


def _summary(seed: int, done: int, seconds: float, statuses: Counter[int], findings: list[Finding]) -> str:
    lines = [f"seed {seed}: {done} requests in {seconds:.0f} s, {done / seconds:.0f} a second"]
    lines.append("answers: " + ", ".join(f"{status} {count}" for status, count in sorted(statuses.items())))
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(_sort(finding.problem), []).append(finding)
    for same in sorted(kinds.values(), key=len, reverse=True)[:_SHOWN]:
        first = same[0]
        lines.append(f"{len(same)} times, first in round {first.round}: {first.what}: {first.problem}")
        lines.append(f"  {first.request}")
    lines.append(f"{len(findings)} findings of {len(kinds)} sorts")
    return "\n".join(lines)


def _sort(problem: str) -> str:
    """What problems have in common: the last two lines of a traceback, or the words without their numbers."""
    if "Traceback" in problem:
        return "\n".join([line for line in problem.splitlines() if "^^^" not in line][-3:])
    return _VARYING.sub("…", problem)


def main() -> int:
    """Run what the command line asks for; 1 if something was found."""
    options = _arguments()
    if options.against_real:
        from fuzz.comparing import compare

        return asyncio.run(compare(options.requests, options.seed, _say))
    return _fuzz(options)


if __name__ == "__main__":
    sys.exit(main())

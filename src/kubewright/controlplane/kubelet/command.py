"""What a simulated container does by its command: ``sleep``, ``true``, ``false``, ``exit``, ``echo``; else it goes on.

>>> what_it_does(["sh", "-c", "echo hello; sleep 5; exit 3"]).exit_code
3
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from kubewright.controlplane.kubelet.duration import read_duration

__all__ = ["Plan", "what_it_does"]

_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})


class Plan(NamedTuple):
    """How long a command takes (None: it never ends by itself), how it ends, and what it prints when."""

    duration: timedelta | None
    exit_code: int
    output: tuple[tuple[timedelta, str], ...] = ()


_FOREVER: Final = Plan(None, 0)


def what_it_does(words: Sequence[str]) -> Plan:
    """The plan of a command line; one that is not understood runs for ever."""
    if not words:
        return _FOREVER
    name = words[0].rpartition("/")[2]
    if name in _SHELLS and len(words) >= 3 and words[1].startswith("-") and words[1].endswith("c"):
        return _script(words[2])
    return _FOREVER if name == "exit" else _simple([name, *words[1:]])


def _script(text: str) -> Plan:
    """One command after the other; the code is that of the last, or of the first failure before ``&&``."""
    passed, code = timedelta(0), 0
    output: list[tuple[timedelta, str]] = []
    for part, joint in _parts(text):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            return Plan(None, 0, tuple(output))
        if not words:
            continue
        plan = _simple(words)
        output += [(passed + after, line) for after, line in plan.output]
        if plan.duration is None:
            return Plan(None, 0, tuple(output))
        passed, code = passed + plan.duration, plan.exit_code
        if words[0] == "exit" or (joint == "&&" and code):
            break
    return Plan(passed, code, tuple(output))


def _parts(text: str) -> list[tuple[str, str]]:
    """The commands of a script, each with what stands behind it."""
    pieces = re.split(r"(&&|;|\n)", text)
    return list(zip(pieces[::2], [*pieces[1::2], ""], strict=True))


def _simple(words: Sequence[str]) -> Plan:
    name, arguments = words[0], list(words[1:])
    if name == "exec" and arguments:
        return _simple(arguments)
    if name in ("true", ":"):
        return Plan(timedelta(0), 0)
    if name == "false":
        return Plan(timedelta(0), 1)
    if name == "echo" and not any(word in ("|", ">", ">>") for word in arguments):
        return Plan(timedelta(0), 0, ((timedelta(0), " ".join(arguments)),))
    if name == "exit":
        code = arguments[0] if arguments else "0"
        return Plan(timedelta(0), int(code) % 256) if code.isdigit() else _FOREVER
    return _sleep(arguments) if name == "sleep" else _FOREVER


def _sleep(arguments: Sequence[str]) -> Plan:
    try:
        return Plan(sum((read_duration(word) for word in arguments), timedelta(0)), 0) if arguments else _FOREVER
    except ValueError:
        return _FOREVER

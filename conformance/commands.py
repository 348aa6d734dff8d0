"""Which commands of kubectl were compared, counted from the recorded answers: ``python -m conformance.commands``.

Two commands are different if they differ in more than names and values: in the verb, in the kind, in the flags or in
the form of output, of patch, of dry run and the like.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator

from conformance.golden import FOLDER

__all__ = ["FEWEST", "different_commands", "table", "total"]

FEWEST = 80
"""How many different commands are to be compared at least."""

_FAMILIES = {"apply", "auth", "certificate", "config", "create", "rollout", "set", "top"}
_FAMILIES |= {"create secret", "create service"}
_NAMED_FIRST = {
    "attach",
    "cordon",
    "cp",
    "debug",
    "drain",
    "exec",
    "kustomize",
    "logs",
    "port-forward",
    "run",
    "uncordon",
}
_TELLING = ("-o", "--output", "--dry-run", "--validate", "--cascade", "--type", "--for", "--subresource", "--profile")
_WORD = re.compile(r"[a-z0-9-]*", re.IGNORECASE)


def different_commands() -> dict[str, dict[str, set[str]]]:
    """Per verb, with the further words of verbs that have several, the modules and the different commands in each."""
    found: dict[str, dict[str, set[str]]] = {}
    for module, words in _recorded():
        verb, *rest = words
        while verb in _FAMILIES and rest and not rest[0].startswith("-"):
            verb = f"{verb} {rest.pop(0)}"
        found.setdefault(verb, {}).setdefault(module, set()).add(_shape(verb, rest))
    return dict(sorted(found.items()))


def _recorded() -> Iterator[tuple[str, list[str]]]:
    for path in sorted(FOLDER.glob("kubectl*.json")):
        for told in json.loads(path.read_text()).values():
            for entry in told:
                yield path.stem, shlex.split(entry["command"])


def _shape(verb: str, words: list[str]) -> str:
    """A command without names and values."""
    own = words[: words.index("--")] if "--" in words else words
    has_kind = verb not in _NAMED_FIRST and not verb.startswith(("create", "certificate"))
    kind, flags = "", set()
    before = ""
    for word in own:
        name, _, value = word.partition("=")
        if word.startswith("-") and word != "-":
            flags.add(f"{name}={_told(value)}" if name in _TELLING and value else name)
            before = "" if value else name
            continue
        if before in _TELLING:
            flags.discard(before)
            flags.add(f"{before}={_told(word)}")
        elif not before and has_kind and not kind:
            kind = word.partition("/")[0].partition(".")[0].removesuffix("s")
        before = ""
    return " ".join([verb, kind, *sorted(flags)])


def _told(value: str) -> str:
    found = _WORD.match(value)
    return found.group() if found else ""


def table() -> str:
    """The table of ``README.md``: each verb, how many different commands of it, and the modules that have them."""
    lines = ["| kubectl | commands | modules |", "|---|---|---|"]
    for verb, modules in different_commands().items():
        number = len(set().union(*modules.values()))
        lines.append(f"| {verb} | {number} | {', '.join(f'`{module}`' for module in modules)} |")
    return "\n".join(lines)


def total() -> int:
    """How many different commands there are."""
    return sum(len(set().union(*modules.values())) for modules in different_commands().values())


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n\n{total()} different commands of {len(different_commands())} verbs\n")

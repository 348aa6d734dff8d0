"""A command line read as Kubernetes' programs read theirs: the same forms, the same words for what is wrong."""

from __future__ import annotations

import csv
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from kubewright_apiserver.golang import duration_problem, go_quoted

__all__ = ["UsageError", "integer_of", "items_of", "pairs_of", "read_command_line", "truth_of"]

_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")
_SHORT: Final = {"h": "help", "v": "v"}
_INTEGER: Final = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[0-9]+)\Z")
_BEYOND: Final = 1 << 63
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


class UsageError(Exception):
    """A command line that means nothing, in kube-apiserver's words."""


def read_command_line(arguments: Sequence[str], types: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each flag with its value, in their order; ``types`` has the type of every flag that there is.

    Raises: `UsageError` for flags that there are not, values of another type, and what is no flag.
    """
    found: list[tuple[str, str]] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            others += rest
        elif argument.startswith("--"):
            found.append(_long(argument, rest, types))
        elif argument.startswith("-") and argument != "-":
            found += _short(argument, rest, types)
        elif argument:
            others.append(argument)
    if others and "help" not in dict(found):
        told = " ".join(go_quoted(other) for other in others)
        raise UsageError(f'"kube-apiserver" does not take any arguments, got [{told}]')
    return found


def _long(argument: str, rest: Iterator[str], types: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = argument[2:].partition("=")
    if not name or name.startswith("-"):
        raise UsageError(f"bad flag syntax: {argument}")
    name = name.replace("_", "-")
    if name not in types:
        raise UsageError(f"unknown flag: --{name}")
    if not equals:
        value = "true" if _stands_alone(types[name]) else _next(rest, f"--{name}")
    return _checked(name, value, types)


def _short(argument: str, rest: Iterator[str], types: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    letters = argument[1:]
    while letters:
        name = _SHORT.get(letters[0])
        if name is None:
            raise UsageError(f"unknown shorthand flag: {letters[0]!r} in -{letters}")
        value, letters = letters[1:], ""
        if value.startswith("="):
            value = value[1:]
        elif _stands_alone(types[name]):
            value, letters = "true", value
        elif not value:
            value = _next(rest, f"{argument[1]!r} in {argument}")
        yield _checked(name, value, types)


def _stands_alone(kind: str) -> bool:
    return kind in ("bool", "version[=true]")


def _next(rest: Iterator[str], what: str) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"flag needs an argument: {what}")
    return value


def _checked(name: str, value: str, types: Mapping[str, str]) -> tuple[str, str]:
    check = _CHECKS.get(types[name])
    problem = check(value) if check is not None else ""
    if problem:
        shown = f"-{name[0]}, --{name}" if name in _SHORT.values() else f"--{name}"
        raise UsageError(f'invalid argument {go_quoted(value)} for "{shown}" flag: {problem}')
    return name, value


def _not_a_bool(value: str) -> str:
    return "" if value in _TRUE + _FALSE else f"strconv.ParseBool: parsing {go_quoted(value)}: invalid syntax"


def _not_a_version(value: str) -> str:
    return "" if value == "raw" or value.startswith("v") else _not_a_bool(value)


def _not_an_integer(value: str) -> str:
    unsigned = value[1:] if value[:1] in ("-", "+") else value
    return _not_digits("strconv.ParseInt", value, unsigned)


def _not_unsigned(value: str) -> str:
    return _not_digits("strconv.ParseUint", value, value)


def _not_digits(reader: str, value: str, unsigned: str) -> str:
    if not _INTEGER.match(unsigned):
        return f"{reader}: parsing {go_quoted(value)}: invalid syntax"
    return "" if integer_of(unsigned) < _BEYOND else f"{reader}: parsing {go_quoted(value)}: value out of range"


def _not_a_number(value: str) -> str:
    return "" if _NUMBER.match(value) else f"strconv.ParseFloat: parsing {go_quoted(value)}: invalid syntax"


def _not_a_duration(value: str) -> str:
    problem = duration_problem(value)
    return f"time: {problem} {go_quoted(value)}" if problem else ""


def _not_an_address(value: str) -> str:
    try:
        ipaddress.ip_address(value.strip())
    except ValueError:
        return f"failed to parse IP: {go_quoted(value)}"
    return ""


_CHECKS: Final[Mapping[str, Callable[[str], str]]] = {
    "bool": _not_a_bool,
    "version[=true]": _not_a_version,
    "int": _not_an_integer,
    "uint": _not_unsigned,
    "Level": _not_unsigned,
    "float": _not_a_number,
    "float32": _not_a_number,
    "duration": _not_a_duration,
    "ip": _not_an_address,
}


def integer_of(value: str) -> int:
    """The value of an int, which may be written in another base than ten."""
    is_octal = value.lstrip("+-").startswith("0") and value.lstrip("+-").isdigit()
    return int(value, 8 if is_octal else 0)


def truth_of(value: str) -> bool:
    """The value of a bool."""
    return value in _TRUE


def items_of(values: Sequence[str]) -> list[str]:
    """The items of a list that was given in one or several parts, separated by commas."""
    return [item for value in values for row in csv.reader([value]) for item in row]


def pairs_of(values: Sequence[str]) -> dict[str, str]:
    """The entries of a map that was given in one or several parts, separated by commas."""
    entries = (entry.partition("=") for value in values for entry in value.split(",") if entry)
    return {name.strip(): value.strip() for name, _, value in entries}

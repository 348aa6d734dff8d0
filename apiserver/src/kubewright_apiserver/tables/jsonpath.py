"""JSONPath as the printer columns of custom resources are written in it: a step is a function on lists of values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["BadPath", "Unfound", "path_of"]

Values = list[Any]
Step = Callable[[Values], Values]

_FIELD: Final = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9.]*")
_WORD: Final = re.compile(r"[^ \t\r\n.,\[\]$@{}]+")
_KEY: Final = re.compile(r"'([^']*)'")
_SLICE: Final = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARISON: Final = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class BadPath(ValueError):
    """That is no JSONPath."""


class Unfound(LookupError):
    """A value is not of the type that a path needs there."""


def path_of(text: str) -> Step:
    """The function that finds what a path leads to, given one value in a list; raises ``BadPath``.

    What it gives raises ``Unfound`` for values that it cannot walk; keys that are not there are simply not found.
    """
    return _sequence(list(_Parser(text).steps()))


def _sequence(steps: list[Step]) -> Step:
    def walk(values: Values) -> Values:
        for step in steps:
            values = step(values)
        return values

    return walk


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def steps(self) -> Iterator[Step]:
        """The steps of the path, one after the other."""
        follows_descent = False
        while self._at < len(self._text):
            step = self._next(follows_descent)
            follows_descent = step is _everything
            if step is not None:
                yield step

    def _next(self, follows_descent: bool) -> Step | None:
        rest = self._text[self._at :]
        if rest.startswith("[?("):
            return self._filter()
        if rest.startswith(".."):
            return self._descent(follows_descent)
        letter = rest[0]
        if letter in " @$":
            self._at += 1
            return None
        if letter == "}":
            self._end()
            return None
        if letter == "." or (follows_descent and _is_word(letter)):
            self._at += letter == "."
            return _field(self._taken(_FIELD))
        if letter == "[":
            return self._array()
        return self._constant(letter)

    def _end(self) -> None:
        """Pass over what follows the first template: only what that one finds is shown."""
        _, begins, rest = self._text[self._at :].partition("{")
        self._at = len(self._text)
        if begins:
            path_of(rest)

    def _taken(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        text = found[0] if found else ""
        self._at += len(text)
        return text

    def _descent(self, follows_descent: bool) -> Step:
        if follows_descent:
            raise BadPath("invalid multiple recursive descent")
        self._at += 2
        return _everything

    def _constant(self, letter: str) -> Step:
        if letter in "\"'":
            return _always(self._quoted(letter))
        if letter in "+-" or letter.isdigit():
            return _always(_number(self._taken(_NUMBER)))
        if not _is_word(letter):
            raise BadPath(f"unrecognized character in action: {letter}")
        word = self._taken(_WORD)
        return _always(word == "true") if word in ("true", "false") else _unwalkable

    def _quoted(self, quote: str) -> str:
        end = self._text.find(quote, self._at + 1)
        while end > 0 and self._text[end - 1] == "\\":
            end = self._text.find(quote, end + 1)
        if end < 0:
            raise BadPath("unterminated quoted string")
        text = self._text[self._at + 1 : end]
        self._at = end + 1
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)

    def _array(self) -> Step:
        end = self._text.find("]", self._at)
        if end < 0:
            raise BadPath("unterminated array")
        text = self._text[self._at + 1 : end]
        self._at = end + 1
        parts = text.split(",")
        return _index(text) if len(parts) == 1 else _union([_index(part.strip(" ")) for part in parts])

    def _filter(self) -> Step:
        start = self._at + 3
        end = _end_of_filter(self._text, start)
        if self._text[end + 1 : end + 2] != "]":
            raise BadPath("unclosed array expect ]")
        text = self._text[start:end]
        self._at = end + 2
        compared = _COMPARISON.fullmatch(text)
        if compared is None:
            return _existing(path_of(text))
        return _compared(path_of(compared[1]), compared[2], path_of(compared[3]))


def _is_word(letter: str) -> bool:
    return letter == "_" or letter.isalnum()


def _end_of_filter(text: str, start: int) -> int:
    """Where the closing parenthesis is that is in no quoted text."""
    quote = ""
    is_closed = False
    for at in range(start, len(text)):
        letter = text[at]
        if letter in "\"'" and not quote:
            quote = letter
        elif letter == quote and text[at - 1] != "\\":
            is_closed = True
        elif letter == ")" and bool(quote) is is_closed:
            return at
    raise BadPath("unterminated filter")


def _number(text: str) -> float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise BadPath(f"cannot parse number {text}") from None


def _always(value: Any) -> Step:
    return lambda values: [value for _ in values] if not isinstance(value, str) else [value]


def _field(name: str) -> Step:
    if name == "*":
        return lambda values: [inner for value in values for inner in _members(value)]
    key = name.replace("\\", "")
    return lambda values: [value[key] for value in values if isinstance(value, dict) and key in value]


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    if isinstance(value, str):
        return list(value.encode())
    return value if isinstance(value, list) else []


def _everything(values: Values) -> Values:
    """All values that hold others, at any depth."""
    found: Values = []
    for value in values:
        members = _members(value)
        if members:
            found += [value, *_everything(members)]
    return found


def _union(steps: list[Step]) -> Step:
    return lambda values: [found for step in steps for found in step(values)]


def _index(text: str) -> Step:
    key = _KEY.fullmatch(text)
    if key is not None:
        return path_of(f".{key[1]}")
    found = _SLICE.fullmatch(":" if text == "*" else text)
    if found is None:
        raise BadPath(f"invalid array index {text}")
    first, last, step = (part.removeprefix(":") if part else part for part in found.groups())
    if step and int(step) <= 0:
        return _unwalkable
    bounds = (int(first or 0), int(last) if last else None, int(step) if step else 1)
    is_one = found[2] is None
    return lambda values: [inner for value in values if value is not None for inner in _sliced(value, bounds, is_one)]


def _unwalkable(values: Values) -> Values:
    raise Unfound("nothing can be found so")


def _sliced(value: Any, bounds: tuple[int, int | None, int], is_one: bool) -> list[Any]:
    if not isinstance(value, list):
        raise Unfound("not array or slice")
    first, last, step = bounds
    count = len(value)
    if is_one:
        last = first + 1
        last += count if last < 0 or last == 0 else 0
    elif last is None:
        last = count
    else:
        last += count if last < 0 else 0
    first += count if first < 0 else 0
    if first == last:
        return []
    if not (0 <= first < count and 0 <= last <= count and first <= last):
        raise Unfound("array index out of bounds")
    return value[first:last:step]


def _existing(step: Step) -> Step:
    def exists(value: Any) -> bool:
        try:
            return bool(step([value]))
        except Unfound:
            return False

    return lambda values: [inner for value in values for inner in _items(value) if exists(inner)]


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unfound("not array or slice and cannot be filtered")
    return value


def _compared(left: Step, sign: str, right: Step) -> Step:
    compare = _OPERATORS.get(sign)

    def holds(value: Any) -> bool:
        pair = [_single(step([value])) for step in (left, right)]
        if not all(pair):
            return False
        (one,), (other,) = pair
        if compare is None or not _are_comparable(one, other, sign):
            raise Unfound("incompatible types for comparison")
        return compare(one, other)

    return lambda values: [inner for value in values for inner in _items(value) if holds(inner)]


def _single(values: Values) -> Values:
    if len(values) > 1:
        raise Unfound("can only compare one element at a time")
    return values


def _are_comparable(one: Any, other: Any, sign: str) -> bool:
    if type(one) is not type(other) or not isinstance(one, bool | int | float | str):
        return False
    return not isinstance(one, bool) or sign in ("==", "!=")

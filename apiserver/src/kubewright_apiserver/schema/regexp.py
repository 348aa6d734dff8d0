"""``compile_regexp``: regular expressions in Go's syntax, refused with Go's messages, run without backtracking."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from kubewright_apiserver.schema.automaton import Assertion, Automaton, Char, Choice, Expression, Repeat, Sequence
from kubewright_apiserver.schema.charclass import (
    PERL,
    POSIX,
    Matches,
    either,
    folded,
    in_ranges,
    negated,
    unicode_class,
)

__all__ = ["RegexpError", "compile_regexp"]

_MOST_REPEATED: Final = 1000
_DEEPEST: Final = 200
_LARGEST: Final = 100_000
_CONTROLS: Final = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_TEXT_START: Final = Assertion(lambda before, after: before == "")
_TEXT_END: Final = Assertion(lambda before, after: after == "")
_LINE_START: Final = Assertion(lambda before, after: before in ("", "\n"))
_LINE_END: Final = Assertion(lambda before, after: after in ("", "\n"))
_is_word: Final = PERL["w"][0]


def _is_boundary(before: str, after: str) -> bool:
    return bool(before and _is_word(before)) != bool(after and _is_word(after))


_BOUNDARY: Final = Assertion(_is_boundary)
_NO_BOUNDARY: Final = Assertion(lambda before, after: not _is_boundary(before, after))
_ESCAPED: Final = {"A": _TEXT_START, "z": _TEXT_END, "b": _BOUNDARY, "B": _NO_BOUNDARY}
_ANY: Final = Char(lambda character: True)
_ANY_IN_LINE: Final = Char(lambda character: character != "\n")


class RegexpError(ValueError):
    """A pattern that Go refuses, in Go's words."""

    def __init__(self, code: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{part}`")


@lru_cache(maxsize=512)
def compile_regexp(pattern: str) -> Automaton:
    """What finds the pattern in texts, in time linear in the text.

    Raises:
        RegexpError: Go could not compile the pattern.
    """
    return Automaton(_Parser(pattern).parse())


class _Flags(NamedTuple):
    folds: bool = False
    is_multi_line: bool = False
    dot_is_any: bool = False


class _Item(NamedTuple):
    """An expression with what limits how often it may be repeated."""

    expression: Expression
    weight: int = 1
    size: int = 1


class _Group:
    """What was read since an opening parenthesis."""

    def __init__(self, flags: _Flags) -> None:
        self.flags: _Flags = flags
        self.choices: list[_Item] = []
        self.items: list[_Item] = []

    def end_choice(self) -> None:
        parts = tuple(item.expression for item in self.items)
        self.choices.append(_combined(self.items, Sequence(parts) if len(parts) != 1 else parts[0]))
        self.items = []

    def close(self) -> _Item:
        self.end_choice()
        if len(self.choices) == 1:
            return self.choices[0]
        return _combined(self.choices, Choice(tuple(item.expression for item in self.choices)))


def _combined(items: list[_Item], expression: Expression) -> _Item:
    weight = max((item.weight for item in items), default=1)
    return _Item(expression, weight, 1 + sum(item.size for item in items))


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern: str = pattern
        self.at: int = 0
        self.flags = _Flags()
        self.groups = [_Group(self.flags)]

    def parse(self) -> Expression:
        repeated_from = -1
        while self.at < len(self.pattern):
            start = self.at
            repeats = self._repeat_bounds()
            if repeats is None:
                self._read_item()
                repeated_from = -1
            else:
                self._repeat(repeats, start, repeated_from)
                repeated_from = start
        if len(self.groups) != 1:
            raise RegexpError("missing closing )", self.pattern)
        item = self.groups[0].close()
        self._check_size(item)
        return item.expression

    def _peek(self, ahead: int = 0) -> str:
        return self.pattern[self.at + ahead : self.at + ahead + 1]

    def _push(self, expression: Expression) -> None:
        self.groups[-1].items.append(_Item(expression))

    def _push_set(self, matches: Matches) -> None:
        self._push(Char(folded(matches) if self.flags.folds else matches))

    def _push_literal(self, character: str) -> None:
        code = ord(character)
        self._push_set(in_ranges((code, code)))

    def _read_item(self) -> None:
        character = self._peek()
        readers = {"(": self._open, ")": self._close, "|": self._divide, "[": self._class, "\\": self._escape}
        if character in readers:
            readers[character]()
            return
        self.at += 1
        if character == "^":
            self._push(_LINE_START if self.flags.is_multi_line else _TEXT_START)
        elif character == "$":
            self._push(_LINE_END if self.flags.is_multi_line else _TEXT_END)
        elif character == ".":
            self._push(_ANY if self.flags.dot_is_any else _ANY_IN_LINE)
        else:
            self._push_literal(character)

    def _divide(self) -> None:
        self.at += 1
        self.groups[-1].end_choice()

    def _open(self) -> None:
        if self._peek(1) == "?":
            self._open_perl()
            return
        self.at += 1
        self._enter(self.flags)

    def _enter(self, flags: _Flags) -> None:
        self.groups.append(_Group(self.flags))
        self.flags = flags
        if len(self.groups) > _DEEPEST:
            raise RegexpError("expression nests too deeply", self.pattern)

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise RegexpError("unexpected )", self.pattern)
        self.at += 1
        group = self.groups.pop()
        self.flags = group.flags
        self.groups[-1].items.append(group.close())

    def _open_perl(self) -> None:
        rest = self.pattern[self.at :]
        named = 4 if rest.startswith("(?P<") and len(rest) > 4 else 3 if rest.startswith("(?<") and len(rest) > 3 else 0
        if not named:
            self._read_flags()
            return
        end = rest.find(">")
        if end < 0:
            raise RegexpError("invalid named capture", rest)
        name = rest[named:end]
        if not name or not all(map(_is_word, name)):
            raise RegexpError("invalid named capture", rest[: end + 1])
        self.at += end + 1
        self._enter(self.flags)

    def _read_flags(self) -> None:
        start = self.at
        self.at += 2
        values = self.flags._asdict()
        names = {"i": "folds", "m": "is_multi_line", "s": "dot_is_any", "U": ""}
        wanted, saw_flag = True, False
        while self.at < len(self.pattern):
            character = self._peek()
            self.at += 1
            if character in names:
                values[names[character]] = wanted
                saw_flag = True
            elif character == "-" and wanted:
                wanted, saw_flag = False, False
            elif character in ":)" and (wanted or saw_flag):
                values.pop("", None)
                self._apply_flags(_Flags(**values), opens=character == ":")
                return
            else:
                break
        raise RegexpError("invalid or unsupported Perl syntax", self.pattern[start : self.at])

    def _apply_flags(self, flags: _Flags, *, opens: bool) -> None:
        if opens:
            self._enter(flags)
        else:
            self.flags = flags

    def _repeat_bounds(self) -> tuple[int, int] | None:
        character = self._peek()
        if character in "*+?":
            self.at += 1
            return {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[character]
        return self._counted_bounds() if character == "{" else None

    def _counted_bounds(self) -> tuple[int, int] | None:
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : max(end, self.at + 1)].partition(",")
        if end < 0 or not _is_count(least) or (most and not _is_count(most)):
            return None
        bounds = int(least), int(most) if most else -1 if comma else int(least)
        start, self.at = self.at, end + 1
        if bounds[0] > _MOST_REPEATED or bounds[1] > _MOST_REPEATED or 0 <= bounds[1] < bounds[0]:
            raise RegexpError("invalid repeat count", self.pattern[start : self.at])
        return bounds

    def _repeat(self, bounds: tuple[int, int], start: int, repeated_from: int) -> None:
        if self._peek() == "?":
            self.at += 1
        if repeated_from >= 0:
            raise RegexpError("invalid nested repetition operator", self.pattern[repeated_from : self.at])
        operator = self.pattern[start : self.at]
        items = self.groups[-1].items
        if not items:
            raise RegexpError("missing argument to repetition operator", operator)
        items[-1] = _repeated(items[-1], bounds, is_counted=operator[0] == "{")
        if operator[0] == "{" and max(bounds) >= 2 and items[-1].weight > _MOST_REPEATED:
            raise RegexpError("invalid repeat count", operator)
        self._check_size(items[-1])

    def _check_size(self, item: _Item) -> None:
        if item.size > _LARGEST:
            raise RegexpError("expression too large", self.pattern)

    def _escape(self) -> None:
        character = self._peek(1)
        if character in _ESCAPED and character:
            self.at += 2
            self._push(_ESCAPED[character])
        elif character == "C":
            raise RegexpError("invalid escape sequence", "\\C")
        elif character == "Q":
            literal, _, _ = self.pattern[self.at + 2 :].partition("\\E")
            self.at += len(literal) + 4
            for one in literal:
                self._push_literal(one)
        else:
            found = self._named_set()
            if found is None:
                self._push_literal(self._escaped_character())
            else:
                self._push(Char(found))

    def _named_set(self) -> Matches | None:
        """The set of ``\\d`` or ``\\p{L}`` if one is here, folded as the flags want."""
        if self._peek() != "\\":
            return None
        character = self._peek(1)
        if character in ("p", "P"):
            return self._unicode_set()
        if character not in PERL:
            return None
        self.at += 2
        return self._group(*PERL[character])

    def _group(self, matches: Matches, is_negated: bool) -> Matches:
        matches = folded(matches) if self.flags.folds else matches
        return negated(matches) if is_negated else matches

    def _unicode_set(self) -> Matches:
        start = self.at
        if self._peek(2) == "{":
            end = self.pattern.find("}", start)
            if end < 0:
                raise RegexpError("invalid character class range", self.pattern[start:])
            name = self.pattern[start + 3 : end]
            self.at = end + 1
        else:
            name = self._peek(2)
            self.at = min(start + 3, len(self.pattern))
        matches = unicode_class(name.removeprefix("^"))
        if matches is None:
            raise RegexpError("invalid character class range", self.pattern[start : self.at])
        return self._group(matches, (self.pattern[start + 1] == "P") != name.startswith("^"))

    def _escaped_character(self) -> str:
        start = self.at
        character = self._peek(1)
        if not character:
            raise RegexpError("trailing backslash at end of expression", "")
        self.at += 2
        code: int | None = None
        if character in "01234567":
            code = self._octal(character)
        elif character == "x":
            code = self._hexadecimal()
        elif character in _CONTROLS:
            code = _CONTROLS[character]
        elif character.isascii() and not character.isalnum():
            code = ord(character)
        if code is None:
            raise RegexpError("invalid escape sequence", self.pattern[start : self.at])
        return chr(code)

    def _octal(self, first: str) -> int | None:
        digits = first
        while len(digits) < 3 and self._peek() and self._peek() in "01234567":
            digits += self._peek()
            self.at += 1
        return int(digits, 8) if first == "0" or len(digits) > 1 else None

    def _hexadecimal(self) -> int | None:
        if self._peek() != "{":
            digits = self.pattern[self.at : self.at + 2]
            self.at = min(self.at + 2, len(self.pattern))
            return int(digits, 16) if len(digits) == 2 and _is_hexadecimal(digits) else None
        self.at += 1
        code = 0
        start = self.at
        while self.at < len(self.pattern):
            digit = self._peek()
            self.at += 1
            if digit == "}":
                return code if self.at > start + 1 else None
            if not _is_hexadecimal(digit):
                return None
            code = code * 16 + int(digit, 16)
            if code > 0x10FFFF:
                return None
        return None

    def _class(self) -> None:
        start = self.at
        self.at += 1
        is_negated = self._peek() == "^"
        self.at += is_negated
        sets: list[Matches] = []
        while self._peek() != "]" or not sets:
            sets.append(self._posix_set() or self._named_set() or self._range(start))
        self.at += 1
        matches = either(sets)
        self._push(Char(negated(matches) if is_negated else matches))

    def _posix_set(self) -> Matches | None:
        if not self.pattern.startswith("[:", self.at):
            return None
        end = self.pattern.find(":]", self.at + 2)
        if end < 0:
            return None
        written = self.pattern[self.at : end + 2]
        name = written[2:-2]
        matches = POSIX.get(name.removeprefix("^"))
        if matches is None:
            raise RegexpError("invalid character class range", written)
        self.at = end + 2
        return self._group(matches, name.startswith("^"))

    def _range(self, class_start: int) -> Matches:
        start = self.at
        low = high = self._class_character(class_start)
        if self._peek() == "-" and self._peek(1) not in ("", "]"):
            self.at += 1
            high = self._class_character(class_start)
            if high < low:
                raise RegexpError("invalid character class range", self.pattern[start : self.at])
        matches = in_ranges((ord(low), ord(high)))
        return folded(matches) if self.flags.folds else matches

    def _class_character(self, class_start: int) -> str:
        character = self._peek()
        if not character:
            raise RegexpError("missing closing ]", self.pattern[class_start:])
        if character == "\\":
            return self._escaped_character()
        self.at += 1
        return character


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")


def _is_hexadecimal(text: str) -> bool:
    return all(character in "0123456789abcdefABCDEF" for character in text)


def _repeated(item: _Item, bounds: tuple[int, int], *, is_counted: bool) -> _Item:
    least, most = bounds
    times = least if most < 0 else most
    weight = item.weight if not is_counted or times == 0 else item.weight * times
    if is_counted and most == 0:
        weight = 1
    return _Item(Repeat(item.expression, least, most), weight, 2 + max(times, 1) * (item.size + 1))

"""What Go says of a text that is no JSON; asked only when the fast parser has refused."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

__all__ = ["syntax_error"]

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_DIGITS: Final = re.compile(rb"[0-9]+")
_TEXT: Final = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_GAP: Final = rb"[ \t\r\n]*+"
_SCALAR: Final = rb'-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null|"%s"' % _TEXT.pattern
_FIELD: Final = rb'"%s"%s:%s' % (_TEXT.pattern, _GAP, _GAP)
_LEVELS: Final = 4
_CODE: Final = re.compile(rb"\\u[0-9a-fA-F]{0,3}")
_LITERALS: Final = {ord(word[:1]): word for word in (b"true", b"false", b"null")}
_BEGIN: Final = "looking for beginning of value"
_ESCAPES: Final = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 39: "\\'", 92: "\\\\"}
_END: Final = "unexpected end of JSON input"


def _value_pattern(levels: int) -> bytes:
    """What matches a value of no more than so many levels, and the space after it."""
    if not levels:
        return rb"(?>%s)%s" % (_SCALAR, _GAP)
    inner = _value_pattern(levels - 1)
    array = rb"\[%s(?>%s(?:,%s(?!\])|(?=\])))*+\]" % (_GAP, inner, _GAP)
    struct = rb"\{%s(?>%s%s(?:,%s(?!\})|(?=\})))*+\}" % (_GAP, _FIELD, inner, _GAP)
    return rb"(?>%s|%s|%s)%s" % (_SCALAR, array, struct, _GAP)


@cache
def _run_pattern(opening: int) -> re.Pattern[bytes]:
    """What passes over many fields of an object, or values of a list, at once: there may be millions before the wrong.

    Compiled when first asked for, since that takes tens of milliseconds.
    """
    field = _FIELD if opening == 0x7B else b""
    return re.compile(rb"(?>%s%s%s,)*+" % (_GAP, field, _value_pattern(_LEVELS)))


class _Wrong(Exception):
    """The message, without its position."""


def syntax_error(data: bytes, *, deepest: int = 10_000) -> str | None:
    """The message of Go's JSON scanner for a text, or None for one that it accepts."""
    try:
        _Scanner(data, deepest).scan()
    except _Wrong as wrong:
        return str(wrong)
    return None


class _Scanner:
    """Walks over one text; a space stands at its end, because Go tells of the end as of a space."""

    def __init__(self, data: bytes, deepest: int) -> None:
        self._data = data + b" "
        self._length = len(data)
        self._deepest = deepest
        self._at = 0
        self._open: list[int] = []

    def scan(self) -> None:
        self._value()
        while self._open:
            self._after_value()
        letter = self._skip()
        if self._at < self._length:
            raise self._wrong(letter, "after top-level value")

    def _skip(self) -> int:
        """The next letter that is no space; the space at the very end if there is none."""
        found = _SPACE.match(self._data, self._at)
        self._at = min(found.end() if found else self._at, self._length)
        return self._data[self._at]

    def _expect_more(self) -> int:
        letter = self._skip()
        if self._at >= self._length:
            raise _Wrong(_END)
        return letter

    def _value(self) -> None:
        """Read a value up to its end, or up to the first value or key inside it."""
        letter = self._expect_more()
        if letter in b"{[":
            self._at += 1
            self._open.append(letter)
            if len(self._open) > self._deepest:
                raise self._wrong(letter, "exceeded max depth")
            self._first_inside(letter)
        elif letter == 0x22:
            self._text()
        elif letter in _LITERALS:
            self._literal(_LITERALS[letter])
        elif letter == 0x2D or 0x30 <= letter <= 0x39:
            self._number()
        else:
            raise self._wrong(letter, _BEGIN)

    def _first_inside(self, opening: int) -> None:
        closing = 0x7D if opening == 0x7B else 0x5D
        if self._expect_more() == closing:
            self._at += 1
            self._open.pop()
        else:
            self._next_inside(opening)

    def _next_inside(self, opening: int) -> None:
        """Go to a value inside an object or list; it is read by the loop of ``scan``, so depth costs no recursion."""
        if len(self._open) + _LEVELS <= self._deepest:
            found = _run_pattern(opening).match(self._data, self._at)
            self._at = found.end() if found else self._at
        if opening == 0x7B:
            self._expect_more()
            self._key()
        else:
            self._open.append(0)

    def _after_value(self) -> None:
        top = self._open[-1]
        if top == 0:
            self._open.pop()
            self._value()
            return
        letter = self._expect_more()
        is_object = top == 0x7B
        if letter == (0x7D if is_object else 0x5D):
            self._open.pop()
        elif letter == 0x2C:
            self._at += 1
            self._next_inside(top)
            return
        else:
            raise self._wrong(letter, "after object key:value pair" if is_object else "after array element")
        self._at += 1

    def _key(self) -> None:
        letter = self._data[self._at]
        if letter != 0x22:
            raise self._wrong(letter, "looking for beginning of object key string")
        self._text()
        letter = self._expect_more()
        if letter != 0x3A:
            raise self._wrong(letter, "after object key")
        self._at += 1
        self._open.append(0)

    def _text(self) -> None:
        found = _TEXT.match(self._data, self._at + 1)
        end = found.end() if found else self._at + 1
        if end >= self._length:
            raise _Wrong(_END)
        letter = self._data[end]
        if letter == 0x5C:
            self._wrong_escape(end)
        if letter != 0x22:
            raise self._wrong(letter, "in string literal")
        self._at = end + 1

    def _wrong_escape(self, at: int) -> None:
        code = _CODE.match(self._data, at)
        if code is None:
            raise self._wrong(self._data[at + 1], "in string escape code")
        raise self._wrong(self._data[code.end()], "in \\u hexadecimal character escape")

    def _literal(self, word: bytes) -> None:
        for expected in word[1:]:
            self._at += 1
            letter = self._data[self._at]
            if letter != expected:
                raise self._wrong(letter, f"in literal {word.decode()} (expecting {_quoted(expected)})")
        self._at += 1

    def _number(self) -> None:
        if self._data[self._at] == 0x2D:
            self._at += 1
        if self._data[self._at] == 0x30:
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._data[self._at] == 0x2E:
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._data[self._at] in b"eE":
            self._at += 1
            if self._data[self._at] in b"+-":
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, where: str) -> None:
        found = _DIGITS.match(self._data, self._at)
        if found is None:
            raise self._wrong(self._data[self._at], where)
        self._at = found.end()

    def _wrong(self, letter: int, where: str) -> _Wrong:
        return _Wrong(f"invalid character {_quoted(letter)} {where}")


def _quoted(letter: int) -> str:
    character = chr(letter)
    if letter in _ESCAPES:
        return f"'{_ESCAPES[letter]}'"
    if character.isprintable():
        return f"'{character}'"
    return f"'\\x{letter:02x}'" if letter < 0x80 else f"'\\u{letter:04x}'"

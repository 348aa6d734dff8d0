"""Sets of characters as Go's regular expressions name them: ``[a-z]``, ``\\d``, ``[:alpha:]``, ``\\p{L}``."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Final

__all__ = ["PERL", "POSIX", "Matches", "either", "folded", "in_ranges", "negated", "unicode_class"]

Matches = Callable[[str], bool]
"""Whether a character belongs to a set."""

_ALIASES: Final = {
    "Casedletter": "LC",
    "Closepunctuation": "Pe",
    "Cntrl": "Cc",
    "Combiningmark": "M",
    "Connectorpunctuation": "Pc",
    "Control": "Cc",
    "Currencysymbol": "Sc",
    "Dashpunctuation": "Pd",
    "Decimalnumber": "Nd",
    "Digit": "Nd",
    "Enclosingmark": "Me",
    "Finalpunctuation": "Pf",
    "Format": "Cf",
    "Initialpunctuation": "Pi",
    "Lc": "LC",
    "Letter": "L",
    "Letternumber": "Nl",
    "Lineseparator": "Zl",
    "Lowercaseletter": "Ll",
    "Mark": "M",
    "Mathsymbol": "Sm",
    "Modifierletter": "Lm",
    "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn",
    "Number": "N",
    "Openpunctuation": "Ps",
    "Other": "C",
    "Otherletter": "Lo",
    "Othernumber": "No",
    "Otherpunctuation": "Po",
    "Othersymbol": "So",
    "Paragraphseparator": "Zp",
    "Privateuse": "Co",
    "Punct": "P",
    "Punctuation": "P",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Spacingmark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecaseletter": "Lt",
    "Unassigned": "Cn",
    "Uppercaseletter": "Lu",
}
_CATEGORIES: Final = frozenset(
    (
        "C", "Cc", "Cf", "Cn", "Co", "Cs", "L", "LC", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd",
        "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
    )
)  # fmt: skip
# Python knows no scripts; the names of characters begin with them.
_SCRIPTS: Final = frozenset(
    (
        "Arabic", "Armenian", "Bengali", "Bopomofo", "Cherokee", "Coptic", "Cyrillic", "Devanagari", "Ethiopic",
        "Georgian", "Gothic", "Greek", "Gujarati", "Gurmukhi", "Hangul", "Hebrew", "Hiragana", "Kannada", "Katakana",
        "Khmer", "Lao", "Latin", "Malayalam", "Mongolian", "Myanmar", "Ogham", "Oriya", "Runic", "Sinhala", "Syriac",
        "Tamil", "Telugu", "Thaana", "Thai", "Tibetan",
    )
)  # fmt: skip
_HAN: Final = ("CJK UNIFIED", "CJK COMPAT", "CJK RADICAL")
_FOLDED_TOO: Final = {
    "k": "\u212a",
    "s": "\u017f",
    "\u00e5": "\u212b",
    "\u00df": "\u1e9e",
    "\u03b2": "\u03d0",
    "\u03b5": "\u03f5",
    "\u03b8": "\u03d1\u03f4",
    "\u03b9": "\u0345\u1fbe",
    "\u03ba": "\u03f0",
    "\u03bc": "\u00b5",
    "\u03c0": "\u03d6",
    "\u03c1": "\u03f1",
    "\u03c3": "\u03c2",
    "\u03c6": "\u03d5",
    "\u03c9": "\u2126",
}
_FOLDED_ALONE: Final = frozenset("\u0130\u0131")


def in_ranges(*ranges: tuple[int, int]) -> Matches:
    """The set of the characters between the bounds of any range, bounds included."""
    bounds: list[int] = []
    for low, high in sorted(ranges):
        if bounds and low <= bounds[-1]:
            bounds[-1] = max(bounds[-1], high + 1)
        else:
            bounds += (low, high + 1)
    return lambda character: bisect_right(bounds, ord(character)) % 2 == 1


def negated(matches: Matches) -> Matches:
    """The set of all other characters."""
    return lambda character: not matches(character)


def either(sets: list[Matches]) -> Matches:
    """The union of sets."""
    return sets[0] if len(sets) == 1 else lambda character: any(matches(character) for matches in sets)


def folded(matches: Matches) -> Matches:
    """The set, and what differs from a member in case only."""
    return lambda character: any(map(matches, _orbit(character)))


@lru_cache(maxsize=1024)
def _orbit(character: str) -> frozenset[str]:
    if character in _FOLDED_ALONE:
        return frozenset(character)
    lower = character.upper().lower()
    lower = lower if len(lower) == 1 else character.lower()
    found = {character, lower, lower.upper(), character.lower(), character.upper(), character.title()}
    for base, more in _FOLDED_TOO.items():
        if base in found or character in more:
            found.update(base, base.upper(), more)
    return frozenset(one for one in found if len(one) == 1)


def unicode_class(name: str) -> Matches | None:
    """The set that ``\\p{name}`` names: a general category, one of its long names, or a script; None if unknown."""
    known = name.replace("_", "").replace("-", "").replace(" ", "").capitalize()
    if known == "Any":
        return lambda _: True
    if known == "Ascii":
        return in_ranges((0, 0x7F))
    if known == "Assigned":
        return lambda character: unicodedata.category(character) != "Cn"
    category = _ALIASES.get(known, known)
    if category in _CATEGORIES:
        wanted = ("Lu", "Ll", "Lt") if category == "LC" else (category,)
        return lambda character: unicodedata.category(character).startswith(wanted)
    return _script(known)


def _script(name: str) -> Matches | None:
    if name == "Han":
        return lambda character: unicodedata.name(character, "").startswith(_HAN)
    if name not in _SCRIPTS:
        return None
    prefix = name.upper() + " "
    return lambda letter: unicodedata.name(letter, "").startswith(prefix) and unicodedata.category(letter) != "Nd"


_DIGIT: Final = in_ranges((0x30, 0x39))
_SPACE: Final = in_ranges((0x9, 0xA), (0xC, 0xD), (0x20, 0x20))
_WORD: Final = in_ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))

PERL: Final[dict[str, tuple[Matches, bool]]] = {
    "d": (_DIGIT, False),
    "D": (_DIGIT, True),
    "s": (_SPACE, False),
    "S": (_SPACE, True),
    "w": (_WORD, False),
    "W": (_WORD, True),
}
"""The set of ``\\d`` and its kin, and whether it is negated."""

POSIX: Final[dict[str, Matches]] = {
    "alnum": in_ranges((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": in_ranges((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": in_ranges((0, 0x7F)),
    "blank": in_ranges((0x9, 0x9), (0x20, 0x20)),
    "cntrl": in_ranges((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": in_ranges((0x21, 0x7E)),
    "lower": in_ranges((0x61, 0x7A)),
    "print": in_ranges((0x20, 0x7E)),
    "punct": in_ranges((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": in_ranges((0x9, 0xD), (0x20, 0x20)),
    "upper": in_ranges((0x41, 0x5A)),
    "word": _WORD,
    "xdigit": in_ranges((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
"""The set of ``[:alpha:]`` and its kin."""

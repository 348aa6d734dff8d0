"""``Automaton``: a regular expression that runs in time linear in the text, whatever the pattern; for ``regexp``.

Python's own expressions backtrack: ``^(a+)+$`` takes them for ever. Here the states of a deterministic automaton are
made when a text first needs them and are kept for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from kubewright_apiserver.schema.charclass import Matches, in_ranges

__all__ = ["Assertion", "Automaton", "Char", "Choice", "Expression", "Repeat", "Sequence"]

_MOST_STATES: Final = 1000
_MOST_CHARACTERS: Final = 1000
_MOST_VERDICTS: Final = 500
_LONGEST_REMEMBERED: Final = 250
_is_word: Final = in_ranges((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))


class Char(NamedTuple):
    """One character of a set."""

    matches: Matches


class Assertion(NamedTuple):
    """A condition on the characters before and after a place: both empty at the ends of the text."""

    holds: Callable[[str, str], bool]


class Sequence(NamedTuple):
    """One expression after the other."""

    parts: tuple[Expression, ...]


class Choice(NamedTuple):
    """Any one of several expressions."""

    parts: tuple[Expression, ...]


class Repeat(NamedTuple):
    """An expression so many times; ``most`` is -1 for any number."""

    part: Expression
    least: int
    most: int


Expression = Char | Assertion | Sequence | Choice | Repeat


class _State(dict[str, "_State"]):
    """Where the automaton can be; maps the next character to the next state."""

    __slots__ = ("accepts", "automaton", "before", "places")

    def __init__(self, automaton: Automaton, places: frozenset[int], before: str) -> None:
        self.automaton: Automaton = automaton
        self.places: frozenset[int] = places
        self.before: str = before
        self.accepts: bool = automaton.is_matched(places, before, "")

    def __missing__(self, character: str) -> _State:
        state = self.automaton.advance(self, character)
        if len(self) < _MOST_CHARACTERS:
            self[character] = state
        return state


class Automaton:
    """Finds whether an expression occurs anywhere in a text."""

    def __init__(self, expression: Expression) -> None:
        # A place either reads a character of a set, or leads on to others, perhaps on a condition.
        self._reads: list[Matches | None] = []
        self._conditions: list[Callable[[str, str], bool] | None] = []
        self._onward: list[tuple[int, ...]] = []
        self._matched = self._place(None, ())
        self._start = self._add(expression, self._matched)
        self._states: dict[tuple[frozenset[int], str], _State] = {}
        self._found = _State(self, frozenset((self._matched,)), "x")
        self._first = self._state(frozenset((self._start,)), "")
        self._verdicts: dict[str, bool] = {}

    def matches(self, text: str) -> bool:
        """Whether the expression occurs in the text."""
        verdict = self._verdicts.get(text)
        return self._run(text) if verdict is None else verdict

    def _run(self, text: str) -> bool:
        state = self._first
        for character in text:
            state = state[character]
        # The same values come again and again: every update of an object brings its unchanged fields too.
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self._verdicts) >= _MOST_VERDICTS:
                self._verdicts.clear()
            self._verdicts[text] = state.accepts
        return state.accepts

    def advance(self, state: _State, character: str) -> _State:
        """The state after one more character."""
        if state is self._found:
            return state
        places = self._reachable(state.places, state.before, character)
        if self._matched in places:
            return self._found
        read = {self._onward[place][0] for place in places if self._accepts(place, character)}
        return self._state(frozenset((*read, self._start)), _context(character))

    def is_matched(self, places: Iterable[int], before: str, after: str) -> bool:
        """Whether an occurrence ends between these two characters."""
        return self._matched in self._reachable(places, before, after)

    def _accepts(self, place: int, character: str) -> bool:
        reads = self._reads[place]
        return reads is not None and reads(character)

    def _state(self, places: frozenset[int], before: str) -> _State:
        state = self._states.get((places, before))
        if state is None:
            if len(self._states) >= _MOST_STATES:
                self._states.clear()
                self._first = _State(self, frozenset((self._start,)), "")
            state = self._states[places, before] = _State(self, places, before)
        return state

    def _reachable(self, places: Iterable[int], before: str, after: str) -> set[int]:
        found: set[int] = set()
        pending = list(places)
        while pending:
            place = pending.pop()
            if place in found:
                continue
            condition = self._conditions[place]
            if condition is not None and not condition(before, after):
                continue
            found.add(place)
            if self._reads[place] is None:
                pending.extend(self._onward[place])
        return found

    def _place(self, reads: Matches | None, onward: tuple[int, ...]) -> int:
        self._reads.append(reads)
        self._conditions.append(None)
        self._onward.append(onward)
        return len(self._reads) - 1

    def _add(self, expression: Expression, then: int) -> int:
        match expression:
            case Char(matches):
                return self._place(matches, (then,))
            case Assertion(holds):
                place = self._place(None, (then,))
                self._conditions[place] = holds
                return place
            case Sequence(parts):
                for part in reversed(parts):
                    then = self._add(part, then)
                return then
            case Choice(parts):
                return self._place(None, tuple(self._add(part, then) for part in parts))
            case Repeat(part, least, most):
                return self._add_repeat(part, least, most, then)

    def _add_repeat(self, part: Expression, least: int, most: int, then: int) -> int:
        if most < 0:
            loop = self._place(None, ())
            self._onward[loop] = (self._add(part, loop), then)
            then = loop
        for _ in range(most - least):
            then = self._place(None, (self._add(part, then), then))
        for _ in range(least):
            then = self._add(part, then)
        return then


def _context(character: str) -> str:
    if character == "\n":
        return character
    return "w" if _is_word(character) else "-"

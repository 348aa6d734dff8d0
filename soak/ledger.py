"""``Ledger``: what a server has acknowledged and shown; later servers on the same data must agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Ledger", "Lost", "State", "state_of"]


class Lost(Exception):
    """A server contradicts what another one acknowledged or showed before it."""


class State(NamedTuple):
    """What is known of an object: its revision, 0 if nobody told, and the number that it holds, 0 if it is gone."""

    rev: int = 0
    number: int = 0


def state_of(obj: Any) -> State:
    """The state of an object as the server told it."""
    number = obj.get("data", {}).get("number", "0")
    return State(int(obj["metadata"]["resourceVersion"]), int(number))


class Ledger:
    """The objects by name: as acknowledged, as a watch showed them, and what was asked and never answered."""

    def __init__(self) -> None:
        self.since: int = 1
        """The last revision that the watch has shown, from which the next one goes on."""
        self.acknowledged: Counter[str] = Counter()
        """How many writes were, by verb."""
        self.unanswered: Counter[str] = Counter()
        """How many writes were not, by what the next server said of them: done, or not done."""
        self.events: int = 0
        """How many changes the watch has shown."""
        self._known: dict[str, State] = {}
        self._unsure: dict[str, State] = {}
        self._shown: dict[str, State] = {}
        self._unshown: set[int] = set()
        self._highest = 0

    def known(self, name: str) -> State:
        """The object as it was acknowledged last."""
        return self._known.get(name, State())

    def ask(self, name: str, number: int) -> None:
        """Note that an object was asked to hold a number, or to go if it is 0."""
        self._unsure[name] = State(0, number)

    def acknowledge(self, verb: str, name: str, state: State) -> None:
        """Note the answer to what was asked."""
        del self._unsure[name]
        self._known[name] = state
        if state.rev > self.since:
            self._unshown.add(state.rev)
        self._highest = max(self._highest, state.rev)
        self.acknowledged[verb] += 1

    def show(self, kind: str, obj: Any) -> None:
        """Note an event of the watch.

        Raises: `Lost` if it comes out of order.
        """
        name, state = obj["metadata"]["name"], state_of(obj)
        if state.rev <= self.since:
            raise Lost(f"{name} was shown at {state.rev} after {self.since}")
        self.since = state.rev
        self._shown[name] = State() if kind == "DELETED" else state
        self._unshown.discard(state.rev)
        self._highest = max(self._highest, state.rev)
        self.events += 1

    def begin_anew(self, items: Sequence[Any], rev: int) -> None:
        """Note a list from which the watch goes on, since it could not go on where it was."""
        self._shown = {item["metadata"]["name"]: state_of(item) for item in items}
        self.since = rev
        self._unshown = {later for later in self._unshown if later > rev}

    def verify(self, items: Sequence[Any], rev: int) -> None:
        """Compare with what a server lists before anybody else writes.

        Raises: `Lost` if something is missing that was acknowledged or shown, or there that nobody wrote.
        """
        if rev < self._highest:
            raise Lost(f"the revision went back from {self._highest} to {rev}")
        found = {item["metadata"]["name"]: state_of(item) for item in items}
        for name in {*self._known, *self._unsure, *found}:
            self._settle(name, found.get(name, State()))
        for name, shown in self._shown.items():
            known = self.known(name)
            if known.number and known.rev < shown.rev:
                raise Lost(f"{name} was shown as {shown} and is {known}")
        self._highest = rev
        self._unsure.clear()

    def _settle(self, name: str, found: State) -> None:
        known, unsure = self.known(name), self._unsure.get(name)
        if unsure is not None:
            self.unanswered["not done" if found == known else "done"] += 1
        if found == known:
            return
        if unsure is None:
            raise Lost(f"{name} was acknowledged as {known} and is {found}")
        if found.number != unsure.number or (found.number and found.rev <= known.rev):
            raise Lost(f"{name} was {known}, perhaps {unsure}, and is {found}")
        self._known[name] = found

    @property
    def unshown(self) -> str:
        """What the watch has not shown, or shown otherwise; nothing if all its events add up to what is there."""
        shown, known = _living(self._shown), _living(self._known)
        names = sorted(name for name in {*shown, *known} if shown.get(name) != known.get(name))
        told = [f"{name} is {known.get(name)}, shown as {shown.get(name)}" for name in names]
        return "; ".join([*(f"revision {rev} was not shown" for rev in sorted(self._unshown)), *told])


def _living(states: dict[str, State]) -> dict[str, State]:
    return {name: state for name, state in states.items() if state.number}

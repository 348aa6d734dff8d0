"""Bytes with a few changes, as a careless client or a curious one might send them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

__all__ = ["mutated"]

_MAGIC: Final = 4
_TELLING: Final = (0, 1, 2, 7, 8, 10, 12, 18, 26, 127, 128, 255)


def mutated(data: bytes, dice: Random) -> bytes:
    """The bytes with one to three changes after the first four."""
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        if len(changed) > _MAGIC:
            dice.choice(_CHANGES)(changed, dice.randrange(_MAGIC, len(changed)), dice)
    return bytes(changed)


def _replace(data: bytearray, at: int, dice: Random) -> None:
    data[at] = dice.choice((*_TELLING, dice.randrange(256)))


def _shift(data: bytearray, at: int, dice: Random) -> None:
    data[at] = (data[at] + dice.choice((-8, -1, 1, 8))) % 256


def _remove(data: bytearray, at: int, dice: Random) -> None:
    del data[at : at + dice.choice((1, 1, 2, 8, len(data)))]


def _insert(data: bytearray, at: int, dice: Random) -> None:
    data[at:at] = bytes(dice.choices((*_TELLING, dice.randrange(256)), k=dice.choice((1, 1, 2, 10))))


def _repeat(data: bytearray, at: int, dice: Random) -> None:
    begin = dice.randrange(_MAGIC, len(data))
    data[at:at] = data[begin : begin + dice.randrange(1, 40)]


_CHANGES: Final[tuple[Callable[[bytearray, int, Random], None], ...]] = (_replace, _shift, _remove, _insert, _repeat)

"""Writes the fixtures of the API server's tests of protobuf: ``make golden``."""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any, Final

from conformance.protobuf.mutation import mutated
from conformance.protobuf.oracle import decoded_by_go, encoded_by_go
from conformance.round_trip.golden import read_objects

_DATA: Final = Path(__file__).parents[2] / "apiserver/tests/data"
_SMALL: Final = 500
_MUTANTS: Final = 1500
# What can be decoded but not written as JSON: a server drops the connection of who sends it.
_UNWRITABLE: Final = ("panic: ", "json: error calling MarshalJSON")


def main() -> None:
    """Ask Go, write down what it says."""
    objects = read_objects()
    bodies = encoded_by_go(objects)
    pairs = ({"object": document, "data": body.hex()} for document, body in zip(objects, bodies, strict=True))
    _write("protobuf_objects", pairs)
    plain = [_without_managers(document) for document in objects]
    small = [pair for pair in zip(encoded_by_go(plain), plain, strict=True) if len(pair[0]) < _SMALL]
    mutants = _mutants(small)
    answers = zip(mutants, decoded_by_go(mutants), strict=True)
    told = [_case(data, like, answer) for (data, like), answer in answers if _is_told(answer)]
    _write("protobuf_mutants", told)
    sys.stdout.write(f"{len(objects)} objects and {len(told)} mutants\n")


def _without_managers(document: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
    return {**document, "metadata": metadata}


def _mutants(small: list[tuple[bytes, dict[str, Any]]]) -> list[tuple[bytes, dict[str, Any]]]:
    dice = Random(1)
    chosen = (dice.choice(small) for _ in range(_MUTANTS))
    return [(mutated(body, dice), document) for body, document in chosen]


def _is_told(answer: dict[str, Any]) -> bool:
    return not answer.get("error", "").startswith(_UNWRITABLE)


def _case(data: bytes, like: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    return {"kind": like["kind"], "version": like["apiVersion"], "data": data.hex(), **answer}


def _write(name: str, cases: Iterable[dict[str, Any]]) -> None:
    lines = (json.dumps(case, separators=(",", ":"), ensure_ascii=False) for case in cases)
    text = "".join(f"{line}\n" for line in lines)
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    (_DATA / f"{name}.jsonl.xz").write_bytes(packed)


if __name__ == "__main__":
    main()

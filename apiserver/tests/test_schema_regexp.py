"""Patterns mean what they mean to Go's regexp package, and none takes for ever."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.schema.regexp import RegexpError, compile_regexp

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())["regexps"]
FOUND = [case for case in CASES if "matches" in case]
WRONG = [case for case in CASES if "error" in case]


@pytest.mark.parametrize("case", FOUND, ids=[f"{case['pattern']} in {case['text']}" for case in FOUND])
def test_a_pattern_is_found_where_go_finds_it(case):
    assert compile_regexp(case["pattern"]).matches(case["text"]) is case["matches"]


@pytest.mark.parametrize("case", WRONG, ids=[case["pattern"] for case in WRONG])
def test_a_pattern_that_go_refuses_is_refused_in_gos_words(case):
    with pytest.raises(RegexpError) as caught:
        compile_regexp(case["pattern"])

    assert str(caught.value) == case["error"]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 50_000 + "!"),
        ("^(a|aa)*$", "a" * 50_000 + "!"),
        ("(x+x+)+y", "x" * 50_000),
        ("^(.*a.*){20}$", "b" * 20_000),
        ("a*a*a*a*a*a*b", "a" * 50_000),
    ],
)
def test_a_pattern_that_would_take_python_for_ever_takes_one_pass(pattern, text):
    assert not compile_regexp(pattern).matches(text)


def test_a_pattern_of_many_states_forgets_them_and_still_finds():
    automaton = compile_regexp("[01]*1[01]{10}x")
    text = "".join("01"[bool(number & 1 << place)] for number in range(600) for place in range(10))

    assert not automaton.matches(text)
    assert automaton.matches(text + "1" + "0" * 10 + "x")


def test_a_pattern_too_deep_or_too_large_is_refused():
    with pytest.raises(RegexpError, match="expression nests too deeply"):
        compile_regexp("(" * 2000 + ")" * 2000)
    with pytest.raises(RegexpError, match="expression too large"):
        compile_regexp("(" + "abc" * 100 + "){1000}")


def test_a_verdict_is_remembered_without_mixing_texts_up():
    automaton = compile_regexp("^a+$")

    verdicts = [automaton.matches(text) for text in ("a", "b", "a", "b") * 400]

    assert verdicts == [True, False, True, False] * 400

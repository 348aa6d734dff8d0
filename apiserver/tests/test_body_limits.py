"""Bodies that are large, deep or malicious: read or refused, and never slowly."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.json_syntax import syntax_error
from kubewright_apiserver.json_tree import HugeNumber, MalformedJson, read_json, read_untyped
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

END = "unexpected end of JSON input"


@pytest.mark.parametrize("digits", [310, 4_300, 4_301, 100_000])
def test_an_integer_of_many_digits_is_infinite_where_its_type_is_known(digits: int):
    assert read_json(b'{"a":' + b"1" * digits + b"}") == {"a": math.inf}


@pytest.mark.parametrize("digits", [310, 4_300, 4_301, 100_000])
def test_an_integer_of_many_digits_is_too_much_where_no_type_is_known(digits: int):
    with pytest.raises(HugeNumber, match=r"json: cannot unmarshal number 1+ into Go value of type float64"):
        read_untyped(b'{"a":' + b"1" * digits + b"}")


@pytest.mark.parametrize("digits", [20, 21, 309])
def test_an_integer_beyond_64_bits_is_a_float(digits: int):
    text = b'{"a":' + b"9" * digits + b"%s}"
    for rest in (b"", b',"b":"\xff"'):
        if digits < 309:
            assert read_untyped(text % rest)["a"] == float("9" * digits)
        assert read_json(text % rest)["a"] == float("9" * digits)


def test_a_yaml_number_of_many_digits_is_a_text():
    assert read_yaml(b"a: " + b"1" * 100_000)[0] == {"a": "1" * 100_000}


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"1," * 1_500_000,
        b"[" + b'{"a": [1, 2]}, ' * 190_000,
        b"{" + b'"k": {"a": "b"}, ' * 170_000,
        b"[" + b'"\\n\\u0041", ' * 200_000,
        b"[" + b"[],{}, " * 400_000,
    ],
    ids=["numbers", "objects", "fields", "texts", "empty"],
)
async def test_where_a_large_text_ends_is_found_quickly(text: bytes):
    loop = asyncio.get_running_loop()

    began = loop.time()
    message = syntax_error(text)

    assert message == END
    assert loop.time() - began < 4


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=5),
)


@settings(derandomize=True, max_examples=150)
@given(
    JSON,
    st.integers(0, 200),
    st.sampled_from(["", "{", "}", "[", "]", ",", ":", '"', "1", "0", "-", "e", "\\", " ", "x"]),
)
def test_a_text_is_accepted_exactly_if_it_is_json(value: Any, at: int, letter: str):
    text = json.dumps(value)
    at = min(at, len(text))
    changed = text[:at] + letter + text[at + 1 :]
    try:
        json.loads(changed, parse_constant=lambda word: pytest.fail(word))
    except ValueError:
        is_json = False
    else:
        is_json = True

    assert (syntax_error(changed.encode()) is None) is is_json


@pytest.mark.parametrize(("depth", "is_read"), [(249, True), (10_001, False), (1_000_000, False)])
def test_json_has_a_deepest_level(depth: int, is_read: bool):
    text = b"[" * depth + b"]" * depth
    if is_read:
        assert read_json(text)
    else:
        with pytest.raises(MalformedJson, match="invalid character '\\[' exceeded max depth"):
            read_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a: " + b"[" * 200_000, "yaml: exceeded max depth of 10000"),
        (b"a: 1\nb:\n  - " + b"{a: " * 200_000, "yaml: line 3: exceeded max depth of 10000"),
        (b"- " * 100_000, "yaml: exceeded max depth of 10000"),
        (b"? " * 100_000, "yaml: exceeded max depth of 10000"),
    ],
    ids=["lists", "maps", "items", "keys"],
)
async def test_yaml_that_is_too_deep_is_refused_quickly(text: bytes, message: str):
    loop = asyncio.get_running_loop()

    began = loop.time()
    with pytest.raises(MalformedYaml) as refused:
        read_yaml(text)

    assert str(refused.value) == message
    assert loop.time() - began < 2


def bomb(levels: int, inner: str) -> bytes:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{at}: &a{at} {inner.replace('*', ', '.join([f'*a{at - 1}'] * 10))}" for at in range(1, levels)]
    return "\n".join(lines).encode()


@pytest.mark.parametrize("inner", ["[*]", "{<<: [*]}", "{<<: [*], b: [*]}"])
@pytest.mark.parametrize("levels", [6, 30, 200])
def test_aliases_cannot_multiply_without_end(inner: str, levels: int):
    with pytest.raises(MalformedYaml, match="yaml: document contains excessive aliasing"):
        read_yaml(bomb(levels, inner))


@pytest.mark.parametrize("inner", ["[*]", "{<<: [*]}"])
def test_a_few_aliases_are_taken(inner: str):
    assert read_yaml(bomb(3, inner))[0].keys() == {"a0", "a1", "a2"}


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "a: &a {<<: [{x: 1}, *a]}"])
def test_an_anchor_cannot_contain_itself(text: str):
    with pytest.raises(MalformedYaml, match="yaml: anchor 'a' value contains itself"):
        read_yaml(text.encode())

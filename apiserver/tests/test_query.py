"""Parameters in URLs."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.query import read_query


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a=1", {"a": ["1"]}),
        ("a=1&b=2&a=3", {"a": ["1", "3"], "b": ["2"]}),
        ("a", {"a": [""]}),
        ("a=", {"a": [""]}),
        ("=1", {"": ["1"]}),
        ("&&a=1&", {"a": ["1"]}),
        ("a=b=c", {"a": ["b=c"]}),
        ("a+b=c+d", {"a b": ["c d"]}),
        ("%61=%62", {"a": ["b"]}),
        ("a=%C3%BC", {"a": ["ü"]}),
        ("a=%zz&b=1", {"b": ["1"]}),
        ("%=1&b=%4", {}),
        ("a;b=1&c=2", {"c": ["2"]}),
    ],
)
def test_parameters_are_read_as_go_reads_them(text: str, found: dict[str, list[str]]):
    assert read_query(text) == found


def test_of_more_than_ten_thousand_parameters_none_is_read():
    assert len(read_query("&".join(f"p{number}=1" for number in range(10_000)))) == 10_000
    assert read_query("&".join(f"p{number}=1" for number in range(10_001))) == {}


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.tuples(st.text(min_size=1), st.text())))
def test_what_is_well_formed_is_read_as_by_the_library(pairs: list[tuple[str, str]]):
    text = urlencode(pairs, errors="replace")

    assert read_query(text) == parse_qs(text, keep_blank_values=True, errors="replace")

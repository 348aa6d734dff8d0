"""Paths of printer columns; what the real server finds with them is in the conformance suite."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.tables.jsonpath import BadPath, Unfound, path_of

OBJECT = {"a": [{"n": "x", "v": 1}, {"n": "y", "v": 2}], "m": {"k.k": 3}, "t": "text"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a[0].n", ["x"]),
        (".a[*].v", [1, 2]),
        (".a[?(@.v>1)].n", ["y"]),
        (".a[?(@.n=='x')].v", [1]),
        (".a[0,1].n", ["x", "y"]),
        (".m.k\\.k", [3]),
        ("..n", ["x", "y"]),
        (".missing.deep", []),
        (".t.deep", []),
        (".a[1:1]", []),
    ],
)
def test_a_path_finds_values(path: str, found: list[Any]):
    assert path_of(path)([OBJECT]) == found


@pytest.mark.parametrize("path", [".t[0]", ".a[5]", ".m[?(@.x)]", ".a[?(@.v>'1')]", ".a[0:1:0]"])
def test_a_path_does_not_walk_what_is_of_another_type(path: str):
    with pytest.raises(Unfound):
        path_of(path)([OBJECT])


@pytest.mark.parametrize("path", [".a[", ".a[x]", ".a[?(@.n=='x)]", ".a....b", ".a[0]#", ".a[?(@.n)"])
def test_a_path_is_refused_when_it_is_none(path: str):
    with pytest.raises(BadPath):
        path_of(path)


@given(st.text(alphabet=".[]?()@'\"*:,-+1a$ {}<=!\\", max_size=12))
@settings(derandomize=True, max_examples=300)
def test_a_path_of_any_letters_finds_or_says_that_it_cannot(path: str):
    try:
        found = path_of(path)([OBJECT])
    except (BadPath, Unfound):
        return

    assert isinstance(found, list)

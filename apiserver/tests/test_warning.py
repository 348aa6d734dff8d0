"""Warnings as headers."""

from __future__ import annotations

import pytest

from kubewright_apiserver.warning import warning_headers


def texts(warnings: list[str]) -> list[str]:
    headers = warning_headers(warnings)
    assert all(name == "Warning" for name, _ in headers)
    return [value.removeprefix('299 - "').removesuffix('"') for _, value in headers]


def test_each_warning_is_told_once_in_order():
    assert texts(["b", "a", "b", ""]) == ["b", "a"]


def test_quotes_and_backslashes_are_escaped():
    assert warning_headers(['a "b" \\c']) == [("Warning", '299 - "a \\"b\\" \\\\c"')]


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\x00", "a\x7f", "a\x85", "\ud800"])
def test_control_characters_cannot_get_into_a_header(text: str):
    assert texts(["before", text, "after"]) == ["before", "after"]


def test_as_many_as_fit_are_whole():
    assert texts(["x" * 4096]) == ["x" * 4096]
    assert texts(["x" * 4000, "y" * 96]) == ["x" * 4000, "y" * 96]


def test_more_than_fit_are_all_cut():
    assert texts(["x" * 4097]) == ["x" * 256]
    assert texts(["x" * 4000, "y" * 97, "z" * 300]) == ["x" * 256, "y" * 97, "z" * 256]


def test_nothing_is_added_to_what_is_full():
    many = [f"{number:04}{'x' * 300}" for number in range(100)]

    told = texts(many)

    assert told == [text[:256] for text in many[:16]]


def test_letters_are_counted_not_bytes():
    assert texts(["ü" * 4096]) == ["ü" * 4096]

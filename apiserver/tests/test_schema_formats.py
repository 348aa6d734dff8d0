"""Formats of texts are checked as strictly as kube-apiserver's Go libraries check them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.schema.formats import effective_format, format_check, is_recognised_format
from kubewright_apiserver.schema.uri import UriError, parse_uri

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/custom_resources.json").read_text())["formats"]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['format']} {case['text'][:40]}" for case in CASES])
def test_a_text_has_a_format_when_go_says_so(case):
    check = format_check(case["format"])

    assert check is not None
    assert check(case["text"]) is case["matches"]


def test_a_verdict_stays_the_same_when_a_text_comes_again():
    check = format_check("date")

    assert check is not None
    assert [check("2024-02-29"), check("2023-02-29")] * 2 == [True, False] * 2


def test_a_format_that_nobody_knows_is_not_checked():
    assert format_check("colour") is None
    assert not is_recognised_format("string", "colour")


@pytest.mark.parametrize(
    ("schema", "checked"),
    [
        ({"type": "string", "format": "date-time"}, "date-time"),
        ({"format": "uri"}, "uri"),
        ({"type": "integer", "format": "int32"}, "int32"),
        ({"type": "integer", "format": "date"}, ""),
        ({"type": "number", "format": "int32"}, ""),
        ({"type": "object", "format": "date"}, ""),
        ({"x-kubernetes-int-or-string": True, "format": "date"}, "date"),
        ({"type": "string"}, ""),
    ],
)
def test_a_format_counts_only_on_its_type(schema, checked):
    assert effective_format(schema) == checked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://a:x/", 'parse "https://a:x/": invalid port ":x" after host'),
        ("https://[::1", "parse \"https://[::1\": missing ']' in host"),
        ("://x", 'parse "://x": missing protocol scheme'),
        ("a:b%", None),
        ("/%zz", 'parse "/%zz": invalid URL escape "%zz"'),
        ("a b:c", 'parse "a b:c": first path segment in URL cannot contain colon'),
        ("http://\x7f", 'parse "http://\x7f": net/url: invalid control character in URL'),
    ],
)
def test_a_url_is_refused_in_gos_words(text, message):
    if message is None:
        assert parse_uri(text).scheme == "a"
        return
    with pytest.raises(UriError) as caught:
        parse_uri(text)

    assert str(caught.value) == message


def test_a_url_comes_apart_into_what_webhooks_may_not_have():
    assert parse_uri("HTTP://u:p@h:1/p?q=1#f") == ("http", "h:1", "u:p", "q=1", "f")

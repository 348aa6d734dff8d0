"""Whatever comes, the parsers of requests give an answer or a refusal in their own words, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.body import body_format, patch_format, read_apply_body, read_body, read_options
from kubewright_apiserver.json_tree import HugeNumber, MalformedJson, read_json, read_tree, read_untyped, read_whole
from kubewright_apiserver.label_selectors import label_predicate
from kubewright_apiserver.negotiation import accepted_by, accepts_gzip, form_for, form_of_refusal
from kubewright_apiserver.patch import read_json_patch, read_merge_patch, read_strategic_patch
from kubewright_apiserver.path import address_in
from kubewright_apiserver.query import read_query
from kubewright_apiserver.schema.regexp import RegexpError, compile_regexp
from kubewright_apiserver.selectors import field_terms
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.verbs.continuing import read_token
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

WHOLE = settings(derandomize=True, deadline=None, max_examples=300)
LETTERS = st.text("/abpi1v.%2Fe;=&?*~\\\0\n ü\ufeff()!,<>'\"{}[]:-|#", max_size=40)
TEXTS = st.one_of(st.text(max_size=40), LETTERS)
NAMES = st.text(max_size=4)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = VALUES.map(lambda value: json.dumps(value).encode(errors="surrogatepass"))
SCRAPS = st.sampled_from(
    [b"{", b"}", b'"', b"\\ud800", b"\xff", b"\x00", b"1e999", b"[", b"&a ", b"*a ", b"- ", b"!!", b"%", b"---\n"]
)
BODIES = st.one_of(
    st.binary(max_size=60),
    DOCUMENTS,
    st.lists(st.one_of(DOCUMENTS, SCRAPS), max_size=4).map(b"".join),
    TEXTS.map(lambda text: text.encode(errors="surrogatepass")),
)


def refused(read: Callable[..., Any], *arguments: Any, **options: Any) -> int:
    """The status of the refusal, 0 if there is none."""
    try:
        read(*arguments, **options)
    except Refusal as refusal:
        return refusal.code
    return 0


@WHOLE
@given(TEXTS)
def test_an_address_is_read_or_none(path: str):
    address = address_in(path)

    assert address is None or address.plural is not None


@WHOLE
@given(TEXTS)
def test_a_query_is_always_read(text: str):
    for name, values in read_query(text).items():
        assert isinstance(name, str)
        assert values


@WHOLE
@given(TEXTS)
def test_selectors_are_read_or_refused(text: str):
    assert refused(label_predicate, text) in (0, 400)
    assert refused(field_terms, text) in (0, 400)


@WHOLE
@given(TEXTS)
def test_tokens_are_read_or_refused(text: str):
    assert refused(read_token, text) in (0, 400, 410)


@WHOLE
@given(TEXTS, st.booleans())
def test_types_of_bodies_are_known_or_refused(text: str, is_custom: bool):
    assert refused(body_format, text) in (0, 415)
    assert refused(patch_format, text, is_custom=is_custom) in (0, 415)


@WHOLE
@given(TEXTS, TEXTS, st.booleans(), st.booleans())
def test_what_a_client_takes_is_given_or_refused(accept: str, query: str, is_list: bool, is_routed: bool):
    headers = {"accept": accept, "user-agent": query}
    accepts_gzip(accept)
    form_of_refusal(headers, query)
    options = {"is_routed": is_routed, "is_list": is_list, "has_protobuf": True, "has_tables": True}

    status = refused(accepted_by, accept, **options)

    assert status in (0, 406)
    if not status:
        form_for(headers, query, accepted_by(accept, **options))


@WHOLE
@given(BODIES)
def test_json_is_read_or_malformed(data: bytes):
    for read in (read_json, read_untyped, read_whole):
        with suppress(MalformedJson, HugeNumber):
            read(data)
            read_tree(data)


@WHOLE
@given(BODIES)
def test_yaml_is_read_as_json_could_say_it_or_malformed(data: bytes):
    with suppress(MalformedYaml):
        value, _ = read_yaml(data)
        json.dumps(value, allow_nan=False)


@WHOLE
@given(BODIES, st.sampled_from(["", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]))
def test_bodies_are_read_or_refused(data: bytes, content_type: str):
    for is_custom in (False, True):
        assert refused(read_body, data, content_type, "Widget", is_custom=is_custom) in (0, 400, 415)
    assert refused(read_options, data, content_type) in (0, 400, 415)


@WHOLE
@given(BODIES, st.booleans())
def test_patches_are_read_or_refused(data: bytes, is_checked: bool):
    for read in (read_json_patch, read_merge_patch):
        for is_custom in (False, True):
            assert refused(read, data, is_checked=is_checked, is_custom=is_custom) in (0, 400, 413, 422)
    assert refused(read_strategic_patch, data, is_checked=is_checked) in (0, 400, 422)
    assert refused(read_apply_body, data) in (0, 400)


PATTERNS = st.text("ab()[]{}|*+?.^$\\-,0123:<>P=dwsp", max_size=20)


@WHOLE
@given(PATTERNS, st.text("ab01-", max_size=200))
def test_patterns_are_compiled_or_refused_and_never_take_long(pattern: str, text: str):
    with suppress(RegexpError):
        assert compile_regexp(pattern).matches(text) in (True, False)

"""Bodies are read as the real server reads them, and refused in its words; what it answered is recorded."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.body import Body, body_format, patch_format, read_apply_body, read_body, too_large
from kubewright_apiserver.json_syntax import syntax_error
from kubewright_apiserver.json_tree import MalformedJson, has_duplicates, read_json, read_tree, read_untyped
from kubewright_apiserver.schema.decoding import decode, decode_custom
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.yaml_body import MalformedYaml, read_yaml

RECORDED = json.loads((Path(__file__).parent / "data" / "bodies.json").read_text(encoding="utf-8"))
CONFIG_MAP = node_of_builtin("io.k8s.api.core.v1.ConfigMap")
UNKNOWN = "the body of the request was in an unknown format - accepted media types include: "
BODIES = UNKNOWN + "application/json, application/yaml, application/vnd.kubernetes.protobuf"
CUSTOM_PATCHES = UNKNOWN + "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("", "json"),
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("application/json;charset=latin1", "json"),
        ('application/json; a="x;y"', "json"),
        ("application/json;", "json"),
        ("APPLICATION/JSON", "json"),
        ("application/yaml", "yaml"),
        ("application/vnd.kubernetes.protobuf", "protobuf"),
    ],
)
def test_the_format_of_a_body_is_told_by_its_media_type(content_type, expected):
    assert body_format(content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    [
        "text/json",
        "application/xml",
        "text/plain",
        "garbage;;;",
        "application/json, text/plain",
        "application/cbor",
        "application/*",
        "*/*",
        'application/json; a="',
        "application/json; a=1; a=2",
    ],
)
def test_another_media_type_is_unsupported(content_type):
    with pytest.raises(Refusal) as refused:
        body_format(content_type)

    assert (refused.value.code, refused.value.reason) == (415, "UnsupportedMediaType")
    assert refused.value.message == BODIES


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json-patch+json", "json"),
        ("application/merge-patch+json", "merge"),
        ("application/merge-patch+json; charset=utf-8", "merge"),
        ("application/strategic-merge-patch+json", "strategic"),
        ("application/apply-patch+yaml", "apply"),
    ],
)
def test_the_kind_of_a_patch_is_told_by_its_media_type(content_type, expected):
    assert patch_format(content_type, is_custom=False) == expected


@pytest.mark.parametrize(
    "content_type",
    ["", "application/json", "application/Merge-patch+json", "application/apply-patch+cbor", "application/json;x=1"],
)
def test_another_patch_is_unsupported(content_type):
    with pytest.raises(Refusal) as builtin:
        patch_format(content_type, is_custom=False)
    with pytest.raises(Refusal) as custom:
        patch_format(content_type, is_custom=True)

    assert (builtin.value.code, builtin.value.message) == (415, "415: Unsupported Media Type")
    assert builtin.value.details == {}
    assert (custom.value.code, custom.value.message, custom.value.details) == (415, CUSTOM_PATCHES, None)


def test_custom_resources_know_no_strategic_merge():
    with pytest.raises(Refusal) as refused:
        patch_format("application/strategic-merge-patch+json", is_custom=True)

    assert refused.value.message == CUSTOM_PATCHES


def test_a_space_before_parameters_passes_the_router_but_not_the_handler():
    with pytest.raises(Refusal) as refused:
        patch_format("application/merge-patch+json ;x=1", is_custom=False)

    assert refused.value.message == (
        UNKNOWN + "application/json-patch+json, application/merge-patch+json, "
        "application/strategic-merge-patch+json, application/apply-patch+yaml"
    )


def test_a_body_that_is_too_large_is_told_the_limit():
    assert too_large().message == "Request entity too large: limit is 3145728"
    assert (too_large().code, too_large().reason) == (413, "RequestEntityTooLarge")


def answered(kind: str, data: bytes) -> tuple[int, str]:
    try:
        body = read_body(data, "application/json", kind, is_custom=kind == "Widget")
        if kind == "Widget":
            decode_custom(body, Identity("x.io", "v1", "Widget"))
        else:
            decode(body, CONFIG_MAP, Identity("", "v1", "ConfigMap"))
    except Refusal as refusal:
        return refusal.code, refusal.message
    return 200, ""


def written(sent: Any) -> bytes:
    if isinstance(sent, str):
        return sent.encode("latin-1")
    before, repeated, times = sent["repeat"]
    return bytes((before + repeated * times).encode())


@pytest.mark.parametrize(("kind", "sent", "code", "message"), RECORDED["json"])
def test_a_body_of_json_is_answered_as_by_the_real_server(kind, sent, code, message):
    assert answered(kind, written(sent)) == (code, message)


@pytest.mark.parametrize(("group", "version", "kind", "sent", "code", "message"), RECORDED["other_kinds"])
def test_a_body_of_another_kind_or_version_is_refused_in_the_real_servers_words(
    group, version, kind, sent, code, message
):
    with pytest.raises(Refusal) as refused:
        decode(read_body(sent.encode(), "", kind), CONFIG_MAP, Identity(group, version, kind))

    assert (refused.value.code, refused.value.message) == (code, message)


@pytest.mark.parametrize(
    ("sent", "expected"), [(sent, expected) for sent, expected in RECORDED["yaml"] if "error" not in expected]
)
def test_yaml_says_what_it_says_to_the_real_server(sent, expected):
    value, duplicates = read_yaml(sent.encode())

    # Fields that the custom resource does not have are not recorded, and numbers of many digits are floats.
    spec = {name: inner for name, inner in (value.get("spec") or {}).items() if name == "any"}
    assert spec == read_untyped(json.dumps(expected["spec"] or {}).encode())
    assert list(dict.fromkeys(duplicates)) == expected["duplicates"]


@pytest.mark.parametrize(
    ("sent", "expected"), [(sent, expected) for sent, expected in RECORDED["yaml"] if "error" in expected]
)
def test_bad_yaml_is_refused_in_the_real_servers_words(sent, expected):
    with pytest.raises(MalformedYaml) as refused:
        read_yaml(sent.encode())

    assert str(refused.value) == expected["error"]


@pytest.mark.parametrize(("sent", "message"), RECORDED["apply"])
def test_a_bad_body_of_an_apply_is_refused_in_the_real_servers_words(sent, message):
    with pytest.raises(Refusal) as refused:
        read_apply_body(sent.encode())

    assert (refused.value.code, refused.value.message) == (400, message)


def test_an_empty_apply_is_an_empty_object():
    assert read_apply_body(b"").value == {}


def test_a_few_aliases_cannot_stand_for_millions_of_values():
    names = "abcdefghi"
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]" for old, new in pairwise(names)]

    with pytest.raises(MalformedYaml, match="yaml: document contains excessive aliasing"):
        read_yaml("\n".join(lines).encode())


def test_yaml_that_is_too_deep_is_refused():
    with pytest.raises(MalformedYaml, match="yaml: exceeded max depth of 10000"):
        read_yaml(b"a: " + b"[" * 5000 + b"]" * 5000)


def test_json_that_is_too_deep_is_refused():
    with pytest.raises(MalformedJson, match="exceeded max depth"):
        read_json(b"[" * 2000 + b"]" * 2000)


def test_json_in_yaml_has_no_escaped_slash():
    assert read_apply_body(b'{"a":"x/y","b":1.0}').value == {"a": "x/y", "b": 1}
    with pytest.raises(Refusal, match="found unknown escape character"):
        read_apply_body(b'{"a":"x\\/y"}')


def test_yaml_is_sorted_before_it_is_decoded():
    body = read_body(b'{"b":1,"a":{"d":1,"c":2}}', "application/yaml", "ConfigMap")

    assert body.json == b'{"a":{"c":2,"d":1},"b":1}'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'"\\ud800x"', "\ufffdx"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud800\\u0041"', "\ufffdA"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\xc3(\xe2\x82"', "\ufffd(\ufffd\ufffd"),
    ],
)
def test_what_is_no_unicode_is_replaced_as_go_does(data, expected):
    assert read_json(data) == expected
    assert read_tree(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"1.0", 1.0),
        (b"1e3", 1000.0),
        (b"1.5", 1.5),
        (b"-0.0", -0.0),
        (b"9223372036854775807", 9223372036854775807),
        (b"9223372036854775808", 9.223372036854776e18),
        (b"18446744073709551616", 1.8446744073709552e19),
        (b"1e21", 1e21),
    ],
)
def test_a_number_without_a_type_is_an_integer_if_it_is_written_so_and_64_bits_hold_it(data, expected):
    value = read_untyped(data)

    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(("text", "expected"), [("1.0", 1), ("1e3", 1000), ("1.5", 1.5), ("1e21", 1e21)])
def test_a_whole_number_in_yaml_is_an_integer(text, expected):
    bodies = [
        read_body(template.encode() % text.encode(), "application/yaml", "X") for template in ('{"a": %s}', "a: %s")
    ]

    assert [body.value for body in bodies] == [{"a": expected}] * 2
    assert {type(body.value["a"]) for body in bodies} == {type(expected)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1,"b":{"a":1}}', False),
        (b'{"a":1,"a":1}', True),
        (b'{"x":[{"a":{},"a":{"b":":"}}]}', True),
        (b'{"a:":":b:","c":"\\":"}', False),
        (b'{"a\\u003a":1,"b":2,"b":3}', True),
        (b'{"a\\u003A":1}', False),
        (b'{ "a" : 1 , "b" : 2 }', False),
    ],
)
def test_a_field_that_comes_twice_is_noticed(data, expected):
    assert has_duplicates(data, read_json(data)) is expected


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(JSON, st.booleans(), st.sampled_from((None, 1)))
def test_json_that_anyone_writes_is_read(value, is_ascii, indent):
    data = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    is_unicode = "\\ud" not in json.dumps(value)

    assert syntax_error(data) is None
    if is_unicode:
        assert read_json(data) == value
        assert not has_duplicates(data, value)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text('{}[]":,\\u0123456789eE+-.tfnulrs \n', max_size=12))
def test_what_the_scanner_accepts_is_what_the_parser_accepts(text):
    try:
        json.loads(text)
        is_json = True
    except ValueError:
        is_json = False

    assert (syntax_error(text.encode()) is None) is is_json


def test_a_body_of_yaml_keeps_what_was_sent():
    sent = b"kind: ConfigMap\ndata: {a: '1', a: '2'}\n"

    assert read_body(sent, "application/yaml", "ConfigMap") == Body(
        {"kind": "ConfigMap", "data": {"a": "2"}},
        sent,
        is_yaml=True,
        yaml_duplicates=('line 2: key "a" already set in map',),
    )

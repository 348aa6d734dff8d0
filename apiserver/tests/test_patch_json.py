"""JSON patches come out as on the real server and are refused in its words; what it answered is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.patch.json import Operation, apply_json_patch, read_json_patch
from kubewright_apiserver.patch.refusals import rejected
from kubewright_apiserver.schema.decoding import decode_patched
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.schema.strictness import strict_message, warnings_of
from kubewright_apiserver.status import Refusal

RECORDED = json.loads((Path(__file__).parent / "data" / "json_patches.json").read_text(encoding="utf-8"))
LIVE: dict[str, Any] = RECORDED["live"]
CONFIG_MAP = node_of_builtin("io.k8s.api.core.v1.ConfigMap")
IDENTITY = Identity("", "v1", "ConfigMap")
REJECTED = "the server rejected our request due to an error in our request"
CASES = [(case, validation) for case in RECORDED["cases"] for validation in case["validation"]]


def parts(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    found = {"data": obj.get("data"), "binaryData": obj.get("binaryData")}
    return found | {name: metadata.get(name) for name in ("labels", "annotations", "finalizers")}


def answered(patch: str, validation: str) -> tuple[dict[str, Any], list[str]]:
    """What the server makes of a patch: the object, and warnings."""
    is_checked = validation != "Ignore"
    operations, strict = read_json_patch(patch.encode(), is_checked=is_checked)
    patched = apply_json_patch(LIVE, operations)
    try:
        decoded = decode_patched(patched, CONFIG_MAP, IDENTITY)
    except Undecodable as error:
        raise rejected(patched, str(error)) from None
    strict += decoded.strict if is_checked else []
    if strict and validation == "Strict":
        raise rejected(patched, strict_message(strict))
    return decoded.value, warnings_of(strict)


@pytest.mark.parametrize(
    ("case", "validation"), [(case, validation) for case, validation in CASES if case["code"] == 200]
)
def test_a_patch_does_what_it_does_on_the_real_server(case, validation):
    patched, warnings = answered(case["patch"], validation)

    before, after = parts(LIVE), parts(patched)
    assert {name: after[name] for name in after if after[name] != before[name]} == case["outcome"]
    assert warnings == case.get("warnings", [])


@pytest.mark.parametrize(
    ("case", "validation"), [(case, validation) for case, validation in CASES if case["code"] != 200]
)
def test_a_patch_is_refused_in_the_real_servers_words(case, validation):
    with pytest.raises(Refusal) as refused:
        answered(case["patch"], validation)

    assert (refused.value.code, refused.value.message) == (case["code"], case["message"])


def test_a_patch_that_does_not_apply_is_invalid_without_details():
    with pytest.raises(Refusal) as refused:
        answered('[{"op":"test","path":"/data/k","value":"w"}]', "Warn")

    assert (refused.value.reason, refused.value.details) == ("Invalid", {})


def test_too_many_operations_are_too_large_a_body():
    operations = [{"op": "add", "path": f"/data/a{number}", "value": "x"} for number in range(10_001)]

    with pytest.raises(Refusal) as refused:
        read_json_patch(json.dumps(operations).encode())

    message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert (refused.value.code, refused.value.reason) == (413, "RequestEntityTooLarge")
    assert refused.value.message == message


def test_copies_may_not_grow_an_object_without_end():
    big = {**LIVE, "data": {"big": "x" * 400_000}}
    copies = [{"op": "copy", "from": "/data/big", "path": f"/data/big{number}"} for number in range(9)]
    operations, _ = read_json_patch(json.dumps(copies).encode())

    assert len(apply_json_patch(big, operations[:7])["data"]) == 8
    with pytest.raises(Refusal, match=REJECTED):
        apply_json_patch(big, operations)


def test_a_patch_leaves_the_document_as_it_was():
    before = json.dumps(LIVE)

    answered('[{"op":"remove","path":"/data/k"},{"op":"add","path":"/metadata/finalizers/0","value":"f.io/z"}]', "Warn")

    assert json.dumps(LIVE) == before


def test_a_tilde_is_escaped_in_paths():
    operations, _ = read_json_patch(b'[{"op":"replace","path":"/a~0b~1c","value":1}]')

    assert apply_json_patch({"a~b/c": 0}, operations) == {"a~b/c": 1}


def test_a_later_operation_does_not_change_what_an_earlier_one_copied():
    operations, _ = read_json_patch(
        b'[{"op":"copy","from":"/a","path":"/b"},{"op":"add","path":"/b/x","value":1},'
        b'{"op":"add","path":"/c","value":{}},{"op":"add","path":"/c/y","value":2}]'
    )

    assert apply_json_patch({"a": {}}, operations) == {"a": {}, "b": {"x": 1}, "c": {"y": 2}}
    assert apply_json_patch({"a": {}}, operations) == {"a": {}, "b": {"x": 1}, "c": {"y": 2}}


def test_a_number_with_a_fraction_stays_a_float():
    data = b'[{"op":"add","path":"/n","value":1.0}]'

    (custom,), _ = read_json_patch(data, is_custom=True)
    (builtin,), _ = read_json_patch(data)

    assert type(custom.value) is float
    assert type(builtin.value) is float


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab/~<é", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.dictionaries(st.text("ab/~", max_size=2), VALUES, max_size=4), VALUES)
def test_what_was_added_can_be_tested_and_removed(document, value):
    path = "/new"
    add, test, remove = (
        Operation(op, path, None, value, json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        for op in ("add", "test", "remove")
    )
    is_plain = "<" not in json.dumps(value)

    added = apply_json_patch(document, [add])

    assert added == {**document, "new": value}
    assert apply_json_patch(added, [remove]) == document
    if is_plain:
        assert apply_json_patch(added, [test]) == added

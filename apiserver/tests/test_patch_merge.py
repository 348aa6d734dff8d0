"""Merge patches come out as on the real server and are refused in its words; what it answered is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.patch.merge import apply_merge_patch, read_merge_patch
from kubewright_apiserver.patch.refusals import rejected
from kubewright_apiserver.schema.decoding import decode_patched
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.schema.strictness import strict_message, warnings_of
from kubewright_apiserver.status import Refusal

RECORDED = json.loads((Path(__file__).parent / "data" / "merge_patches.json").read_text(encoding="utf-8"))
LIVE: dict[str, Any] = RECORDED["live"]
CONFIG_MAP = node_of_builtin("io.k8s.api.core.v1.ConfigMap")
CASES = [(case, validation) for case in RECORDED["cases"] for validation in case["validation"]]


def parts(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    found = {"data": obj.get("data"), "binaryData": obj.get("binaryData")}
    return found | {name: metadata.get(name) for name in ("labels", "annotations", "finalizers")}


def answered(data: str, validation: str) -> tuple[dict[str, Any], list[str]]:
    """What the server makes of a patch: the object, and warnings."""
    is_checked = validation != "Ignore"
    patch, strict = read_merge_patch(data.encode(), is_checked=is_checked)
    patched = apply_merge_patch(LIVE, patch)
    try:
        decoded = decode_patched(patched, CONFIG_MAP, Identity("", "v1", "ConfigMap"))
    except Undecodable as error:
        raise rejected(patched, str(error)) from None
    strict = strict + decoded.strict if is_checked else []
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


def test_nulls_stay_in_a_list_that_replaces_an_object():
    assert apply_merge_patch({"a": {"b": 1}}, {"a": [None, {"c": None}]}) == {"a": [None, {"c": None}]}


def test_nulls_go_from_objects_in_a_list_that_replaces_no_object():
    assert apply_merge_patch({"a": 1}, {"a": [None, {"c": None, "d": 1}]}) == {"a": [None, {"d": 1}]}


def test_a_number_with_a_fraction_stays_a_float():
    assert type(read_merge_patch(b'{"a":1.0}', is_custom=True)[0]["a"]) is float
    assert type(read_merge_patch(b'{"a":1.0}')[0]["a"]) is float


VALUES = st.recursive(
    st.none() | st.integers(-3, 3) | st.text("ab", max_size=2) | st.lists(st.integers(0, 1), max_size=2),
    lambda inner: st.dictionaries(st.text("abc", max_size=1), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text("abc", max_size=1), VALUES, max_size=3)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(OBJECTS, OBJECTS)
def test_a_patch_applied_twice_is_a_patch_applied_once(document, patch):
    before = json.dumps([document, patch])

    once = apply_merge_patch(document, patch)

    assert apply_merge_patch(once, patch) == once
    assert json.dumps([document, patch]) == before

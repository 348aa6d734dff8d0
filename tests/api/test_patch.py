from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.patch import PatchError, apply_json_patch, apply_merge_patch, json_patch, merge_patch, same

scalars = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "b"]), st.floats(-1, 1, width=16))
keys = st.sampled_from(["a", "b", "c/d", "e~f", "~1", "0", "-", ""])


def documents(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
    )
    return st.dictionaries(keys, values, max_size=4)


null_free = documents(scalars)
with_nulls = documents(scalars | st.none())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (None, None),
        (1, 1),
        ("x", "x"),
        ({"a": 1, "b": [True, None]}, {"b": [True, None], "a": 1}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2, "x": 1}}),
        (10**30, 10**30),
    ],
)
def test_same_values_are_the_same(a: Any, b: Any) -> None:
    assert same(a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (True, 1),
        (0, False),
        (1, 1.0),
        (None, False),
        ("1", 1),
        ([1], [True]),
        ({"a": 0}, {"a": False}),
        ({"a": None}, {}),
        ([1, 2], [2, 1]),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}),
    ],
)
def test_values_that_python_may_hold_equal_are_not_the_same(a: Any, b: Any) -> None:
    assert not same(a, b)
    assert not same(b, a)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({}, {}, {}),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 2}]}}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1}, {}, {"a": None}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": {}}, {"a": {}}),
        ({"a": 1}, {"a": None}, {"a": None}),
        ({"a": None}, {"a": None}, {}),
        ({"a": None}, {}, {"a": None}),
        ({}, {"a": None}, {}),
    ],
)
def test_merge_patch_says_what_changed(before: Any, after: Any, patch: Any) -> None:
    assert same(merge_patch(before, after), patch)


# The examples of RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_apply_merge_patch_does_as_the_rfc_shows(document: Any, patch: Any, result: Any) -> None:
    assert same(apply_merge_patch(document, patch), result)


@pytest.mark.parametrize(
    ("before", "after", "operations"),
    [
        ({"a": 1}, {"a": 1}, []),
        (1, 2, [{"op": "replace", "path": "", "value": 2}]),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a": 1}, {"a": None}, [{"op": "replace", "path": "/a", "value": None}]),
        ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
        ({}, {"a/b": 1, "c~d": 2}, [
            {"op": "add", "path": "/a~1b", "value": 1}, {"op": "add", "path": "/c~0d", "value": 2}]),
        ({"l": [1, 2, 3, 4]}, {"l": [1, 2, 4]}, [{"op": "remove", "path": "/l/2"}]),
        ({"l": [1, 2, 3, 4]}, {"l": [1, 9, 2, 3, 4]}, [{"op": "add", "path": "/l/1", "value": 9}]),
        ({"l": [1, 2, 3]}, {"l": [1, 2, 3, 4]}, [{"op": "add", "path": "/l/3", "value": 4}]),
        ({"l": [1, 2]}, {"l": []}, [{"op": "replace", "path": "/l", "value": []}]),
        ({"l": [{"n": "a", "v": 1}, {"n": "b", "v": 1}]}, {"l": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]}, [
            {"op": "replace", "path": "/l/1/v", "value": 2}]),
    ],
)  # fmt: skip
def test_json_patch_is_small(before: Any, after: Any, operations: Any) -> None:
    assert same(json_patch(before, after), operations)


def test_json_patch_replaces_huge_lists_whole_instead_of_comparing_all_items() -> None:
    before, after = {"l": list(range(2000))}, {"l": list(range(1, 2000))}

    operations = json_patch(before, after)

    assert [operation["path"] for operation in operations] == ["/l"]
    assert same(apply_json_patch(before, operations), after)


def test_guard_tests_what_is_changed_or_removed() -> None:
    before, after = {"a": 1, "b": 2, "same": 3}, {"a": 9, "c": 4, "same": 3}

    assert json_patch(before, after, guard=True) == [
        {"op": "test", "path": "/b", "value": 2},
        {"op": "remove", "path": "/b"},
        {"op": "test", "path": "/a", "value": 1},
        {"op": "replace", "path": "/a", "value": 9},
        {"op": "add", "path": "/c", "value": 4},
    ]


def test_guard_tests_a_changed_list_whole_and_once() -> None:
    items = [{"name": "a", "image": "x" * 40}, {"name": "b", "image": "y" * 40}]
    before, after = {"l": items}, {"l": [items[0], {"name": "b", "image": "z"}]}

    assert json_patch(before, after, guard=True) == [
        {"op": "test", "path": "/l", "value": items},
        {"op": "replace", "path": "/l/1/image", "value": "z"},
    ]


@pytest.mark.parametrize("meanwhile", [{"l": [2, 1], "a": 1}, {"l": [1, 2], "a": 5}, {"l": [1, 2]}])
def test_guarded_patch_is_refused_after_a_concurrent_change(meanwhile: dict[str, Any]) -> None:
    operations = json_patch({"l": [1, 2], "a": 1}, {"l": [1, 2, 3], "a": 2}, guard=True)

    with pytest.raises(PatchError):
        apply_json_patch(meanwhile, operations)


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}),
        ({"a": [1]}, {"op": "add", "path": "/a/0", "value": 0}, {"a": [0, 1]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}),
        ({"a": 1}, {"op": "add", "path": "", "value": [2]}, [2]),
        ({"a": None}, {"op": "replace", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/1", "value": 3}, {"a": [1, 3]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": None}, None),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a/b": 1, "~1": 2}, {"op": "remove", "path": "/~01"}, {"a/b": 1}),
        ({"a/b": 1, "~1": 2}, {"op": "remove", "path": "/a~1b"}, {"~1": 2}),
        ({"": {"": 1}}, {"op": "remove", "path": "//"}, {"": {}}),
        ({"-": 1}, {"op": "remove", "path": "/-"}, {}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}),
        ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/a/c"}, {"a": {"b": 1, "c": {"b": 1}}}),
        ({"a": 1}, {"op": "copy", "from": "", "path": "/b"}, {"a": 1, "b": {"a": 1}}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1.0}, {"a": 1}),
        ({"a": [{"b": None}]}, {"op": "test", "path": "", "value": {"a": [{"b": None}]}}, {"a": [{"b": None}]}),
    ],
)
def test_apply_json_patch_does_each_operation(document: Any, operation: Any, result: Any) -> None:
    assert same(apply_json_patch(document, [operation]), result)


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        ({"op": "remove", "path": "/x"}, "there is no 'x'"),
        ({"op": "replace", "path": "/x", "value": 1}, "there is no 'x'"),
        ({"op": "add", "path": "/x/y", "value": 1}, "there is no 'x'"),
        ({"op": "add", "path": "/n/y", "value": 1}, "there is no 'y' in a scalar"),
        ({"op": "remove", "path": "/n/y"}, "there is no 'y' in a scalar"),
        ({"op": "add", "path": "/l/3", "value": 1}, "index 3 is out of range"),
        ({"op": "replace", "path": "/l/2", "value": 1}, "index 2 is out of range"),
        ({"op": "remove", "path": "/l/-"}, "'-' is not an index of a list"),
        ({"op": "remove", "path": "/l/01"}, "'01' is not an index of a list"),
        ({"op": "remove", "path": "/l/-1"}, "'-1' is not an index of a list"),
        ({"op": "remove", "path": "/l/\u0661"}, "is not an index of a list"),
        ({"op": "remove", "path": f"/l/{'9' * 5000}"}, "is out of range"),
        ({"op": "remove", "path": ""}, "the whole document cannot be removed"),
        ({"op": "test", "path": "/n", "value": 2}, "the value there is another one"),
        ({"op": "test", "path": "/n", "value": True}, "the value there is another one"),
        ({"op": "test", "path": "/l", "value": [1]}, "the value there is another one"),
        ({"op": "test", "path": "", "value": {}}, "the value there is another one"),
        ({"op": "move", "from": "/m", "path": "/m/x"}, "cannot be moved from '/m' into itself"),
        ({"op": "move", "from": "/x", "path": "/y"}, "there is no 'x'"),
        ({"op": "copy", "path": "/y"}, "'from' is missing"),
        ({"op": "copy", "path": "/y", "from": 1}, "from 1 must be empty or begin with '/'"),
        ({"op": "add", "path": "/y"}, "'value' is missing"),
        ({"op": "remove"}, "'path' is missing"),
        ({"op": "remove", "path": "n"}, "path 'n' must be empty or begin with '/'"),
        ({"op": "remove", "path": "/~2"}, "has a '~' that is neither"),
        ({"op": "merge", "path": "/n"}, "op must be one of"),
        ({"path": "/n"}, "op must be one of"),
        ({"op": [], "path": "/n"}, "op must be one of"),
        ("remove", "must be an object, not str"),
    ],
)
def test_apply_json_patch_refuses_by_operation_and_path(operation: Any, problem: str) -> None:
    document = {"n": 1, "l": [1, 2], "m": {}}
    before = copy.deepcopy(document)

    with pytest.raises(PatchError, match=r"^JSON patch operation 1") as caught:
        apply_json_patch(document, [{"op": "add", "path": "/new", "value": 1}, operation])

    assert problem in str(caught.value)
    if isinstance(operation, dict):
        assert repr(operation.get("path", "without path"))[:300] in str(caught.value)
    assert document == before


def test_apply_json_patch_does_not_tell_values() -> None:
    with pytest.raises(PatchError) as caught:
        apply_json_patch({"password": "hunter2"}, [{"op": "test", "path": "/password", "value": "12345"}])

    assert "hunter2" not in str(caught.value)
    assert "12345" not in str(caught.value)


def test_apply_json_patch_leaves_the_values_of_operations_alone() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "add", "path": "/a", "value": {}},
        {"op": "add", "path": "/a/b", "value": 1},
    ]

    result = apply_json_patch({}, operations)

    assert result == {"a": {"b": 1}}
    assert operations[0]["value"] == {}


def test_apply_json_patch_copies_what_it_copies() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/x", "value": 1},
    ]

    assert apply_json_patch({"a": {}}, operations) == {"a": {}, "b": {"x": 1}}


@given(null_free, null_free)
@settings(derandomize=True)
def test_merge_patch_leads_from_before_to_after(before: dict[str, Any], after: dict[str, Any]) -> None:
    untouched = copy.deepcopy((before, after))

    patch = merge_patch(before, after)

    assert same(apply_merge_patch(before, patch), after)
    assert (patch == {}) is same(before, after)
    assert (before, after) == untouched


@given(with_nulls, with_nulls, st.booleans())
@settings(derandomize=True)
def test_json_patch_leads_from_before_to_after(before: dict[str, Any], after: dict[str, Any], guard: bool) -> None:
    untouched = copy.deepcopy((before, after))

    operations = json_patch(before, after, guard=guard)

    assert same(apply_json_patch(before, operations), after)
    assert (operations == []) is same(before, after)
    assert (before, after) == untouched


@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12))
@settings(derandomize=True)
def test_json_patch_of_lists_leads_from_before_to_after(before: list[str], after: list[str]) -> None:
    # Items long enough that single operations are shorter than the whole list.
    old, new = [item * 60 for item in before], [item * 60 for item in after]

    assert apply_json_patch(old, json_patch(old, new)) == new

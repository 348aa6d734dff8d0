"""Field sets read, print and compute as structured-merge-diff's do."""

import json
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.patch.fieldset import EMPTY, FieldSet, Tree

NAMES = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"'])
PATHS = st.sets(st.lists(NAMES, min_size=1, max_size=3).map(tuple), max_size=8)


def set_of(paths: Collection[tuple[str, ...]]) -> FieldSet:
    result = EMPTY
    for path in sorted(paths):
        tree: Tree = {}
        for element in reversed(path):
            tree = {element: tree}
        result = result.union(FieldSet(tree))
    return result


def paths_of(fields: FieldSet, prefix: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = set()
    for element, below in fields.tree.items():
        path = (*prefix, element)
        if element != ".":
            found |= {path} if not below or "." in below else set()
            found |= paths_of(FieldSet(below), path)
    return found


@settings(derandomize=True)
@given(PATHS)
def test_a_set_has_the_paths_that_were_put_in(paths):
    fields = set_of(paths)

    assert paths_of(fields) == paths
    assert all(fields.has(path) for path in paths)
    assert bool(fields) == bool(paths)


@settings(derandomize=True)
@given(PATHS, PATHS)
def test_union_difference_and_intersection_are_those_of_the_paths(one, other):
    ours, theirs = set_of(one), set_of(other)

    assert paths_of(ours.union(theirs)) == one | other
    assert paths_of(ours.difference(theirs)) == one - other
    assert paths_of(ours.intersection(theirs)) == one & other


@settings(derandomize=True)
@given(PATHS, PATHS)
def test_a_recursive_difference_drops_what_is_below_the_other_set_too(one, other):
    rest = set_of(one).recursive_difference(set_of(other))

    assert paths_of(rest) == {path for path in one if not any(path[: len(gone)] == gone for gone in other)}


@settings(derandomize=True)
@given(PATHS)
def test_leaves_are_the_paths_with_nothing_below_them(paths):
    leaves = set_of(paths).leaves()

    assert paths_of(leaves) == {
        path for path in paths if not any(len(below) > len(path) and below[: len(path)] == path for below in paths)
    }


@settings(derandomize=True)
@given(PATHS)
def test_fields_v1_says_the_whole_set(paths):
    fields = set_of(paths)

    assert FieldSet.from_fields_v1(fields.to_fields_v1()) == fields


def test_fields_v1_marks_with_a_dot_what_is_owned_beside_its_parts():
    fields = FieldSet.of_paths(("data",), ("data", "a"), ("metadata", "labels", "b"))

    assert fields.to_fields_v1() == {"f:data": {".": {}, "f:a": {}}, "f:metadata": {"f:labels": {"f:b": {}}}}


def test_fields_v1_lists_fields_then_keys_then_values_then_places_each_by_value():
    elements = ["i:2", "i:10", 'v:"b"', "v:10", "v:9", "v:true", 'k:{"port":443}', 'k:{"port":80}', "f:z", "f:b"]

    fields = FieldSet.from_fields_v1({element: {} for element in elements})

    assert list(fields.to_fields_v1()) == [
        "f:b", "f:z", 'k:{"port":80}', 'k:{"port":443}', "v:9", "v:10", 'v:"b"', "v:true", "i:2", "i:10",
    ]  # fmt: skip


def test_fields_v1_is_fresh_each_time():
    fields = FieldSet.of_paths(("data", "a"))

    fields.to_fields_v1()["f:data"]["f:b"] = {}

    assert fields.to_fields_v1() == {"f:data": {"f:a": {}}}


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ('k:{ "b" : 1.0, "a" : "x" }', 'k:{"a":"x","b":1}'),
        ("v:1e3", "v:1000"),
        ("v:9007199254740993", "v:9007199254740992"),
        ('v:"a<b"', 'v:"a\\u003cb"'),
        ('v:"\\b\\\\b"', 'v:"\\u0008\\\\b"'),
        ("v:1.5", "v:1.5"),
        ("v:1e-7", "v:1e-7"),
        ("v:1e21", "v:1e+21"),
        ("v:[1,{}]", "v:[1,{}]"),
        ("i:007", "i:7"),
        ("f:a:b", "f:a:b"),
    ],
)
def test_an_element_has_one_spelling(sent, kept):
    assert list(FieldSet.from_fields_v1({sent: {}}).to_fields_v1()) == [kept]


def test_elements_of_unknown_kinds_are_left_out():
    assert FieldSet.from_fields_v1({"f:a": {"z:b": {}}, "z:c": {}}).to_fields_v1() == {"f:a": {}}


def test_null_and_a_dot_alone_say_that_the_element_is_in_the_set():
    assert FieldSet.from_fields_v1({"f:a": None, "f:b": {".": {}}, ".": {}}).to_fields_v1() == {"f:a": {}, "f:b": {}}


@pytest.mark.parametrize("nonsense", [{"a": {}}, {"name": {}}, {"v:": {}}, {"k:[]": {}}, {"i:x": {}}, {"f:a": 3}, []])
def test_nonsense_is_no_field_set(nonsense):
    with pytest.raises(ValueError, match=r"."):
        FieldSet.from_fields_v1(nonsense)


def test_paths_are_printed_as_kubernetes_does():
    fields = FieldSet.from_fields_v1(
        {
            "f:spec": {
                "f:l": {'k:{"name":"c\\"","port":80}': {".": {}, "f:image": {}}, 'v:"x"': {}, "i:3": {}, "v:1": {}}
            },
            "f:metadata": {"f:labels": {"f:a.b/c": {}}},
        }
    )

    assert list(fields) == [
        ".metadata.labels.a.b/c",
        '.spec.l[name="c\\"",port=80]',
        ".spec.l[=1]",
        '.spec.l[="x"]',
        ".spec.l[3]",
        '.spec.l[name="c\\"",port=80].image',
    ]


def test_whole_numbers_from_a_million_on_are_printed_with_an_exponent():
    fields = FieldSet.from_fields_v1({"v:999999": {}, "v:1234567": {}, "v:-20000000": {}, "v:0": {}, "v:0.00001": {}})

    assert list(fields) == ["[=-2e+07]", "[=0]", "[=1e-05]", "[=999999]", "[=1.234567e+06]"]


def test_the_paths_of_a_level_are_told_before_those_below_it():
    fields = FieldSet.from_fields_v1({"f:a": {"f:b": {}}, "f:c": {".": {}, "f:d": {}}, "f:e": {}})

    assert list(fields) == [".c", ".e", ".a.b", ".c.d"]


def test_a_set_has_neither_the_whole_object_nor_what_leads_to_its_members():
    fields = FieldSet.of_paths(("spec", "replicas"))

    assert fields.has(("f:spec", "f:replicas"))
    assert not fields.has(("f:spec",))
    assert not fields.has(("f:spec", "f:replicas", "f:x"))
    assert not fields.has(())


def test_the_same_text_is_decoded_once():
    content: Tree = {"f:data": {"f:a": {}}}

    assert FieldSet.from_fields_v1(content) is FieldSet.from_fields_v1(json.loads(json.dumps(content)))

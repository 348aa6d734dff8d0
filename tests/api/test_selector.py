from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.selector import (
    FieldSelector,
    FieldTerm,
    LabelSelector,
    LabelSelectorRequirement,
    field_selector_text,
    label_selector_text,
)

LONG = "x" * 63


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (" \t", ""),
        ("a", "a"),
        ("!a", "!a"),
        (" ! a ", "!a"),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a\t=\nb", "a=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a!=b", "a notin (b)"),
        ("a!=", "a notin ()"),
        ("a in (c,b,b)", "a in (b,c)"),
        ("a in(b)", "a in (b)"),
        ("a in ()", "a in ()"),
        ("a in (,b)", "a in (,b)"),
        ("a in (b,,c)", "a in (,b,c)"),
        ("a notin (b)", "a notin (b)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin", "notin"),
        ("a=in", "a=in"),
        ("a>1", "a>1"),
        ("a < 5", "a<5"),
        ("b=1,a=1", "a=1,b=1"),
        ("a=b,a=c", "a=b,a in (c)"),
        ("a=b,a=b", "a=b"),
        ("example.com/a.b_c-d=E.f_g-h", "example.com/a.b_c-d=E.f_g-h"),
        (f"{LONG}={LONG}", f"{LONG}={LONG}"),
        (f"{'a.' * 126}a/b", f"{'a.' * 126}a/b"),
        ("app=web,tier in (a,b),!canary", "app=web,!canary,tier in (a,b)"),
    ],
)
def test_label_selector_is_printed_as_kubectl_does(text: str, printed: str) -> None:
    selector = LabelSelector.parse(text)

    assert str(selector) == selector.text == printed
    assert LabelSelector.parse(printed).text == printed


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a,", 3, "expected a label key after ',', found the end"),
        (",a", 1, "expected a label key, found ','"),
        ("a,,b", 3, "expected a label key, found ','"),
        ("!", 2, "expected a label key, found the end"),
        ("!!a", 2, "expected a label key, found '!'"),
        ("!a=b", 3, "expected ',' or the end, found '='"),
        ("a b", 3, "expected one of = == != in notin > <, found 'b'"),
        ("a (b)", 3, "expected one of = == != in notin > <, found '('"),
        ("a=b c", 5, "expected ',' or the end, found 'c'"),
        ("a=b=c", 4, "expected ',' or the end, found '='"),
        ("a in b", 6, "expected '(', found 'b'"),
        ("a in", 5, "expected '(', found the end"),
        ("a in (b", 8, "expected ',' or ')', found the end"),
        ("a in (b c)", 9, "expected ',' or ')', found 'c'"),
        ("a in (b))", 9, "expected ',' or the end, found ')'"),
        ("a>", 2, "needs a whole number"),
        ("a>x", 2, "needs a whole number"),
        ("a>=1", 2, "needs a whole number"),
        ("a<9223372036854775808", 2, "needs a whole number"),
        ("a>-1", 3, "label value '-1'"),
        ("x=1,-a", 5, "label key '-a'"),
        ("a.=1", 1, "label key 'a.'"),
        ("a/", 1, "label key 'a/'"),
        ("/a", 1, "prefix of label key '/a'"),
        ("a/b/c", 1, "prefix of label key 'a/b/c'"),
        ("Example.com/a", 1, "prefix of label key 'Example.com/a'"),
        (f"{'a.' * 126}aa/b", 1, "prefix of label key"),
        (f"{LONG}x", 1, "label key"),
        (f"a={LONG}x", 3, "label value"),
        ("a=b/c", 3, "label value 'b/c'"),
        ("a in (ok,-x)", 10, "label value '-x'"),
        ("a=é", 3, "label value 'é'"),
        ("a=b\x00", 3, "label value"),
    ],
)
def test_label_selector_refuses_by_part_and_position(text: str, position: int, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^label selector ") as caught:
        LabelSelector.parse(text)

    assert f"character {position}: " in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("", {"a": "b"}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("!a", {"a": ""}, False),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a=", {"a": ""}, True),
        ("a=", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a!=b", {"a": "c"}, True),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {"a": "d"}, False),
        ("a in (b,c)", {}, False),
        ("a in ()", {"a": ""}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a notin (b,c)", {"a": "d"}, True),
        ("a notin (b,c)", {}, True),
        ("a>1", {"a": "2"}, True),
        ("a>1", {"a": "1"}, False),
        ("a>1", {}, False),
        ("a>1", {"a": "x"}, False),
        ("a>1", {"a": "1_0"}, False),
        ("a>1", {"a": "9223372036854775808"}, False),
        ("a<1", {"a": "-5"}, True),
        ("a<1", {"a": "007"}, False),
        ("a=b,a=c", {"a": "b"}, False),
        ("a=b,!c", {"a": "b"}, True),
        ("a=b,!c", {"a": "b", "c": ""}, False),
    ],
)
def test_label_selector_matches_as_the_api_server_does(text: str, labels: dict[str, str], matches: bool) -> None:
    assert LabelSelector.parse(text).matches(labels) is matches


def test_label_selector_parses_equality_into_match_labels() -> None:
    selector = LabelSelector.parse("a=b,c!=d,e")

    assert selector == LabelSelector(
        match_labels={"a": "b"},
        match_expressions=[
            LabelSelectorRequirement(key="c", operator="NotIn", values=["d"]),
            LabelSelectorRequirement(key="e", operator="Exists"),
        ],
    )


def test_label_selector_speaks_kubernetes_json() -> None:
    selector = LabelSelector.parse("a=b,c")

    document = msgspec.json.decode(msgspec.json.encode(selector))

    assert document == {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    assert msgspec.convert(document, LabelSelector) == selector


def test_requirement_with_an_unknown_operator_is_refused() -> None:
    requirement = LabelSelectorRequirement(key="a", operator="Like", values=["b"])

    with pytest.raises(ValueError, match="operator 'Like' on label 'a'"):
        requirement.matches({"a": "b"})


def test_requirement_to_compare_without_one_number_matches_nothing() -> None:
    assert not LabelSelectorRequirement(key="a", operator="Gt").matches({"a": "1"})
    assert not LabelSelectorRequirement(key="a", operator="Lt", values=["5", "6"]).matches({"a": "1"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (" a == b ", "a=b"),
        ({}, ""),
        ({"b": "2", "a": "1"}, "a=1,b=2"),
        (LabelSelector(), ""),
        (LabelSelector(match_labels={"a": "1"}), "a=1"),
        (LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="Lt", values=["1"])]), "a<1"),
        (
            LabelSelector(match_expressions=[LabelSelectorRequirement(key="a", operator="In", values=["c", "b"])]),
            "a in (b,c)",
        ),
    ],
)
def test_label_selector_text_takes_text_labels_and_selectors(
    value: str | Mapping[str, str] | LabelSelector, text: str
) -> None:
    assert label_selector_text(value) == text


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a b", "expected one of"),
        ({"a b": "c"}, "label key 'a b'"),
        ({"a": "b c"}, "label value 'b c'"),
        (LabelSelectorRequirement(key="a", operator="In"), "In on label 'a' needs at least one value"),
        (LabelSelectorRequirement(key="a", operator="Exists", values=["b"]), "Exists on label 'a' takes no values"),
        (LabelSelectorRequirement(key="a", operator="Gt", values=["b"]), "Gt on label 'a' needs one whole number"),
        (LabelSelectorRequirement(key="a", operator="Gt"), "Gt on label 'a' needs one whole number"),
        (LabelSelectorRequirement(key="a", operator="in", values=["b"]), "operator 'in' on label 'a' must be In"),
        (LabelSelectorRequirement(key="-", operator="Exists"), "label key '-'"),
        (LabelSelectorRequirement(key="a", operator="NotIn", values=["b", "-"]), "label value '-'"),
    ],
)
def test_label_selector_text_refuses_what_the_server_would(
    value: str | Mapping[str, str] | LabelSelectorRequirement, problem: str
) -> None:
    selector = LabelSelector(match_expressions=[value]) if isinstance(value, LabelSelectorRequirement) else value

    with pytest.raises(ValueError, match=r"^label selector") as caught:
        label_selector_text(selector)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "terms", "printed"),
    [
        ("", (), ""),
        ("a=b", (FieldTerm("a", "b"),), "a=b"),
        ("a==b", (FieldTerm("a", "b"),), "a=b"),
        ("a!=b", (FieldTerm("a", "b", negated=True),), "a!=b"),
        ("a=", (FieldTerm("a", ""),), "a="),
        (",b=1,,a=2,", (FieldTerm("a", "2"), FieldTerm("b", "1")), "a=2,b=1"),
        (r"a=b\=c\,d\\", (FieldTerm("a", "b=c,d\\"),), r"a=b\=c\,d\\"),
        ("a= b\n", (FieldTerm("a", " b\n"),), "a= b\n"),
        ("a=!b", (FieldTerm("a", "!b"),), "a=!b"),
        ("metadata.name=x", (FieldTerm("metadata.name", "x"),), "metadata.name=x"),
    ],
)
def test_field_selector_reads_and_prints_terms(text: str, terms: tuple[FieldTerm, ...], printed: str) -> None:
    selector = FieldSelector.parse(text)

    assert selector.terms == terms
    assert str(selector) == selector.text == printed


@pytest.mark.parametrize(
    ("text", "position", "problem"),
    [
        ("a", 1, "expected path=value or path!=value, found 'a'"),
        ("a=b,c", 5, "expected path=value or path!=value, found 'c'"),
        ("=b", 1, "is not the path of a field"),
        ("a =b", 1, "is not the path of a field"),
        ("a!b=c", 1, "is not the path of a field"),
        ("a=b=c", 1, r"write '=', ',' and '\' in the value 'b=c' as '\=', '\,' and '\\'"),
        ("a===b", 1, "in the value '=b'"),
        (r"x=y,a=b\c", 5, "in the value"),
        ("a=b\\", 1, "in the value"),
    ],
)
def test_field_selector_refuses_by_term(text: str, position: int, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^field selector ") as caught:
        FieldSelector.parse(text)

    assert f"character {position}: " in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "fields", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a=", {}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a!=", {}, False),
        ("a=b,c!=d", {"a": "b", "c": "e"}, True),
        ("a=b,c!=d", {"a": "b", "c": "d"}, False),
    ],
)
def test_field_selector_matches_absent_fields_as_empty(text: str, fields: dict[str, str], matches: bool) -> None:
    assert FieldSelector.parse(text).matches(fields) is matches


def test_field_selector_of_a_mapping_wants_each_value() -> None:
    selector = FieldSelector.of({"b": "x,y", "a": "1"})

    assert selector.text == r"a=1,b=x\,y"
    assert selector.matches({"a": "1", "b": "x,y"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("b==1,a!=2", "a!=2,b=1"),
        ({"spec.nodeName": "a=b"}, r"spec.nodeName=a\=b"),
        (FieldSelector((FieldTerm("b", "1"), FieldTerm("a", "2", negated=True))), "a!=2,b=1"),
    ],
)
def test_field_selector_text_takes_text_fields_and_selectors(
    value: str | Mapping[str, str] | FieldSelector, text: str
) -> None:
    assert field_selector_text(value) == text


@pytest.mark.parametrize("path", ["", "a=b", "a,b", "a!", "a b"])
def test_field_selector_text_refuses_what_is_no_path(path: str) -> None:
    with pytest.raises(ValueError, match="is not the path of a field"):
        field_selector_text({path: "x"})


@given(st.dictionaries(st.sampled_from(["a", "b", "spec.c"]), st.text(max_size=8)))
@settings(derandomize=True)
def test_field_selector_text_names_any_value(fields: dict[str, str]) -> None:
    selector = FieldSelector.parse(field_selector_text(fields))

    assert selector == FieldSelector.of(fields)
    assert selector.matches(fields)


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "x", "y", "1", "2"]))
requirements = st.sampled_from(
    ["a", "!a", "a=x", "b!=y", "c in (x,y)", "c notin (,y)", "a>1", "b<2", "b=", "a=x,a=y", "c!=1"]
)


@given(st.lists(requirements, max_size=4), labels)
@settings(derandomize=True)
def test_label_selector_is_the_conjunction_of_its_requirements(parts: list[str], found: dict[str, str]) -> None:
    selector = LabelSelector.parse(",".join(parts))

    assert selector.matches(found) is all(LabelSelector.parse(part).matches(found) for part in parts)
    assert LabelSelector.parse(selector.text).matches(found) is selector.matches(found)

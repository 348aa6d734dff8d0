from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.config.section import Section
from kubewright.errors import ConfigError


def section(**values) -> Section:
    return Section.of(
        {key.replace("_", "-"): value for key, value in values.items()}, "users[a].user", "file", Path("/f")
    )


def test_absent_and_null_fields_are_empty():
    empty = section(text=None, list=None, flag=None, map=None)

    assert [empty.text("text"), empty.text("none")] == ["", ""]
    assert [empty.texts("list"), empty.texts("none")] == [(), ()]
    assert [empty.flag("flag"), empty.flag("none")] == [False, False]
    assert [empty.data("text"), empty.path("text")] == [b"", None]
    assert [dict(empty.section("map").values), list(empty.sections("list"))] == [{}, []]


@pytest.mark.parametrize("value", [12345, 1.5, True, ["hunter2"], {"hunter2": 1}])
def test_text_that_is_none_is_refused_by_name_and_without_its_value(value):
    with pytest.raises(ConfigError, match=r"^file: users\[a\]\.user\.password must be a string: put it in quotes$"):
        section(password=value).text("password")


def test_list_flag_and_mapping_of_another_type_are_refused():
    odd = section(list="a", items=["a", 1], flag="true", map=["a"], maps=["a"])

    for read, key, problem in [
        (odd.texts, "list", "list must be a list"),
        (odd.texts, "items", "items must be a list of strings"),
        (odd.flag, "flag", "flag must be true or false"),
        (odd.section, "map", "map must be a mapping"),
        (odd.sections, "maps", r"maps\[0\] must be a mapping"),
    ]:
        with pytest.raises(ConfigError, match=rf"users\[a\]\.user\.{problem}"):
            read(key)


def test_data_is_decoded_from_base64_with_line_ends_in_it():
    assert section(ca_data="aGVs\nbG8=\n").data("ca-data") == b"hello"


@pytest.mark.parametrize("value", ["hunter2!", "aGVsbG8", "käse"])
def test_data_that_is_not_base64_is_refused_without_showing_it(value):
    with pytest.raises(ConfigError, match=r"user\.ca-data is not base64$"):
        section(ca_data=value).data("ca-data")


def test_path_starts_from_the_folder_unless_it_is_absolute():
    paths = section(relative="../certs/ca.crt", absolute="/etc/ca.crt")

    assert paths.path("relative") == Path("/f/../certs/ca.crt")
    assert paths.path("absolute") == Path("/etc/ca.crt")


def test_named_entries_are_found_by_name():
    whole = Section.of({"users": [{"name": "a", "user": {"token": "x"}}, {"name": "b"}]}, "", "file", Path("/f"))

    found = whole.named("users", "user")

    assert found["a"].text("token") == "x"
    assert (found["a"].name, found["b"].values) == ("users[a].user", {})


@pytest.mark.parametrize(
    ("users", "problem"),
    [
        ([{"user": {}}], r"users\[0\]\.name is missing"),
        ([{"name": "a"}, {"name": "a"}], "users has two entries of the name 'a'"),
        ([{"name": "a", "user": "x"}], r"users\[a\]\.user must be a mapping"),
    ],
)
def test_named_entries_without_a_name_of_their_own_are_refused(users, problem):
    with pytest.raises(ConfigError, match=problem):
        Section.of({"users": users}, "", "file", Path("/f")).named("users", "user")

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.config.kubeconfig import Kubeconfig
from kubewright.errors import ConfigError


def kubeconfig(origin: str = "file", **content) -> Kubeconfig:
    return Kubeconfig.of({key.replace("_", "-"): value for key, value in content.items()}, origin, Path("/f"))


def cluster(name: str, server: str = "https://host"):
    return {"name": name, "cluster": {"server": server}}


def user(name: str, **fields):
    return {"name": name, "user": fields}


def context(name: str, **fields):
    return {"name": name, "context": {"cluster": "c", "user": "u", **fields}}


def whole(**content) -> Kubeconfig:
    defaults = {"clusters": [cluster("c")], "users": [user("u")], "contexts": [context("x"), context("y")]}
    return kubeconfig(**{**defaults, "current_context": "x", **content})


def test_file_is_read(tmp_path):
    file = tmp_path / "config"
    file.write_text(
        """
apiVersion: v1
kind: Config
current-context: x
clusters: [{name: c, cluster: {server: "https://host"}}]
users:
- name: u
  user:
    token: abc
    expiry: 2024-13-45T00:00:00Z
    since: 2024-01-01
contexts:
- name: x
  context: {cluster: c, user: u, namespace: n}
"""
    )

    found = Kubeconfig.read(file).select()

    assert (found.context, found.namespace) == ("x", "n")
    assert found.cluster.text("server") == "https://host"
    assert found.user.text("expiry") == "2024-13-45T00:00:00Z"
    assert found.user.text("since") == "2024-01-01"
    assert found.user.folder == tmp_path


def test_file_may_be_json_or_empty(tmp_path):
    json, empty = tmp_path / "json", tmp_path / "empty"
    json.write_text('{"current-context": "x",\n\t"contexts": null}')
    empty.write_text("# nothing\n")

    assert Kubeconfig.read(json).current_context == "x"
    assert Kubeconfig.read(empty).is_empty


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("clusters:\n- name: [a\nusers: {}\n", r", line 3, column \d+: not valid YAML"),
        ("a: b: c\n", r", line 1, column 5: not valid YAML"),
        ("users:\n\t- name: a", r", line 2, column 1: not valid YAML"),
        ("user: *hunter2", r", line 1, column 7: not valid YAML: found undefined alias"),
        ("user: !hunter2 x", r", line 1, column 7: not valid YAML: .*…"),
        ("a: 1\n---\nb: 2\n", r", line 2, column 1: not valid YAML"),
        (b"\xff\xff\x00hunter2", ": not valid YAML"),
        (b"a: \x01hunter2", ": not valid YAML"),
        ("[" * 5000, "(, line .*)?: not valid YAML"),
        ("user: !!int hunter2", ": not valid YAML"),
        ("user: !!bool hunter2", ": not valid YAML"),
        ("? [hunter2]\n: x", ", line 1, column 3: not valid YAML: found unhashable key"),
    ],
)
def test_malformed_file_is_an_error_with_the_place_and_nothing_of_its_content(tmp_path, content, place):
    file = tmp_path / "config"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(ConfigError, match=f"^{file}{place}") as caught:
        Kubeconfig.read(file)

    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("content", ["- a", "hunter2", "12"])
def test_file_that_is_no_mapping_is_an_error(tmp_path, content):
    file = tmp_path / "config"
    file.write_text(content)

    with pytest.raises(ConfigError, match=f"^{file}: the file must be a mapping$"):
        Kubeconfig.read(file)


def test_file_with_another_object_is_an_error(tmp_path):
    file = tmp_path / "config"
    file.write_text("apiVersion: v1\nkind: Pod")

    with pytest.raises(ConfigError, match="is not a kubeconfig, but holds an object of the kind Pod"):
        Kubeconfig.read(file)


def test_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=f"cannot read the kubeconfig {tmp_path}: Is a directory"):
        Kubeconfig.read(tmp_path)


def test_missing_file_is_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError):
        Kubeconfig.read(tmp_path / "absent")


def test_merge_takes_each_entry_whole_from_the_first_file_that_has_it():
    first = kubeconfig("one", users=[user("u", token="first")], clusters=[cluster("a")])
    second = kubeconfig("two", users=[user("u", username="x"), user("v")], clusters=[cluster("a", "other")])

    merged = Kubeconfig.merged([first, second])

    assert merged.users["u"].values == {"token": "first"}
    assert merged.users["u"].origin == "one"
    assert merged.users["v"].origin == "two"
    assert merged.clusters["a"].text("server") == "https://host"
    assert merged.origin == "one, two"


def test_merge_takes_the_current_context_of_the_first_file_that_has_one():
    parts = [kubeconfig(current_context=name) for name in ("", "x", "y")]

    assert Kubeconfig.merged(parts).current_context == "x"


names = st.sampled_from("abcd")


@given(st.lists(st.dictionaries(names, st.integers().map(str)), max_size=4))
@settings(derandomize=True)
def test_merge_gives_every_name_its_first_value(files):
    merged = Kubeconfig.merged(
        kubeconfig(users=[user(name, token=value) for name, value in file.items()]) for file in files
    )

    for name in "abcd":
        values = [file[name] for file in files if name in file]
        assert (name in merged.users) == bool(values)
        if values:
            assert merged.users[name].text("token") == values[0]


def test_context_given_wins_over_the_current_one():
    assert whole().select().context == "x"
    assert whole().select("y").context == "y"


def test_namespace_is_default_when_the_context_has_none():
    assert whole().select().namespace == "default"


@pytest.mark.parametrize("namespace", ["Big", "a_b", "-a", "a" * 64])
def test_namespace_that_is_no_label_is_an_error(namespace):
    with pytest.raises(ConfigError, match=r"contexts\[x\]\.context\.namespace .* is no name of a namespace"):
        whole(contexts=[context("x", namespace=namespace)]).select()


def test_wrong_context_is_an_error_that_lists_those_that_exist():
    with pytest.raises(ConfigError, match="there is no context 'z' in file; there is x, y"):
        whole().select("z")


def test_wrong_current_context_is_an_error_that_lists_those_that_exist():
    with pytest.raises(ConfigError, match="there is no context 'z' in file; there is x, y"):
        whole(current_context="z").select()


def test_missing_current_context_is_an_error_that_lists_contexts():
    with pytest.raises(ConfigError, match=r"file has no current-context; give a context \(x, y\)"):
        whole(current_context="").select()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"clusters": [cluster("d")]}, "cluster refers to 'c', which is not there; there is d"),
        ({"users": None}, "user refers to 'u', which is not there; there is none"),
        ({"contexts": [{"name": "x", "context": {"cluster": "c"}}]}, "user is missing; there is u"),
        ({"contexts": [{"name": "x"}]}, "cluster is missing; there is c"),
    ],
)
def test_context_that_refers_to_nothing_is_an_error(content, problem):
    with pytest.raises(ConfigError, match=rf"^file: contexts\[x\]\.context\.{problem}"):
        whole(**content).select()


def test_faults_of_entries_that_are_not_selected_do_not_matter():
    found = whole(users=[user("u", token="x"), user("other", token=1)], clusters=[cluster("c"), {"name": "d"}])

    assert found.select().user.text("token") == "x"

"""Settings from file, environment and flags."""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path

import pytest

from kubewright.errors import ConfigError
from kubewright.operator.settings import Settings, add_flags, parse_duration


def test_flags_win_over_environment_and_environment_over_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("log_level: debug\nlog-format: json\ngrace: 5s\n")

    settings = Settings.load({"log_level": "error"}, {"KUBEWRIGHT_SETTINGS": str(file), "KUBEWRIGHT_GRACE": "7s"})

    assert settings.log_level == "error"
    assert settings.log_format == "json"
    assert settings.grace == timedelta(seconds=7)


def test_every_setting_has_a_flag_and_help() -> None:
    parser = argparse.ArgumentParser(prog="x")
    add_flags(parser)

    told = vars(parser.parse_args([]))

    assert set(told) == {*Settings.__struct_fields__, "settings"}


def test_every_setting_can_be_told_by_environment() -> None:
    told = {
        "KUBECONFIG": "a",
        "CONTEXT": "b",
        "NAMESPACES": "x, y",
        "LEADER_ELECTION": "true",
        "LEASE_NAMESPACE": "c",
        "IDENTITY": "d",
        "LISTEN": ":1",
        "LOG_FORMAT": "text",
        "LOG_LEVEL": "WARNING",
        "GRACE": "1m",
        "BLOCKED_AFTER": "500ms",
        "INSTALL_CRDS": "yes",
        "UVLOOP": "no",
    }

    settings = Settings.load({}, {f"KUBEWRIGHT_{name}": value for name, value in told.items()})

    assert settings == Settings(
        kubeconfig="a",
        context="b",
        namespaces=("x", "y"),
        leader_election=True,
        lease_namespace="c",
        identity="d",
        listen=":1",
        log_format="text",
        log_level="warning",
        grace=timedelta(minutes=1),
        blocked_after=timedelta(milliseconds=500),
        install_crds=True,
        uvloop=False,
    )


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"KUBEWRIGHT_GRACE": "soon"}, "KUBEWRIGHT_GRACE: 'soon' is not a duration like 500ms, 30s, 5m or 1h30m"),
        ({"KUBEWRIGHT_LEADER_ELECTION": "maybe"}, "KUBEWRIGHT_LEADER_ELECTION: 'maybe' is neither true nor false"),
        ({"KUBEWRIGHT_LOG_FORMAT": "xml"}, "KUBEWRIGHT_LOG_FORMAT: 'xml' is none of auto, text, json"),
        ({"KUBEWRIGHT_NAMESPACES": ","}, "KUBEWRIGHT_NAMESPACES: name at least one namespace"),
    ],
)
def test_a_wrong_value_names_its_source_and_what_it_must_be(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load({}, environment)

    assert str(caught.value) == message


def test_an_unknown_setting_in_a_file_names_file_and_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("loglevel: debug\n")

    with pytest.raises(ConfigError, match=r"settings.yaml: there is no setting 'loglevel'; there are: kubeconfig, "):
        Settings.load({"settings": str(file)}, {})


@pytest.mark.parametrize(("text", "said"), [("a: [", "is not YAML"), ("- a\n", "must hold settings by name")])
def test_a_file_that_is_no_settings_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)

    with pytest.raises(ConfigError, match=said):
        Settings.load({"settings": str(file)}, {})


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere.yaml cannot be read: No such file"):
        Settings.load({"settings": str(tmp_path / "nowhere.yaml")}, {})


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("1h30m", 5400), ("250ms", 0.25), ("1.5m", 90), ("0s", 0)])
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "30", "s", "5 m", "1d", "-1s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration like"):
        parse_duration(text)

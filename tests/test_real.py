from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import require_binaries
from tests.testing.scripted import write_script


@pytest.fixture(autouse=True)
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("KUBEWRIGHT_REAL", raising=False)
    monkeypatch.setenv("KUBEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_a_real_test_is_skipped_with_the_reason_when_the_binaries_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="make real"):
        require_binaries()


def test_a_real_test_is_left_to_make_conformance_by_make_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWRIGHT_REAL", "no")

    with pytest.raises(pytest.skip.Exception, match="make conformance"):
        require_binaries()


def test_a_real_test_is_skipped_in_ci_without_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(pytest.skip.Exception, match="make real"):
        require_binaries()


def test_a_real_test_fails_in_ci_with_go_when_the_binaries_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    write_script(tmp_path / "bin" / "go", "exit 0")

    with pytest.raises(pytest.fail.Exception, match="make real"):
        require_binaries()

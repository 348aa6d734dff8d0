from __future__ import annotations

from kubewright.testing.flags import merged


def test_merged_flags_replace_the_default_of_the_same_name() -> None:
    assert merged(["--mode=RBAC", "--port=1"], ["--mode=AlwaysAllow"]) == ["--port=1", "--mode=AlwaysAllow"]


def test_merged_flags_keep_a_default_whose_name_only_begins_alike() -> None:
    assert merged(["--service-account-key-file=a"], ["--service-account=b"]) == [
        "--service-account-key-file=a",
        "--service-account=b",
    ]


def test_merged_flags_replace_a_default_when_the_value_stands_apart() -> None:
    assert merged(["--mode=RBAC"], ["--mode", "AlwaysAllow"]) == ["--mode", "AlwaysAllow"]

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.config.impersonation import Impersonation


def test_headers_repeat_groups_and_values():
    someone = Impersonation("jane", "42", ("devs", "admins"), {"scopes": ("view", "edit")})

    assert someone.headers() == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "devs"),
        ("Impersonate-Group", "admins"),
        ("Impersonate-Extra-scopes", "view"),
        ("Impersonate-Extra-scopes", "edit"),
    ]


def test_header_names_escape_what_they_cannot_hold():
    someone = Impersonation("jane", extra={"acme.com/pro%ject é": ("x",)})

    assert someone.headers()[1:] == [("Impersonate-Extra-acme.com%2Fpro%25ject%20%C3%A9", "x")]


@given(st.text(min_size=1))
@settings(derandomize=True)
def test_any_key_is_read_back_from_its_header_name(key):
    name, _ = Impersonation("jane", extra={key: ("x",)}).headers()[1]

    assert name.isascii()
    assert unquote(name.removeprefix("Impersonate-Extra-")) == key

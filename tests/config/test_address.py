from __future__ import annotations

import pytest

from kubewright.config.address import parts_of, redacted


@pytest.mark.parametrize(
    ("url", "port"), [("https://host", None), ("https://[::1]:6443/path", 6443), ("ftp://u@h:1", 1)]
)
def test_parts_are_those_of_the_url(url, port):
    parts = parts_of(url)

    assert parts is not None
    assert parts.port == port


@pytest.mark.parametrize("text", ["", "host", "host:80", "http://", "http://host:0", "http://host:no", "http://[::1"])
def test_parts_of_what_names_no_host_and_port_are_none(text):
    assert parts_of(text) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:hunter2@proxy:3128/path?key=1", "http://…@proxy:3128/path"),
        ("http://me:hunt@er2@proxy", "http://…@proxy"),
        ("https://proxy", "https://proxy"),
        ("me:hunter2@proxy:1", "…"),
        ("http://[broken", "…"),
        ("http://me:hunter2", "…"),
        ("https://[::1]:6443/p", "https://[::1]:6443/p"),
    ],
)
def test_redacted_url_has_no_credentials(url, shown):
    assert redacted(url) == shown

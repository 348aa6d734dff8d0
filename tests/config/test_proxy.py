from __future__ import annotations

import pytest

from kubewright.config.proxy import checked_proxy, proxy_for
from kubewright.errors import ConfigError

PROXY = "http://proxy:3128"


def goes_through_proxy(url: str, no_proxy: str) -> bool:
    return proxy_for(url, {"HTTPS_PROXY": PROXY, "HTTP_PROXY": PROXY, "NO_PROXY": no_proxy}) is not None


def test_proxy_is_the_one_for_the_scheme():
    environ = {"HTTPS_PROXY": "http://one:1", "HTTP_PROXY": "http://two:2"}

    assert proxy_for("https://host", environ) == "http://one:1"
    assert proxy_for("http://host", environ) == "http://two:2"
    assert proxy_for("https://host", {"HTTP_PROXY": PROXY, "ALL_PROXY": PROXY}) is None


def test_upper_case_wins_over_lower_case():
    assert proxy_for("https://host", {"https_proxy": PROXY}) == PROXY
    assert proxy_for("https://host", {"https_proxy": "http://other", "HTTPS_PROXY": PROXY}) == PROXY
    assert proxy_for("https://host", {"HTTPS_PROXY": PROXY, "no_proxy": "host"}) is None


def test_proxy_without_a_scheme_is_taken_as_http():
    assert proxy_for("https://host", {"HTTPS_PROXY": "proxy:3128"}) == PROXY


@pytest.mark.parametrize(
    "url", ["https://localhost:6443", "https://127.0.0.1", "https://127.9.9.9:1", "https://[::1]:6443"]
)
def test_this_machine_is_never_reached_by_proxy(url):
    assert not goes_through_proxy(url, "")


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("https://k8s.example.com:6443", "example.com"),
        ("https://example.com", "example.com"),
        ("https://EXAMPLE.com", "Example.COM"),
        ("https://k8s.example.com", ".example.com"),
        ("https://k8s.example.com", "*.example.com"),
        ("https://k8s.example.com", "other, k8s.example.com ,"),
        ("https://k8s.example.com:6443", "example.com:6443"),
        ("https://k8s.example.com", "example.com:443"),
        ("http://k8s.example.com", "example.com:80"),
        ("https://10.1.2.3:6443", "10.0.0.0/8"),
        ("https://10.1.2.3:6443", "10.1.2.3"),
        ("https://10.1.2.3:6443", "10.1.2.3:6443"),
        ("https://[2001:db8::1]:6443", "2001:db8::/32"),
        ("https://[2001:db8::1]:6443", "2001:DB8:0::1"),
        ("https://[2001:db8::1]:6443", "[2001:db8::1]:6443"),
        ("https://[::ffff:10.1.2.3]", "10.1.2.3"),
        ("https://anything", "*"),
        ("https://anything", "host,*"),
    ],
)
def test_no_proxy_entry_exempts_the_host(url, no_proxy):
    assert not goes_through_proxy(url, no_proxy)


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("https://example.com", ".example.com"),
        ("https://example.com", "*.example.com"),
        ("https://notexample.com", "example.com"),
        ("https://example.com:6443", "example.com:443"),
        ("https://example.com", "xample.com"),
        ("https://11.1.2.3", "10.0.0.0/8"),
        ("https://10.1.2.3:6443", "10.1.2.3:443"),
        ("https://10.1.2.3", "10.1.2"),
        ("https://host", "10.0.0.0/8"),
        ("https://host", "not/a/network"),
        ("https://10.1.2.3", "not/a/network"),
        ("https://host", ":443"),
        ("https://host", ", ,"),
        ("https://[2001:db8::2]", "2001:db8::1"),
    ],
)
def test_no_proxy_entry_leaves_other_hosts_to_the_proxy(url, no_proxy):
    assert goes_through_proxy(url, no_proxy)


def test_socks_proxy_is_refused_without_showing_its_password():
    with pytest.raises(ConfigError, match=r"HTTPS_PROXY is socks5://…@proxy:1080.*docs/limits\.md") as caught:
        proxy_for("https://host", {"HTTPS_PROXY": "socks5://me:hunter2@proxy:1080"})

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "proxy", ["http://", "http://me:hunter2@", "http://[::1", "http://host:hunter2", "me:hunter2@p"]
)
def test_proxy_that_is_no_url_is_refused_without_showing_its_password(proxy):
    with pytest.raises(ConfigError, match="proxy-url") as caught:
        checked_proxy(proxy, "proxy-url")

    assert "hunter2" not in str(caught.value)

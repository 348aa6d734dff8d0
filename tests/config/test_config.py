from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kubewright.config.config import Config
from kubewright.config.credentials import Anonymous, BearerToken, TokenFile
from kubewright.errors import ConfigError
from tests.config.certificates import make_ca

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


def content(name: str = "one", *, server: str = "", user: Any = None, **cluster: Any) -> dict[str, Any]:
    """A kubeconfig whose cluster, user and context all bear the name."""
    return {
        "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": server or f"https://{name}:6443", **cluster}}],
        "users": [{"name": name, "user": {"token": f"token-of-{name}"} if user is None else user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": f"{name}s"}}],
    }


def write(path: Path, *args: Any, **kwargs: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content(*args, **kwargs)))
    return path


@pytest.fixture
def account(tmp_path):
    root = tmp_path / "serviceaccount"
    root.mkdir()
    (root / "token").write_text("account-token")
    (root / "ca.crt").write_bytes(make_ca().cert)
    (root / "namespace").write_text("pods-own\n")
    return root


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


async def token_of(config: Config) -> str:
    return (await config.credentials.headers())["Authorization"].removeprefix("Bearer ")


async def test_kubeconfig_gives_server_namespace_and_credentials(tmp_path):
    config = Config.from_kubeconfig(write(tmp_path / "config"))

    assert (config.server, config.namespace, config.context) == ("https://one:6443", "ones", "one")
    assert await token_of(config) == "token-of-one"


def test_argument_wins_over_variable_home_and_pod(tmp_path, home, account):
    write(home / ".kube" / "config", "at-home")
    environ = {"KUBECONFIG": str(write(tmp_path / "variable", "variable")), **POD}
    argument = write(tmp_path / "argument", "argument")

    config = Config.load(kubeconfig=str(argument), environ=environ, home=home, account=account)

    assert config.context == "argument"


def test_variable_wins_over_home_and_pod(tmp_path, home, account):
    write(home / ".kube" / "config", "at-home")
    environ = {"KUBECONFIG": str(write(tmp_path / "variable", "variable")), **POD}

    assert Config.load(environ=environ, home=home, account=account).context == "variable"


def test_home_wins_over_pod(home, account):
    write(home / ".kube" / "config", "at-home")

    assert Config.load(environ={"HOME": str(home), **POD}, account=account).context == "at-home"


@pytest.mark.parametrize("text", [None, "", "kind: Config\nclusters: []\n"])
def test_pod_is_used_when_there_is_no_kubeconfig_or_an_empty_one(home, account, text):
    if text is not None:
        (home / ".kube").mkdir(parents=True)
        (home / ".kube" / "config").write_text(text)

    config = Config.load(environ=POD, home=home, account=account)

    assert (config.server, config.context) == ("https://10.0.0.1:443", None)


def test_home_is_not_looked_at_when_the_variable_is_set(tmp_path, home):
    write(home / ".kube" / "config", "at-home")

    with pytest.raises(
        ConfigError, match=rf"looked at \$KUBECONFIG: {tmp_path}/a, {tmp_path}/b \(not there, or empty\)"
    ):
        Config.load(environ={"KUBECONFIG": f"{tmp_path}/a{os.pathsep}{tmp_path}/b"}, home=home)


def test_nothing_anywhere_is_an_error_that_names_every_place_and_the_remedy(home):
    with pytest.raises(ConfigError) as caught:
        Config.load(environ={}, home=home)

    message = str(caught.value)
    for part in ("$KUBECONFIG (not set)", f"{home}/.kube/config", "account of a pod (not in one)", "Set KUBECONFIG"):
        assert part in message


def test_context_is_not_looked_for_in_a_pod(home, account):
    with pytest.raises(ConfigError, match=r"account of a pod \(not asked: it has no contexts\)"):
        Config.load(context="one", environ=POD, home=home, account=account)


def test_files_of_the_variable_are_merged_and_missing_ones_skipped(tmp_path):
    first, second = write(tmp_path / "first", "one"), write(tmp_path / "second", "two")
    variable = os.pathsep.join(["", str(tmp_path / "absent"), str(first), str(second), str(first)])

    assert Config.load(environ={"KUBECONFIG": variable}).context == "one"
    assert Config.load(environ={"KUBECONFIG": variable}, context="two").server == "https://two:6443"
    assert Config.from_kubeconfig([tmp_path / "absent", second, first]).context == "two"


async def test_relative_paths_start_from_the_file_that_names_them(tmp_path):
    for name in ("one", "two"):
        write(tmp_path / name / "config", name, user={"tokenFile": "token"}, **{"certificate-authority": "../ca.crt"})
        (tmp_path / name / "token").write_text(f"token-in-{name}")
    (tmp_path / "ca.crt").write_text("x")
    files = [tmp_path / "one" / "config", tmp_path / "two" / "config"]

    config = Config.from_kubeconfig(files, context="two")

    assert await token_of(config) == "token-in-two"
    assert config.tls.ca_file == tmp_path / "two" / ".." / "ca.crt"


async def test_relative_kubeconfig_stays_found_when_the_working_folder_changes(tmp_path, monkeypatch):
    write(tmp_path / "config", user={"tokenFile": "token"})
    (tmp_path / "token").write_text("abc")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    config = Config.from_kubeconfig("config")

    monkeypatch.chdir(tmp_path / "elsewhere")

    assert await token_of(config) == "abc"


def test_tilde_is_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "config")

    assert Config.from_kubeconfig("~/config").context == "one"


@pytest.mark.parametrize("paths", ["absent", ["absent", "gone"], []])
def test_missing_files_are_an_error(paths):
    with pytest.raises(ConfigError, match="there is no kubeconfig at"):
        Config.from_kubeconfig(paths)


def test_one_broken_file_of_several_is_an_error(tmp_path):
    (tmp_path / "broken").write_text("a: b: c")
    variable = os.pathsep.join([str(write(tmp_path / "good")), str(tmp_path / "broken")])

    with pytest.raises(ConfigError, match="broken, line 1, column 5: not valid YAML"):
        Config.load(environ={"KUBECONFIG": variable})


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_unreadable_file_that_nobody_named_does_not_hide_the_pod(home, account):
    write(home / ".kube" / "config").chmod(0)

    assert Config.load(environ=POD, home=home, account=account).server == "https://10.0.0.1:443"


async def test_dict_is_taken_as_a_kubeconfig(tmp_path):
    (tmp_path / "token").write_text("abc")

    config = Config.from_dict(content(user={"tokenFile": "token"}), folder=tmp_path)

    assert await token_of(config) == "abc"


async def test_pod_account_gives_all(account):
    config = Config.in_cluster(account, environ=POD)

    assert (config.server, config.namespace) == ("https://10.0.0.1:443", "pods-own")
    assert config.tls.ca_file == account / "ca.crt"
    assert isinstance(config.credentials, TokenFile)
    assert await token_of(config) == "account-token"
    assert isinstance(config.tls_context().context(), ssl.SSLContext)


def test_pod_account_with_an_ipv6_server_puts_it_in_brackets(account):
    config = Config.in_cluster(account, environ={**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"})

    assert config.server == "https://[fd00::1]:443"


def test_pod_account_without_a_namespace_has_the_default_one(account):
    (account / "namespace").unlink()

    assert Config.in_cluster(account, environ=POD).namespace == "default"


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_pod_without_an_account_is_an_error_that_names_the_file(account, name):
    (account / name).unlink()

    with pytest.raises(ConfigError, match=f"{name} is not there, or not readable; check automountServiceAccountToken"):
        Config.in_cluster(account, environ=POD)


@pytest.mark.parametrize("environ", [{}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}])
def test_pod_account_outside_a_pod_is_an_error(account, environ):
    with pytest.raises(ConfigError, match="not inside a cluster: KUBERNETES_SERVICE_HOST"):
        Config.in_cluster(account, environ=environ)


def test_proxy_of_the_kubeconfig_wins_over_the_environment(account):
    environ = {"HTTPS_PROXY": "http://environ:1", **POD}

    own = Config.from_dict(content(**{"proxy-url": "https://own:2"}), environ=environ)
    environs = Config.from_dict(content(), environ=environ)
    none = Config.from_dict(content(), environ={**environ, "NO_PROXY": "one"})

    assert (own.proxy, environs.proxy, none.proxy) == ("https://own:2", "http://environ:1", None)
    assert Config.in_cluster(account, environ=environ).proxy == "http://environ:1"


def test_socks_proxy_of_the_kubeconfig_is_an_error_without_its_password():
    kubeconfig = content(**{"proxy-url": "socks5://me:hunter2@proxy:1080"})

    with pytest.raises(ConfigError, match=r"clusters\[one\]\.cluster\.proxy-url in .*docs/limits\.md") as caught:
        Config.from_dict(kubeconfig)

    assert "hunter2" not in str(caught.value)


def test_disable_compression_is_accepted_and_checked():
    right, wrong = content(), content()
    right["clusters"][0]["cluster"]["disable-compression"] = True
    wrong["clusters"][0]["cluster"]["disable-compression"] = "yes"

    assert Config.from_dict(right).context == "one"
    with pytest.raises(ConfigError, match="disable-compression must be true or false"):
        Config.from_dict(wrong)


def test_impersonation_is_read():
    config = Config.from_dict(content(user={"token": "t", "as": "jane"}))

    assert config.impersonate is not None
    assert config.impersonate.user == "jane"


def test_credentials_are_not_sent_without_tls_as_with_kubectl(caplog):
    plain = Config.from_dict(content(server="http://one:8080"))
    by_hand = Config(server="http://one:8080", credentials=BearerToken("t"))

    assert type(plain.credentials) is Anonymous
    assert "not sending the credentials of users[one].user" in caplog.text
    assert isinstance(by_hand.credentials, BearerToken)
    assert plain.tls_context().context() is None


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://host:6443/", "https://host:6443"),
        ("https://host/k8s/clusters/c-1/", "https://host/k8s/clusters/c-1"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("https://host/p?x=1#y", "https://host/p"),
    ],
)
def test_server_is_kept_without_trailing_slash_and_query(server, expected):
    assert Config(server=server).server == expected
    assert Config.from_dict(content(server=server)).server == expected


@pytest.mark.parametrize(
    "server",
    ["host:6443", "host", "ftp://host", "https://", "https://host:port", "https://[::1", "https://u:hunter2@h"],
)
def test_server_that_is_no_address_is_an_error_that_names_the_field(server):
    with pytest.raises(ConfigError, match=r"clusters\[one\]\.cluster\.server in ") as caught:
        Config.from_dict(content(server=server))

    assert "hunter2" not in str(caught.value)


def test_missing_server_is_an_error():
    kubeconfig = content()
    kubeconfig["clusters"] = [{"name": "one", "cluster": {"insecure-skip-tls-verify": True}}]

    with pytest.raises(ConfigError, match=r"clusters\[one\]\.cluster\.server is missing"):
        Config.from_dict(kubeconfig)


def test_import_brings_no_http_client_and_no_yaml_along():
    heavy = ("aiohttp", "yaml", "cryptography", "yarl")
    code = f"import sys, kubewright.config.config; sys.exit(str([m for m in {heavy!r} if m in sys.modules] or ''))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stderr.strip() == ""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from kubewright.config.credentials import Anonymous, BearerToken, Password, TokenFile
from kubewright.config.exec_plugin import ExecPlugin
from kubewright.config.identity import credentials_of, impersonation_of, tls_of
from kubewright.config.impersonation import Impersonation
from kubewright.config.oidc import Oidc
from kubewright.config.section import Section
from kubewright.errors import ConfigError
from tests.config.certificates import make_ca
from tests.config.plugin_script import ECHO, V1, V1BETA1, told_to, write_plugin, write_script

CERTIFICATE = b64encode(b"certificate").decode()
OIDC = {"idp-issuer-url": "https://issuer", "client-id": "me"}


def user(values, folder: Path = Path("/f")) -> Section:
    return Section.of(values, "users[u].user", "file", folder)


def cluster(values=None, folder: Path = Path("/f")) -> Section:
    return Section.of({"server": "https://host", **(values or {})}, "clusters[c].cluster", "file", folder)


def credentials(values, folder: Path = Path("/f"), of_cluster=None):
    return credentials_of(user(values, folder), cluster(of_cluster, folder), environ={"PATH": ""})


def plugin(**fields: Any) -> dict[str, Any]:
    return {"exec": {"apiVersion": V1, "command": "plugin", "interactiveMode": "Never", **fields}}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({}, Anonymous),
        (None, Anonymous),
        ({"client-certificate-data": CERTIFICATE}, Anonymous),
        ({"token": "t"}, BearerToken),
        ({"tokenFile": "token"}, TokenFile),
        ({"token": "t", "tokenFile": "token"}, TokenFile),
        ({"username": "u", "password": "p"}, Password),
        (plugin(), ExecPlugin),
        ({**plugin(), "token": "t"}, BearerToken),
        ({**plugin(), "username": "u"}, Password),
        ({**plugin(), "client-certificate-data": CERTIFICATE}, Anonymous),
        ({"auth-provider": {"name": "oidc", "config": OIDC}}, Oidc),
        ({"auth-provider": {"name": "oidc", "config": OIDC}, "token": "t"}, BearerToken),
    ],
)
def test_credentials_are_of_the_kind_that_wins_in_kubectl(values, kind):
    assert type(credentials(values)) is kind


async def test_token_file_is_relative_to_the_kubeconfig_and_wins_over_the_token(tmp_path):
    (tmp_path / "token").write_text("from-file")

    found = credentials({"token": "static", "tokenFile": "token"}, tmp_path)

    assert await found.headers() == {"Authorization": "Bearer from-file"}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"token": "hush", "username": "u"}, "token and username exclude each other"),
        ({**plugin(), "auth-provider": {"name": "oidc", "config": OIDC}}, "exec and auth-provider exclude each other"),
        (plugin(command=""), "exec.command is missing"),
        (plugin(apiVersion="client.authentication.k8s.io/v1alpha1"), "apiVersion is '.*v1alpha1', but must be one of"),
        (plugin(apiVersion=None), "apiVersion is '', but must be one of"),
        (plugin(interactiveMode=None), "interactiveMode must be one of Never, IfAvailable, Always"),
        (plugin(interactiveMode="Sometimes"), "interactiveMode must be one of Never, IfAvailable, Always"),
        (plugin(env=[{"value": "hush"}]), "env has an entry without a name"),
        (plugin(args=[1]), "args must be a list of strings"),
        ({"auth-provider": {"name": "gcp"}}, "name is 'gcp', which Kubernetes removed.*gke-gcloud-auth-plugin"),
        ({"auth-provider": {"name": "azure"}}, "name is 'azure', which Kubernetes removed.*kubelogin"),
        (
            {"auth-provider": {"name": "mine"}, "token": "hush"},
            "name is 'mine', which Kubernetes .* never had: use an exec",
        ),
        ({"auth-provider": {"name": "oidc", "config": {**OIDC, "client-secret": 1}}}, "client-secret must be a string"),
        ({"auth-provider": {"name": "oidc"}}, "config.idp-issuer-url is missing"),
        ({"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://i"}}}, "config.client-id is missing"),
    ],
)
def test_user_that_cannot_be_is_an_error_that_names_the_field(values, problem):
    with pytest.raises(ConfigError, match=rf"^file: users\[u\]\.user\.(.*\.)?{problem}") as caught:
        credentials(values)

    assert "hush" not in str(caught.value)


def test_token_that_no_header_can_carry_is_an_error_of_the_configuration():
    with pytest.raises(ConfigError, match=r"^file: the token of users\[u\]\.user is empty, or has blanks") as caught:
        credentials({"token": "hush hush"})

    assert "hush" not in str(caught.value)


async def test_command_with_a_folder_is_relative_to_the_kubeconfig(tmp_path):
    (tmp_path / "bin").mkdir()
    write_plugin(tmp_path / "bin" / "plugin", token="t0p")

    found = credentials(plugin(command="./bin/plugin", args=None, env=None), tmp_path)

    assert await found.headers() == {"Authorization": "Bearer t0p"}


async def test_beta_plugin_needs_no_interactive_mode(tmp_path):
    write_plugin(tmp_path / "plugin", V1BETA1, token="t0p")

    found = credentials(plugin(command="./plugin", apiVersion=V1BETA1, interactiveMode=None), tmp_path)

    assert await found.headers() == {"Authorization": "Bearer t0p"}


async def test_plugin_is_told_all_about_the_cluster_when_it_asks_for_it(tmp_path):
    write_script(tmp_path / "plugin", ECHO)
    authority = make_ca().cert
    (tmp_path / "ca.crt").write_bytes(authority)
    of_cluster = {
        "certificate-authority": "ca.crt",
        "tls-server-name": "api",
        "proxy-url": "http://proxy:1",
        "disable-compression": True,
        "extensions": [
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
            {"name": "other", "extension": {"y": 1}},
        ],
    }

    told = await told_to(credentials(plugin(command="./plugin", provideClusterInfo=True), tmp_path, of_cluster))

    assert told["spec"]["cluster"] == {
        "server": "https://host",
        "tls-server-name": "api",
        "proxy-url": "http://proxy:1",
        "disable-compression": True,
        "certificate-authority-data": b64encode(authority).decode(),
        "config": {"audience": "x"},
    }


async def test_plugin_is_told_nothing_about_the_cluster_when_it_does_not_ask(tmp_path):
    write_script(tmp_path / "plugin", ECHO)

    told = await told_to(credentials(plugin(command="./plugin"), tmp_path))

    assert told["spec"] == {"interactive": False}


def test_tls_reads_all_fields(tmp_path):
    for name in ("ca.crt", "u.crt", "u.key"):
        (tmp_path / name).write_text("x")

    files = tls_of(
        cluster({"certificate-authority": "ca.crt", "tls-server-name": "api"}, tmp_path),
        user({"client-certificate": "u.crt", "client-key": "u.key"}, tmp_path),
    )
    data = tls_of(
        cluster({"insecure-skip-tls-verify": True}),
        user({"client-certificate-data": CERTIFICATE, "client-key-data": b64encode(b"key").decode()}),
    )

    assert (files.ca_file, files.cert_file, files.key_file) == tuple(
        tmp_path / name for name in ("ca.crt", "u.crt", "u.key")
    )
    assert (files.server_name, files.insecure) == ("api", False)
    assert (data.cert_data, data.key_data, data.insecure, data.server_name) == (b"certificate", b"key", True, None)


@pytest.mark.parametrize(
    ("of_cluster", "of_user", "problem"),
    [
        ({"certificate-authority-data": "!"}, {}, r"clusters\[c\]\.cluster\.certificate-authority-data is not base64"),
        (
            {"certificate-authority": "absent"},
            {},
            r"clusters\[c\]\.cluster\.certificate-authority names /f/absent, which",
        ),
        ({}, {"client-certificate": "absent"}, r"users\[u\]\.user\.client-certificate names /f/absent, which"),
        ({}, {"client-certificate-data": CERTIFICATE}, "client-certificate and client-key go together"),
        ({}, {"client-key-data": CERTIFICATE}, "client-certificate and client-key go together"),
        (
            {"certificate-authority-data": CERTIFICATE, "insecure-skip-tls-verify": True},
            {},
            "insecure-skip-tls-verify and a certificate authority exclude each other",
        ),
    ],
)
def test_tls_that_cannot_be_is_an_error_that_names_the_field(of_cluster, of_user, problem):
    with pytest.raises(ConfigError, match=f"file.*{problem}"):
        tls_of(cluster(of_cluster), user(of_user))


def test_file_that_data_makes_superfluous_may_be_missing():
    found = tls_of(cluster({"certificate-authority": "absent", "certificate-authority-data": CERTIFICATE}), user({}))

    assert found.authority() == b"certificate"
    assert found.files() == ()


def test_impersonation_reads_all_fields():
    found = impersonation_of(
        user({"as": "jane", "as-uid": "42", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v", "w"]}})
    )

    assert found == Impersonation("jane", "42", ("a", "b"), {"k": ("v", "w")})
    assert impersonation_of(user({"token": "t"})) is None


@pytest.mark.parametrize("values", [{"as-uid": "1"}, {"as-groups": ["a"]}, {"as-user-extra": {"k": ["v"]}}])
def test_impersonation_of_nobody_is_an_error(values):
    with pytest.raises(ConfigError, match=r"users\[u\]\.user\.as is missing"):
        impersonation_of(user(values))

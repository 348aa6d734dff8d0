from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from kubewright.config.config import Config
from kubewright.config.credentials import BearerToken, Credentials, Password, TokenFile
from kubewright.config.exec_plugin import ExecPlugin, PluginCommand
from kubewright.config.oidc import Oidc, OidcClient
from kubewright.config.renewal import Issued
from kubewright.config.secret import masked
from kubewright.config.tls import TlsConfig, TlsContext

SECRET = "hunter2-hunter2"


def keepers(tmp_path: Path) -> list[object]:
    tls = TlsConfig(cert_data=SECRET.encode(), key_data=SECRET.encode(), ca_data=SECRET.encode())
    plugin = PluginCommand(
        command="plugin",
        api_version="client.authentication.k8s.io/v1",
        args=("--secret", SECRET),
        env={"TOKEN": SECRET},
        cluster={"config": SECRET},
    )
    client = OidcClient(issuer="https://issuer", client_id="me", client_secret=SECRET)
    credentials: list[Credentials] = [
        BearerToken(SECRET),
        Password("alice", SECRET),
        TokenFile(tmp_path / "token", fallback=SECRET),
        ExecPlugin(plugin),
        Oidc(client, id_token=SECRET, refresh_token=SECRET),
    ]
    configs = [
        Config(server="https://host", tls=tls, credentials=each, proxy=f"http://me:{SECRET}@proxy:3128")
        for each in credentials
    ]
    issued = Issued({"Authorization": SECRET}, (SECRET.encode(), SECRET.encode()))
    return [tls, plugin, client, issued, TlsContext("https://host", tls), *credentials, *configs]


def test_repr_of_whatever_keeps_secrets_shows_none(tmp_path):
    for keeper in keepers(tmp_path):
        assert "hunter2" not in repr(keeper)
        assert "hunter2" not in str(keeper)


def test_pickling_and_copying_of_whatever_keeps_secrets_is_refused(tmp_path):
    for keeper in keepers(tmp_path):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(keeper)
        with pytest.raises(TypeError, match="cannot be pickled"):
            copy.deepcopy(keeper)


@pytest.mark.parametrize(
    "text",
    [
        "got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl today",
        '{"token": "abcdefgh1234"}',
        "password=abcdefgh1234",
        "Authorization: Bearer abcdefgh1234",
        "k8s-aws-v1.abcdefgh1234",
    ],
)
def test_masked_text_has_no_token_of_a_known_shape(text):
    shown = masked(text)

    assert "…" in shown
    assert not any(part in shown for part in ("abcdefgh1234", "eyJ", "c2lnbmF0dXJl"))


def test_masked_text_lacks_the_given_secrets_and_keeps_the_rest():
    assert masked("refused: 1234 is no pin; token expired", ["1234", ""]) == "refused: … is no pin; token expired"


def test_masked_text_plays_no_tricks_with_a_terminal():
    assert masked("\x1b[1mbold\x07\n\tline") == "[1mbold\n\tline"

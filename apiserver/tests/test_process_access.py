"""The flags that tell who may ask what: what they do, and what is said to values that mean nothing."""

from __future__ import annotations

import json
import stat
import urllib.request
from pathlib import Path

import pytest

from kubewright_apiserver.access import Authority, new_signing_key
from kubewright_apiserver.process import main
from kubewright_apiserver.process.flags import Flags
from kubewright_apiserver.process.options import server_options

MAPS = "/api/v1/namespaces/default/configmaps"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def written(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--authorization-mode=Maybe"], 'authorization-mode "Maybe" is not a valid mode'),
        (
            ["--authorization-mode=Webhook"],
            "authorization-mode Webhook is not available here; there are AlwaysAllow, AlwaysDeny, Node, RBAC",
        ),
        (
            ["--authorization-mode=RBAC,Node,RBAC"],
            'authorization-mode ["RBAC" "Node" "RBAC"] has mode specified more than once',
        ),
        (["--token-auth-file=/nowhere/t"], "open /nowhere/t: no such file or directory"),
        (["--service-account-issuer="], "service-account-issuer should not be an empty string"),
        (
            ["--service-account-issuer=a:", "--service-account-issuer=a:"],
            'service-account-issuer "a:" is already specified',
        ),
        (["--service-account-key-file=/nowhere/k"], "open /nowhere/k: no such file or directory"),
        (["--service-account-signing-key-file=/nowhere/k"], "open /nowhere/k: no such file or directory"),
        (["--audit-policy-file=/nowhere/p"], "open /nowhere/p: no such file or directory"),
        (["--requestheader-client-ca-file=/nowhere/c"], "open /nowhere/c: no such file or directory"),
        (
            ["--anonymous-auth=maybe"],
            'invalid argument "maybe" for "--anonymous-auth" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
    ],
)
def test_a_value_that_means_nothing_is_told(capfd, flags: list[str], message: str):
    assert main(["--secure-port=0", *flags]) == 1

    assert capfd.readouterr() == ("", f"Error: {message}\n")


@pytest.mark.parametrize(
    ("flag", "content", "message"),
    [
        ("token-auth-file", "hunter2,jane\n", "line 1 needs a token, a user's name and a uid, separated by commas"),
        ("service-account-signing-key-file", "hunter2", "does not contain a valid RSA or ECDSA private key"),
        ("service-account-key-file", "hunter2", "data does not contain any valid RSA or ECDSA public keys"),
        ("audit-policy-file", "kind: Pod", "must be a Policy of audit.k8s.io/v1"),
        ("audit-policy-file", "a: [", "audit-policy-file"),
        ("audit-policy-file", "{apiVersion: audit.k8s.io/v1, kind: Policy}", "loaded illegal policy with 0 rules"),
        (
            "audit-policy-file",
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Some}]}",
            "rules[0].level must be one of None, Metadata, Request, RequestResponse",
        ),
        ("requestheader-client-ca-file", "hunter2", "has no certificates (PEM)"),
    ],
)
def test_a_file_that_means_nothing_is_told_without_showing_it(
    capfd, tmp_path: Path, flag: str, content: str, message: str
):
    assert main(["--secure-port=0", f"--{flag}={written(tmp_path, 'file', content)}"]) == 1

    said, errors = capfd.readouterr()
    assert said == ""
    assert message in errors
    assert (errors.count("\n"), "hunter2" in errors) == (1, False)


def test_proxies_and_clients_of_one_authority_need_names(tmp_path: Path, capfd):
    path = written(tmp_path, "ca", Authority().certificate)
    flags = ["--secure-port=0", f"--client-ca-file={path}", f"--requestheader-client-ca-file={path}"]

    assert main(flags) == 1

    assert "contain overlapping certificates; --requestheader-allowed-names must be specified" in capfd.readouterr()[1]


def test_rbac_is_on_and_loopback_alone_is_listened_on_unless_flags_say_otherwise():
    options = server_options(Flags([]), None)

    assert (options["authorization_mode"], options["anonymous_auth"], options["host"]) == (["RBAC"], True, "127.0.0.1")
    assert "http_port" not in options


def test_users_come_from_the_token_file_and_modes_from_the_flag(start, tmp_path: Path):
    tokens = written(tmp_path, "tokens", 't0ken,jane,u-1,"devs,ops"\n')
    log = tmp_path / "audit.log"
    process = start(
        f"--token-auth-file={tokens}",
        "--authorization-mode=Node,RBAC",
        f"--audit-log-path={log}",
        "--http-port=0",
        "--anonymous-auth=false",
    )
    process.ready()

    assert process.ask("/healthz", as_nobody=True)[0] == 401
    assert process.ask(MAPS)[0] == 200
    assert process.end() == 0
    assert process.said == ""
    assert [json.loads(line)["responseStatus"]["code"] for line in log.read_text().splitlines()[:1]] == [401]
    assert "t0ken" not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_tokens_of_accounts_outlive_the_process_that_keeps_its_data(start, tmp_path: Path):
    folder = tmp_path / "data"
    process = start(f"--data={folder}", "--service-account-issuer=https://us", "--api-audiences=a,b")
    process.ready()
    process.ask(ACCOUNTS, "POST", {"metadata": {"name": "robot"}})
    token = process.ask(f"{ACCOUNTS}/robot/token", "POST", {})[1]["status"]["token"]
    process.end()

    process = start(f"--data={folder}", "--service-account-issuer=https://us", "--api-audiences=a,b")
    process.ready()
    status = process.ask(REVIEWS, "POST", {"spec": {"token": token}})[1]["status"]

    assert (status["authenticated"], status["audiences"]) == (True, ["a", "b"])
    assert stat.S_IMODE((folder / "service-account.pem").stat().st_mode) == 0o600


def test_a_given_key_signs_and_the_documents_say_where_it_is(start, tmp_path: Path):
    key = written(tmp_path, "key", new_signing_key())
    process = start(f"--service-account-signing-key-file={key}", f"--service-account-key-file={key}")
    url = process.ready()

    found = process.ask("/.well-known/openid-configuration")[1]

    assert found["jwks_uri"] == f"{url}/openid/v1/jwks"
    assert found["id_token_signing_alg_values_supported"] == ["ES256"]


def test_who_shows_no_token_is_the_administrator_without_tls(tmp_path: Path):
    from kubewright_apiserver.server import ApiServer

    with ApiServer.in_thread(http_port=0) as server:
        with urllib.request.urlopen(f"{server.http_url}{MAPS}", timeout=10) as answer:
            status = answer.status

    assert status == 200

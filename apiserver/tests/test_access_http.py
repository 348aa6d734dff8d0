"""Who gets in over HTTP: by certificate, by token, by a proxy's word, or as nobody; and what auditors read of it."""

from __future__ import annotations

import base64
import itertools
import json
import ssl
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from kubewright_apiserver.access import Authority, Certificates, FrontProxy, KeyPair, Peer, User
from kubewright_apiserver.access.attributes import attributes_of, is_plain
from kubewright_apiserver.path import address_in
from kubewright_apiserver.server import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
JANE = User(name="jane", groups=("devs",))
OURS = Authority()


class Asker:
    """Somebody with a certificate, or without."""

    def __init__(self, server: ApiServer, pair: KeyPair | None = None, **headers: str) -> None:
        self._server = server
        self._headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            with tempfile.NamedTemporaryFile() as file:
                file.write(pair.certificate + b"\n" + pair.key)
                file.flush()
                self._context.load_cert_chain(file.name)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            f"{self._server.url}{path}",
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Content-Type": "application/json", **self._headers, **named},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=10) as answer:
                return answer.status, _read(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, _read(refused.read())


def _read(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()


def admin(server: ApiServer) -> Asker:
    return Asker(server, OURS.issue_client("root", ["system:masters"]))


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer.in_thread(certificates=Certificates(authority=OURS), tokens={"t0ken": JANE}) as server:
        yield server


def let_read(ask: Asker, user: str) -> None:
    """Let a user read ConfigMaps everywhere."""
    group = "rbac.authorization.k8s.io"
    rule = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}
    assert ask("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})[0] == 201
    subject = {"kind": "User", "name": user, "apiGroup": group}
    reference = {"kind": "ClusterRole", "name": "r", "apiGroup": group}
    binding = {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": reference}
    assert ask("POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201


def test_nobody_may_look_but_not_touch(server: ApiServer):
    nobody = Asker(server)

    assert nobody("GET", "/healthz") == (200, "ok")
    assert nobody("GET", "/version")[0] == 200
    status, refused = nobody("POST", MAPS, {})
    assert status == 403
    assert refused["message"] == (
        'configmaps is forbidden: User "system:anonymous" cannot create resource "configmaps" in API group ""'
        ' in the namespace "default"'
    )


def test_a_token_is_a_user_with_the_rights_of_their_roles(server: ApiServer):
    jane = Asker(server, Authorization="Bearer t0ken")

    before = jane("GET", MAPS)[0]
    let_read(admin(server), "jane")

    assert (before, jane("GET", MAPS)[0], jane("DELETE", MAPS)[0]) == (403, 200, 403)
    assert jane("POST", WHO, {})[1]["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["devs", "system:authenticated"],
    }


def test_a_wrong_token_is_refused_even_where_nobody_is_let_in(server: ApiServer):
    assert Asker(server, Authorization="Bearer wrong")("GET", "/healthz")[0] == 401


def test_a_certificate_is_a_user_in_the_groups_of_its_organisations(server: ApiServer):
    ask = Asker(server, OURS.issue_client("joe", ["ops", "devs"]))

    found = ask("POST", WHO, {})[1]["status"]["userInfo"]

    assert (found["username"], found["groups"]) == ("joe", ["ops", "devs", "system:authenticated"])
    assert found["extra"]["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")
    assert ask("GET", MAPS)[0] == 403


def test_rights_that_are_taken_away_are_gone_at_once(server: ApiServer):
    jane, root = Asker(server, Authorization="Bearer t0ken"), admin(server)
    let_read(root, "jane")
    before = jane("GET", MAPS)[0]

    root("DELETE", f"{RBAC}/clusterrolebindings/r")

    assert (before, jane("GET", MAPS)[0]) == (200, 403)


def test_a_refused_body_is_not_awaited(server: ApiServer):
    status, _ = Asker(server)("POST", MAPS, {"data": {"k": "x" * 2_000_000}})

    assert status == 403


@pytest.mark.parametrize(
    ("mode", "statuses"), [("AlwaysAllow", (401, 200)), ("AlwaysDeny", (403, 403)), ("Node,RBAC", (403, 403))]
)
def test_the_mode_decides(mode: str, statuses: tuple[int, int]):
    with ApiServer.in_thread(authorization_mode=mode, tokens={"t0ken": JANE}) as server:
        jane = Asker(server, Authorization="Bearer t0ken")

        assert (Asker(server)("GET", MAPS)[0], jane("GET", MAPS)[0]) == statuses


def test_a_mode_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match=r"authorization_mode must be of .* not 'ABAC'"):
        ApiServer(authorization_mode="RBAC,ABAC")


def test_nobody_gets_in_where_that_is_switched_off():
    with ApiServer.in_thread(anonymous_auth=False) as server:
        assert Asker(server)("GET", "/healthz")[0] == 401


def key_pair() -> tuple[bytes, bytes]:
    key = rsa.generate_private_key(65537, 2048)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def token_of(ask: Asker) -> str:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    ask("POST", accounts, {"metadata": {"name": "robot"}})
    token: str = ask("POST", f"{accounts}/robot/token", {})[1]["status"]["token"]
    return token


def test_tokens_are_signed_and_checked_by_the_given_keys_and_issuers():
    first, public = key_pair()
    second, _ = key_pair()
    common: dict[str, Any] = {"certificates": Certificates(authority=OURS), "api_audiences": ["us"]}
    with ApiServer.in_thread(service_account_issuer="https://old", service_account_signing_key=first, **common) as old:
        token = token_of(admin(old))
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    issuers = ["https://new", "https://old"]
    options = {"service_account_issuer": issuers, "service_account_signing_key": second, **common}
    with ApiServer.in_thread(service_account_keys=[public], **options) as new:
        review = {"spec": {"token": token}}
        told = admin(new)("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)[1]["status"]
        keys = admin(new)("GET", "/openid/v1/jwks", Accept="*/*")[1]["keys"]
        issuer = admin(new)("GET", "/.well-known/openid-configuration")[1]["issuer"]

    assert (claims["iss"], claims["aud"]) == ("https://old", ["us"])
    # The key is known; the account is another server's.
    assert 'serviceaccounts "robot" not found' in told["error"]
    assert (len(keys), issuer) == (2, "https://new")


def test_the_word_of_a_proxy_is_taken_and_nobody_elses():
    proxies = Authority()
    proxy = FrontProxy(
        proxies.certificate,
        allowed_names=["proxy"],
        name_headers=["X-Remote-User"],
        group_headers=["X-Remote-Group"],
    )
    with ApiServer.in_thread(certificates=Certificates(authority=OURS), front_proxy=proxy) as server:
        asked = {"X_Remote_User": "jane", "X_Remote_Group": "devs"}
        known = Asker(server, proxies.issue_client("proxy"))("POST", WHO, {}, **asked)
        others = [
            Asker(server, proxies.issue_client("other"))("POST", WHO, {}, **asked)[0],
            Asker(server, proxies.issue_client("root", ["system:masters"]))("GET", MAPS)[0],
            Asker(server, OURS.issue_client("proxy"))("POST", WHO, {}, **asked)[1]["status"]["userInfo"]["username"],
            Asker(server)("POST", WHO, {}, **asked)[0],
        ]
        told = admin(server)("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")

    found = known[1]["status"]["userInfo"]
    assert (found["username"], found["groups"]) == ("jane", ["devs", "system:authenticated"])
    assert others == [403, 403, "proxy", 403]
    assert told[1]["data"]["requestheader-username-headers"] == '["X-Remote-User"]'


async def ask_inside(server: ApiServer, method: str, path: str, **headers: str) -> tuple[int, Any]:
    sent = [(name.replace("_", "-"), value) for name, value in headers.items()]
    status, _, chunks = await server.handle(method, path, sent, b"{}")
    return status, json.loads(b"".join([chunk async for chunk in chunks]))


async def test_who_asks_inside_is_the_administrator_or_whom_they_name():
    async with ApiServer(listens=False, tokens={"t0ken": JANE}) as server:
        own = await ask_inside(server, "GET", MAPS)
        acting = await ask_inside(server, "GET", MAPS, Impersonate_User="eve", Impersonate_Group="devs")
        jane = await ask_inside(server, "POST", WHO, Authorization="Bearer t0ken")
        wrong = await ask_inside(server, "GET", MAPS, Authorization="Bearer wrong")

    assert (own[0], acting[0], wrong[0]) == (200, 403, 401)
    assert 'User "eve" cannot list' in acting[1]["message"]
    assert jane[1]["status"]["userInfo"]["username"] == "jane"


async def test_a_fork_lets_the_same_people_in():
    async with ApiServer(listens=False, tokens={"t0ken": JANE}, authorization_mode="AlwaysDeny") as server:
        async with server.fork() as twin:
            status, refused = await ask_inside(twin, "GET", MAPS, Authorization="Bearer t0ken")

    assert (status, refused["message"].rsplit(": ", 1)[1]) == (403, "Everything is forbidden.")


async def make_admin(server: ApiServer, user: str) -> None:
    group = "rbac.authorization.k8s.io"
    reference = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": group}
    subject = {"kind": "User", "name": user, "apiGroup": group}
    body = json.dumps({"metadata": {"name": "b"}, "subjects": [subject], "roleRef": reference}).encode()
    path, sent = f"{RBAC}/clusterrolebindings", [("Content-Type", "application/json")]
    assert (await server.handle("POST", path, sent, body))[0] == 201


async def test_rights_go_back_with_the_store():
    """The same revisions are given again, to other bindings."""
    async with ApiServer(listens=False) as server:
        before = server.snapshot()
        server.restore(before)
        await make_admin(server, "eve")
        bound = await ask_inside(server, "GET", MAPS, Impersonate_User="eve")

        server.restore(before)
        await make_admin(server, "bob")

        now = [(await ask_inside(server, "GET", MAPS, Impersonate_User=user))[0] for user in ("eve", "bob")]
        assert (bound[0], now) == (200, [403, 200])


SEGMENTS = ("", "namespaces", "x", "configmaps", "status", "finalize", "watch", "proxy", "a%2Fb", "..")


def test_what_is_decided_is_what_is_done_at_every_path():
    """Of a path that can be read in two ways, nobody but the administrator gets anything."""
    differing = 0
    for root, depth in itertools.product(("/api/v1", "/apis/apps/v1"), range(1, 5)):
        for parts in itertools.product(SEGMENTS, repeat=depth):
            path = "/".join((root, *parts))
            address, read = address_in(path), attributes_of("GET", path)
            if address is None:
                continue
            place = "" if (read.group, read.resource) == ("", "namespaces") else read.namespace
            same = (address.plural, address.namespace, address.name) == (read.resource, place, read.name)
            differing += not same
            assert same or not is_plain(path), path
    assert differing > 0


async def test_a_path_of_two_readings_is_nothing_for_others():
    async with ApiServer(listens=False) as server:
        path = "/api/v1/namespaces//configmaps"
        rule = {"verbs": ["list"], "apiGroups": [""], "resources": ["namespaces/configmaps"]}
        app, group = server.app, "rbac.authorization.k8s.io"
        subject = {"kind": "Group", "name": "system:unauthenticated", "apiGroup": group}
        reference = {"kind": "ClusterRole", "name": "r", "apiGroup": group}
        binding = {"metadata": {"name": "r"}, "subjects": [subject], "roleRef": reference}
        sent = [("Content-Type", "application/json")]
        for plural, obj in (
            ("clusterroles", {"metadata": {"name": "r"}, "rules": [rule]}),
            ("clusterrolebindings", binding),
        ):
            assert (await server.handle("POST", f"{RBAC}/{plural}", sent, json.dumps(obj).encode()))[0] == 201

        status, _, _ = await app.handle("GET", path, [], b"", Peer())

        assert status == 404


POLICY = {
    "omitManagedFields": True,
    "rules": [
        {"level": "None", "nonResourceURLs": ["/healthz*"]},
        {"level": "Metadata", "resources": [{"group": "", "resources": ["secrets", "serviceaccounts/token"]}]},
        {"level": "Request", "verbs": ["patch"], "omitStages": ["RequestReceived"]},
        {"level": "RequestResponse", "resources": [{"group": "", "resources": ["configmaps"]}]},
    ],
}


def told(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_auditors_read_as_much_as_the_policy_says(tmp_path: Path):
    log = tmp_path / "audit.log"
    options = {"certificates": Certificates(authority=OURS), "audit_log": log, "audit_policy": POLICY}
    with ApiServer.in_thread(**options) as server:
        ask = admin(server)
        ask("GET", "/healthz")
        ask("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "shown"}})
        ask("PATCH", f"{MAPS}/a", {"data": {"k": "again"}}, Content_Type="application/merge-patch+json")
        ask("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"password": "hunter2"}})
        ask("GET", f"{SECRETS}/s", Authorization="Bearer hunter2")
        token = token_of(ask)
    lines = told(log)

    complete = {(line["verb"], line["objectRef"]["resource"]): line for line in lines if "responseStatus" in line}
    created, patched = complete["create", "configmaps"], complete["patch", "configmaps"]
    secret = complete["create", "secrets"]
    assert [line["stage"] for line in lines[:2]] == ["RequestReceived", "ResponseComplete"]
    assert created["requestObject"]["data"] == created["responseObject"]["data"] == {"k": "shown"}
    assert "managedFields" not in created["responseObject"]["metadata"]
    assert created["objectRef"]["name"] == "a"
    assert (patched["level"], patched["requestObject"]) == ("Request", {"data": {"k": "again"}})
    assert "responseObject" not in patched
    assert (secret["level"], secret["user"]["username"]) == ("Metadata", "root")
    assert not {"requestObject", "responseObject"} & set(secret)
    text = log.read_text()
    assert not [word for word in ("hunter2", "aHVudGVyMg", token) if word in text]


def test_auditors_read_of_refusals_and_of_who_acts_as_whom(tmp_path: Path):
    log = tmp_path / "audit.log"
    with ApiServer.in_thread(certificates=Certificates(authority=OURS), audit_log=log) as server:
        Asker(server, Authorization="Bearer hunter2")("GET", MAPS)
        Asker(server)("GET", MAPS)
        admin(server)("GET", MAPS, Impersonate_User="eve")
    unknown, *others = [line for line in told(log) if "responseStatus" in line]

    assert (unknown["responseStatus"]["code"], unknown["user"]) == (401, {})
    assert [line["responseStatus"]["code"] for line in others] == [403, 403]
    assert others[0]["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert others[1]["impersonatedUser"] == {"username": "eve", "groups": ["system:authenticated"]}
    assert "hunter2" not in log.read_text()


def test_a_watch_is_told_of_when_it_begins_and_when_it_ends(tmp_path: Path):
    log = tmp_path / "audit.log"
    with ApiServer.in_thread(certificates=Certificates(authority=OURS), audit_log=log) as server:
        admin(server)("GET", f"{MAPS}?watch=1&timeoutSeconds=1")

    assert [line["stage"] for line in told(log)] == ["RequestReceived", "ResponseStarted", "ResponseComplete"]


def test_the_id_of_a_request_is_the_clients_or_the_logs(tmp_path: Path):
    log = tmp_path / "audit.log"
    with ApiServer.in_thread(certificates=Certificates(authority=OURS), audit_log=log) as server:
        admin(server)("GET", MAPS, Audit_ID="mine")

    assert {line["auditID"] for line in told(log)} == {"mine"}


async def test_a_name_that_is_no_text_is_refused_and_told_in_one_that_is(tmp_path: Path):
    log = tmp_path / "audit.log"
    async with ApiServer(listens=False, audit_log=log) as server:
        status, refused = await ask_inside(server, "GET", MAPS, Impersonate_User="\udcff", User_Agent="\udcfe")

    assert (status, 'User "\ufffd" cannot list' in refused["message"]) == (403, True)
    assert told(log)[-1]["impersonatedUser"]["username"] == "\ufffd"


async def test_an_address_that_is_no_text_is_audited(tmp_path: Path):
    log = tmp_path / "audit.log"
    async with ApiServer(listens=False, audit_log=log) as server:
        await server.handle("GET", "/\udcff", [], b"")

    assert told(log)[-1]["requestURI"] == "/?"


async def test_a_full_disk_of_the_audit_log_stops_nobody(caplog: pytest.LogCaptureFixture):
    async with ApiServer(listens=False, audit_log="/dev/full") as server:
        statuses = [(await ask_inside(server, "GET", MAPS))[0] for _ in range(2)]

    assert statuses == [200, 200]
    assert caplog.text.count("the audit log cannot be written, lines are missing") == 1


async def test_a_server_that_cannot_audit_does_not_start_and_leaves_its_data_free(tmp_path: Path):
    data = tmp_path / "cluster.db"
    with pytest.raises(FileNotFoundError):
        await ApiServer(listens=False, data=data, audit_log=tmp_path / "nowhere" / "audit.log").start()

    async with ApiServer(listens=False, data=data) as server:
        assert (await ask_inside(server, "GET", MAPS))[0] == 200

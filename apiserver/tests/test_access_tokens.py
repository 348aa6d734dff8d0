"""Tokens of service accounts: what they claim, and when they hold no more."""

from __future__ import annotations

import base64
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kubewright_apiserver.access.accounts import Accounts, Claimed, Lifetime
from kubewright_apiserver.access.credentials import Authenticator, bearer_token, has_extra_space, read_token_file
from kubewright_apiserver.access.tokens import BadToken, Issuer
from kubewright_apiserver.access.user import ANONYMOUS, User
from kubewright_apiserver.status import Refusal
from kubewright_apiserver.store import Store

URL = "https://kubernetes.default.svc.cluster.local"
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = Lifetime(3600)


class Cluster:
    """A store with accounts and pods, by a clock that can be set."""

    def __init__(self) -> None:
        self.store = Store()
        self.now = START
        self.uids = itertools.count(1)
        self.issuer = Issuer()
        self.accounts = Accounts(self.store, self.issuer, now=lambda: self.now, new_uid=lambda: f"id-{next(self.uids)}")

    async def put(self, plural: str, name: str, **metadata: str) -> dict[str, Any]:
        key = name if plural == "nodes" else f"shop/{name}"
        row = self.store.table(f"/{plural}").get(key)
        obj = {"metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", **metadata}}
        await self.store.put(f"/{plural}", key, obj, expected=row.rev if row is not None else 0)
        return obj

    async def delete(self, plural: str, name: str) -> None:
        row = self.store.table(f"/{plural}").get(f"shop/{name}")
        assert row is not None
        await self.store.delete(f"/{plural}", row.key, dict(row.obj), expected=row.rev)

    def why_not(self, token: str, *audiences: str) -> str:
        with pytest.raises(BadToken) as caught:
            self.accounts.authenticate(token, audiences or (URL,))
        return str(caught.value)


@pytest_asyncio.fixture
async def cluster() -> Cluster:
    return Cluster()


def claims_of(token: str, part: int = 1) -> dict[str, Any]:
    text = token.split(".")[part]
    found: dict[str, Any] = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


async def test_a_token_claims_what_kube_apiserver_says_of_an_account(cluster: Cluster):
    account = await cluster.put("serviceaccounts", "robot")

    token = cluster.accounts.issue(Claimed(account), [URL], HOUR)

    now = int(START.timestamp())
    assert claims_of(token) == {
        "aud": [URL],
        "exp": now + 3600,
        "iat": now,
        "iss": URL,
        "jti": "id-1",
        "kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "robot", "uid": "uid-robot"}},
        "nbf": now,
        "sub": "system:serviceaccount:shop:robot",
    }
    assert list(claims_of(token, 0)) == ["alg", "kid"]


async def test_a_token_makes_its_bearer_a_service_account(cluster: Cluster):
    account, pod = await cluster.put("serviceaccounts", "robot"), await cluster.put("pods", "p")
    node = {"metadata": {"name": "n"}}
    token = cluster.accounts.issue(Claimed(account, pod=pod, node=node), ["x", URL], HOUR)

    found = cluster.accounts.authenticate(token, [URL, "y"])

    assert found is not None
    assert found.audiences == (URL,)
    assert found.user == User(
        name="system:serviceaccount:shop:robot",
        uid="uid-robot",
        groups=("system:serviceaccounts", "system:serviceaccounts:shop", "system:authenticated"),
        extra={
            "authentication.kubernetes.io/credential-id": ("JTI=id-1",),
            "authentication.kubernetes.io/node-name": ("n",),
            "authentication.kubernetes.io/pod-name": ("p",),
            "authentication.kubernetes.io/pod-uid": ("uid-p",),
        },
    )


async def test_a_token_for_others_is_not_taken(cluster: Cluster):
    token = cluster.accounts.issue(Claimed(await cluster.put("serviceaccounts", "robot")), ["x", "y"], HOUR)

    assert cluster.why_not(token) == f'token audiences ["x" "y"] is invalid for the target audiences ["{URL}"]'


async def test_a_token_ends_a_minute_after_its_time(cluster: Cluster):
    token = cluster.accounts.issue(Claimed(await cluster.put("serviceaccounts", "robot")), [URL], HOUR)

    cluster.now = START + timedelta(seconds=3660)
    assert cluster.accounts.authenticate(token, [URL]) is not None

    cluster.now = START + timedelta(seconds=3661)
    assert cluster.why_not(token) == "service account token has expired"


async def test_a_token_from_the_future_is_not_taken(cluster: Cluster):
    token = cluster.accounts.issue(Claimed(await cluster.put("serviceaccounts", "robot")), [URL], HOUR)

    cluster.now = START - timedelta(seconds=61)

    assert cluster.why_not(token) == "service account token is not valid yet"


async def test_a_token_ends_with_its_account_even_if_there_is_another_of_that_name(cluster: Cluster):
    token = cluster.accounts.issue(Claimed(await cluster.put("serviceaccounts", "robot")), [URL], HOUR)

    await cluster.delete("serviceaccounts", "robot")
    assert cluster.why_not(token) == 'serviceaccounts "robot" not found'

    await cluster.put("serviceaccounts", "robot", uid="other")
    assert cluster.why_not(token) == "service account UID (other) does not match claim (uid-robot)"


@pytest.mark.parametrize("plural", ["pods", "secrets", "nodes"])
async def test_a_token_ends_with_what_it_is_bound_to(cluster: Cluster, plural: str):
    account, kind = await cluster.put("serviceaccounts", "robot"), plural.removesuffix("s")
    bound = await cluster.put(plural, "b")
    token = cluster.accounts.issue(Claimed(account, **{kind: bound}), [URL], HOUR)
    gone = cluster.accounts.issue(Claimed(account, **{kind: {"metadata": {"name": "c", "uid": "u"}}}), [URL], HOUR)

    assert cluster.accounts.authenticate(token, [URL]) is not None
    assert cluster.why_not(gone) == "service account token has been invalidated"

    await cluster.put(plural, "b", uid="new")
    assert cluster.why_not(token) == f"{kind} UID (new) does not match service account {kind} ref claim (uid-b)"


async def test_a_token_outlives_the_end_of_its_pod_by_a_minute(cluster: Cluster):
    account, pod = await cluster.put("serviceaccounts", "robot"), await cluster.put("pods", "p")
    token = cluster.accounts.issue(Claimed(account, pod=pod), [URL], HOUR)
    await cluster.put("pods", "p", deletionTimestamp="2026-01-01T00:00:10Z")

    cluster.now = START + timedelta(seconds=70)
    assert cluster.accounts.authenticate(token, [URL]) is not None

    cluster.now = START + timedelta(seconds=71)
    assert cluster.why_not(token) == "service account token has been invalidated"


async def test_what_is_no_token_of_this_issuer_is_left_to_others(cluster: Cluster):
    foreign = Issuer("https://elsewhere").sign({"sub": "x"})

    for token in ("nonsense", "a.b.c", foreign, "é.é.é", "..", "W10.W10.W10"):
        assert cluster.accounts.authenticate(token, [URL]) is None


async def test_a_token_that_was_tampered_with_is_not_taken(cluster: Cluster):
    token = cluster.accounts.issue(Claimed(await cluster.put("serviceaccounts", "robot")), [URL], HOUR)
    head, body, signature = token.split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    other_key = Issuer().sign(claims_of(token))
    broken = "go-jose/go-jose: error in cryptographic primitive"

    assert cluster.why_not(f"{head}.{body}.{signature[:-6]}AAAAAA") == broken
    assert cluster.why_not(f"{head}.{body}.AAAA") == broken
    assert cluster.why_not(f"{unsigned}.{body}.") == broken
    assert cluster.why_not(other_key) == "invalid signature, no keys found"
    forged = encoded({**claims_of(token), "sub": "system:serviceaccount:kube-system:admin"})
    assert cluster.why_not(f"{head}.{forged}.{signature}") == broken


def encoded(claims: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(claims)).decode().rstrip("=")


@pytest.mark.parametrize("kind", ["ES256", "RS256"])
def test_a_key_that_is_given_signs_and_is_published(kind: str):
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ES256" else rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    one, two = Issuer(key=pem), Issuer(key=pem, address="127.0.0.1:7")

    token = one.sign({"sub": "x"})

    assert two.claims_in(token) == {"sub": "x", "iss": URL}
    keys = orjson.loads(two.key_set())["keys"]
    assert [(found["alg"], found["use"], found["kid"]) for found in keys] == [(kind, "sig", claims_of(token, 0)["kid"])]
    assert orjson.loads(two.configuration()) == {
        "issuer": URL,
        "jwks_uri": "https://127.0.0.1:7/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [kind],
    }


def test_a_key_of_another_kind_is_refused():
    pem = ec.generate_private_key(ec.SECP384R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    with pytest.raises(ValueError, match="must be RSA, or of the curve P-256"):
        Issuer(key=pem)


async def test_a_static_token_is_of_its_user_and_of_all_who_are_known(cluster: Cluster):
    authenticator = Authenticator(cluster.accounts, {"secret": User(name="jane", groups=("devs",))})

    user = authenticator.user_of("Bearer secret", None)

    assert user == User(name="jane", groups=("devs", "system:authenticated"))
    assert authenticator.review("secret", [URL]).audiences == (URL,)
    with pytest.raises(BadToken, match=r"^invalid bearer token$"):
        authenticator.review("secret", ["x"])


async def test_a_wrong_token_is_nobody_not_even_anonymous(cluster: Cluster):
    authenticator = Authenticator(cluster.accounts, {})

    with pytest.raises(Refusal) as caught:
        authenticator.user_of("Bearer wrong", None)

    assert (caught.value.code, caught.value.message, caught.value.details) == (401, "Unauthorized", None)


async def test_who_shows_nothing_is_anonymous_unless_that_is_not_taken(cluster: Cluster):
    anyone = Authenticator(cluster.accounts, {})
    strict = Authenticator(cluster.accounts, {}, takes_anonymous=False)
    master = User(name="root", groups=("system:masters",))

    assert anyone.user_of("", None) is ANONYMOUS
    assert anyone.user_of("Basic eDp5", None) is ANONYMOUS
    assert strict.user_of("", None, master) is master
    with pytest.raises(Refusal):
        strict.user_of("", None)


@pytest.mark.parametrize(
    ("header", "token", "is_spaced"),
    [
        ("Bearer x", "x", False),
        ("bearer x", "x", False),
        (" Bearer x ", "x", False),
        ("Bearer x y", "x", False),
        ("Bearer  x", "", True),
        ("Bearer", "", False),
        ("Basic x", "", False),
        ("x", "", False),
    ],
)
def test_the_token_is_the_word_after_bearer(header: str, token: str, is_spaced: bool):
    assert bearer_token(header) == token
    assert has_extra_space(header) is is_spaced


def test_tokens_are_read_from_a_file_of_lines(tmp_path: Any):
    file = tmp_path / "tokens.csv"
    file.write_text('secret,jane,u1,"devs,ops"\nother,joe,u2\n\n')

    assert read_token_file(file) == {
        "secret": User(name="jane", uid="u1", groups=("devs", "ops")),
        "other": User(name="joe", uid="u2"),
    }


def test_a_short_line_of_a_token_file_is_named(tmp_path: Any):
    file = tmp_path / "tokens.csv"
    file.write_text("secret,jane\n")

    with pytest.raises(ValueError, match="line 1 needs a token, a user's name and a uid"):
        read_token_file(file)

"""§1.13 Requests for certificates: whose they are, who approves them, who signs them."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.13")

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
# A signature of this kind is the same each time.
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
APPROVED = {"type": "Approved", "status": "True", "reason": "Tested", "message": "m"}
DENIED = {"type": "Denied", "status": "True", "reason": "Tested"}
FAILED = {"type": "Failed", "status": "True", "reason": "Tested"}


def certificate_request(*organizations: str, key: Any = KEY) -> bytes:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in organizations]
    subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    algorithm = None if key is KEY else hashes.SHA256()
    built = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, algorithm)
    return built.public_bytes(serialization.Encoding.PEM)


def signing_request(api: Api, pem: bytes | None = None, **spec: Any) -> dict[str, Any]:
    asked = base64.b64encode(certificate_request() if pem is None else pem).decode()
    given = {"request": asked, "signerName": "example.com/signer", "usages": ["client auth"], **spec}
    return {"metadata": {"name": f"{api.namespace}-r"}, "spec": given}


def acting(name: str, *, group: str = "system:masters", **extra: str) -> dict[str, str]:
    """Headers of somebody else, who may do everything unless they are in another group."""
    more = {f"Impersonate-{key.replace('_', '-')}": value for key, value in extra.items()}
    return {"Impersonate-User": name, "Impersonate-Group": group, **more}


ALICE = acting("alice")


@asynccontextmanager
async def requested(api: Api, **spec: Any) -> AsyncIterator[str]:
    """The path of a request of alice's."""
    with api.unrecorded():
        answer = await api.post(REQUESTS, signing_request(api, **spec), headers=ALICE)
        assert answer.status == 201, answer.text
    path = f"{REQUESTS}/{api.namespace}-r"
    yield path
    with api.unrecorded():
        await api.delete(path)


async def created(api: Api, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
    await api.post(REQUESTS, body, headers=headers or ALICE)
    with api.unrecorded():
        await api.delete(f"{REQUESTS}/{api.namespace}-r")


# Whose they are


async def test_a_request_is_of_who_asks(api: Api):
    await created(api, signing_request(api))


async def test_a_request_is_of_nobody_else(api: Api):
    lies: dict[str, Any] = {"username": "bob", "uid": "7", "groups": ["g"], "extra": {"a": ["b"]}}
    await created(api, signing_request(api, **lies))


async def test_a_request_tells_all_that_is_known_of_who_asks(api: Api):
    await created(api, signing_request(api), acting("carol", Uid="u-1", Extra_Team="red", Extra_Dept="x"))


async def test_a_request_of_a_service_account(api: Api):
    await created(api, signing_request(api), acting("system:serviceaccount:default:robot"))


async def test_a_new_request_has_no_status(api: Api):
    body = signing_request(api) | {"status": {"conditions": [APPROVED], "certificate": certificate()}}
    await created(api, body)


async def test_a_request_by_a_dry_run(api: Api):
    await api.post(REQUESTS, signing_request(api), headers=ALICE, query={"dryRun": "All"})


async def test_a_request_may_be_given_a_name(api: Api):
    body = {**signing_request(api), "metadata": {"generateName": f"{api.namespace}-"}}
    with api.unrecorded():
        answer = await api.post(REQUESTS, body, headers=ALICE)
        await api.delete(f"{REQUESTS}/{answer.body['metadata']['name']}")
    api.note(str(answer.status), answer.body["spec"])


# What can be asked for


@pytest.mark.parametrize(
    "spec",
    [
        {"usages": []},
        {"usages": ["client auth", "client auth"]},
        {"usages": ["client auth", "nonsense"]},
        {"usages": ["digital signature", "key encipherment", "server auth"]},
        {"signerName": ""},
        {"signerName": "plain"},
        {"signerName": "example.com/"},
        {"signerName": "example.com/a/b"},
        {"signerName": "Example.com/a"},
        {"signerName": "kubernetes.io/legacy-unknown"},
        {"signerName": "kubernetes.io/kubelet-serving"},
        {"expirationSeconds": 599},
        {"expirationSeconds": 600},
        {"expirationSeconds": -1},
        {"request": ""},
        {"request": base64.b64encode(b"nonsense").decode()},
        {"usages": [], "signerName": "", "expirationSeconds": 1},
    ],
    ids=str,
)
async def test_what_a_request_may_say(api: Api, spec: dict[str, Any]):
    await created(api, signing_request(api, **spec))


async def test_a_request_in_a_block_of_another_type(api: Api):
    await created(api, signing_request(api, certificate_request().replace(b"REQUEST", b"WISH")))


def made_key(kind: str) -> Any:
    if kind == "rsa":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if kind == "ecdsa" else KEY


@pytest.mark.parametrize("key", ["ed25519", "rsa", "ecdsa"])
async def test_a_request_that_was_tampered_with(api: Api, key: str):
    made = certificate_request(key=made_key(key))
    signed = base64.b64decode(b"".join(made.splitlines()[1:-1])).replace(b"somebody", b"somebobb")
    mixed = base64.encodebytes(signed)
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\n" + mixed + b"-----END CERTIFICATE REQUEST-----\n"
    with api.unrecorded():
        answer = await api.post(REQUESTS, signing_request(api, pem), headers=ALICE)
    api.note(str(answer.status), answer.body["message"].rpartition('": ')[2])


# CertificateSubjectRestriction


@pytest.mark.parametrize(
    ("signer", "organizations"),
    [
        (CLIENT_SIGNER, ("system:masters",)),
        (CLIENT_SIGNER, ("devs", "system:masters")),
        (CLIENT_SIGNER, ("devs",)),
        (CLIENT_SIGNER, ()),
        ("example.com/signer", ("system:masters",)),
    ],
    ids=str,
)
async def test_nobody_becomes_a_master_by_a_certificate(api: Api, signer: str, organizations: tuple[str, ...]):
    await created(api, signing_request(api, certificate_request(*organizations), signerName=signer))


async def test_a_master_is_refused_after_other_faults(api: Api):
    await created(api, signing_request(api, certificate_request("system:masters"), signerName=CLIENT_SIGNER, usages=[]))


async def test_a_master_is_refused_in_a_dry_run(api: Api):
    body = signing_request(api, certificate_request("system:masters"), signerName=CLIENT_SIGNER)
    await api.post(REQUESTS, body, headers=ALICE, query={"dryRun": "All"})


# The doors


async def test_what_was_asked_for_stays(api: Api):
    async with requested(api) as path:
        await api.patch(path, {"spec": {"usages": ["server auth"], "username": "bob"}}, headers=ALICE)
        await api.patch(path, {"metadata": {"labels": {"a": "b"}}}, headers=ALICE)
        await api.patch(path, {"status": {"conditions": [APPROVED]}}, headers=ALICE)
        await api.patch(path + "/approval", {"spec": {"signerName": "example.com/other"}}, headers=ALICE)
        await api.get(path)


@pytest.mark.parametrize(
    "conditions",
    [
        [APPROVED],
        [DENIED],
        [FAILED],
        [{"type": "example.com/Seen", "status": "Unknown"}],
        [{**APPROVED, "status": "False"}],
        [{**APPROVED, "status": ""}],
        [{"type": "", "status": "True"}],
        [APPROVED, DENIED],
        [APPROVED, APPROVED],
        [{**APPROVED, "lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2020-01-02T00:00:00Z"}],
    ],
    ids=lambda conditions: "+".join(f"{one['type']}={one['status']}" for one in conditions),
)
async def test_approval_decides(api: Api, conditions: list[dict[str, str]]):
    async with requested(api) as path:
        await api.patch(path + "/approval", {"status": {"conditions": conditions}}, headers=ALICE)


async def test_a_decision_is_for_ever(api: Api):
    async with requested(api) as path:
        with api.unrecorded():
            await api.patch(path + "/approval", {"status": {"conditions": [APPROVED]}})
        await api.patch(path + "/approval", {"status": {"conditions": []}}, headers=ALICE)
        await api.patch(path + "/approval", {"status": {"conditions": [DENIED]}}, headers=ALICE)
        await api.patch(path + "/approval", {"status": {"conditions": [APPROVED, DENIED]}}, headers=ALICE)
        await api.patch(path + "/approval", {"status": {"conditions": [{**APPROVED, "message": "n"}]}}, headers=ALICE)


async def test_approval_writes_no_certificate(api: Api):
    async with requested(api) as path:
        status = {"conditions": [APPROVED], "certificate": certificate()}
        await api.patch(path + "/approval", {"status": status}, headers=ALICE)


@pytest.mark.parametrize(
    "status",
    [
        {"conditions": [APPROVED]},
        {"conditions": [DENIED]},
        {"conditions": [FAILED]},
        {"conditions": [{"type": "example.com/Seen", "status": "True"}]},
        {"certificate": base64.b64encode(b"nonsense").decode()},
        {"certificate": base64.b64encode(certificate_request()).decode()},
    ],
    ids=["approved", "denied", "failed", "own", "nonsense", "request"],
)
async def test_a_signer_fails_or_signs(api: Api, status: dict[str, Any]):
    async with requested(api) as path:
        await api.patch(path + "/status", {"status": status}, headers=ALICE)


def certificate() -> str:
    """A certificate that is the same each time."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "somebody")])
    built = x509.CertificateBuilder(name, name, KEY.public_key(), 7)
    dated = built.not_valid_before(datetime(2026, 1, 1, tzinfo=UTC)).not_valid_after(datetime(2036, 1, 1, tzinfo=UTC))
    return base64.b64encode(dated.sign(KEY, None).public_bytes(serialization.Encoding.PEM)).decode()


async def test_a_certificate_is_issued_once(api: Api):
    async with requested(api) as path:
        with api.unrecorded():
            await api.patch(path + "/approval", {"status": {"conditions": [APPROVED]}})
        await api.patch(path + "/status", {"status": {"certificate": certificate()}}, headers=ALICE)
        twice = base64.b64encode(base64.b64decode(certificate()) * 2).decode()
        await api.patch(path + "/status", {"status": {"certificate": twice}}, headers=ALICE)
        await api.patch(path + "/status", {"status": {"certificate": None}}, headers=ALICE)
        await api.get(path + "/status")
        await api.get(path + "/approval")


async def test_a_signer_keeps_the_decision(api: Api):
    async with requested(api) as path:
        with api.unrecorded():
            await api.patch(path + "/approval", {"status": {"conditions": [APPROVED]}})
        await api.patch(
            path + "/status", {"status": {"conditions": [{**APPROVED, "message": "n"}, FAILED]}}, headers=ALICE
        )


async def test_a_whole_request_is_put_through_a_door(api: Api):
    async with requested(api) as path:
        with api.unrecorded():
            found = (await api.get(path)).body
        await api.put(path + "/approval", {**found, "status": {"conditions": [APPROVED]}}, headers=ALICE)
        await api.put(path + "/status", {**found, "status": {"certificate": certificate()}}, headers=ALICE)
        found["metadata"].pop("resourceVersion")
        await api.put(
            path + "/status",
            {**found, "status": {"certificate": certificate(), "conditions": [APPROVED]}},
            headers=ALICE,
        )


async def test_requests_are_selected_by_signer(api: Api):
    async with requested(api):
        await api.get(
            REQUESTS, query={"fieldSelector": f"spec.signerName=example.com/signer,metadata.name={api.namespace}-r"}
        )
        await api.get(REQUESTS, query={"fieldSelector": f"spec.signerName=a.com/b,metadata.name={api.namespace}-r"})


# CertificateApproval, CertificateSigning


@asynccontextmanager
async def allowed(api: Api, *rules: dict[str, Any]) -> AsyncIterator[dict[str, str]]:
    """Headers of somebody who may write to all doors, and has these rights to signers."""
    name = f"{api.namespace}-signing"
    parts = [f"certificatesigningrequests{part}" for part in ("", "/approval", "/status")]
    doors = {"apiGroups": ["certificates.k8s.io"], "resources": parts, "verbs": ["get", "update", "patch"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}
    named = {"metadata": {"name": name}}
    with api.unrecorded():
        await api.post(f"{RBAC}/clusterroles", {**named, "rules": [doors, *rules]})
        await api.post(f"{RBAC}/clusterrolebindings", {**named, "roleRef": reference, "subjects": [user]})
    headers = acting(name, group="people")
    attributes = {"verb": "patch", "group": "certificates.k8s.io", "resource": "certificatesigningrequests"}
    with api.unrecorded():
        for _ in range(200):
            path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
            answer = await api.post(path, {"spec": {"resourceAttributes": attributes}}, headers=headers)
            if answer.body.get("status", {}).get("allowed"):
                break
    yield headers
    with api.unrecorded():
        await api.delete(f"{RBAC}/clusterrolebindings/{name}")
        await api.delete(f"{RBAC}/clusterroles/{name}")


def right(verb: str, *names: str) -> dict[str, Any]:
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": [verb]}
    return {**rule, "resourceNames": list(names)} if names else rule


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (right("approve", "example.com/signer"),),
        (right("approve", "example.com/*"),),
        (right("approve", "example.com/other"),),
        (right("approve"),),
        (right("sign"),),
    ],
    ids=["none", "the signer", "the domain", "another", "all", "to sign"],
)
async def test_who_approves_has_a_right_to_the_signer(api: Api, rules: tuple[dict[str, Any], ...]):
    async with requested(api) as path, allowed(api, *rules) as headers:
        with api.unrecorded():
            answer = await api.patch(path + "/approval", {"status": {"conditions": [APPROVED]}}, headers=headers)
        api.note(str(answer.status), answer.body.get("message"))
        api.note("details", answer.body.get("details"))


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (right("sign", "example.com/signer"),),
        (right("sign", "example.com/*"),),
        (right("sign", "other.com/*"),),
        (right("approve"),),
    ],
    ids=["none", "the signer", "the domain", "another", "to approve"],
)
async def test_who_signs_has_a_right_to_the_signer(api: Api, rules: tuple[dict[str, Any], ...]):
    async with requested(api) as path, allowed(api, *rules) as headers:
        for status in ({"conditions": [FAILED]}, {"certificate": certificate()}):
            with api.unrecorded():
                answer = await api.patch(path + "/status", {"status": status}, headers=headers)
            api.note(str(answer.status), answer.body.get("message"))


async def test_a_status_that_stays_needs_no_right(api: Api):
    async with requested(api) as path, allowed(api) as headers:
        with api.unrecorded():
            answer = await api.patch(path + "/status", {"metadata": {"labels": {"a": "b"}}}, headers=headers)
            api.note(str(answer.status), answer.body.get("message"))
            answer = await api.patch(path + "/approval", {"metadata": {"labels": {"a": "b"}}}, headers=headers)
            api.note(str(answer.status), answer.body.get("message"))


async def test_a_wrong_decision_is_refused_before_rights_are_looked_at(api: Api):
    async with requested(api) as path, allowed(api) as headers:
        with api.unrecorded():
            answer = await api.patch(
                path + "/approval", {"status": {"conditions": [APPROVED, DENIED]}}, headers=headers
            )
        api.note(str(answer.status), answer.body.get("message"))


# What is there by default


async def test_bundles_of_trust_are_not_served(api: Api):
    await api.get("/apis/certificates.k8s.io/v1/clustertrustbundles")
    await api.get("/apis/certificates.k8s.io/v1")


async def test_requests_as_a_table(api: Api):
    async with requested(api) as path:
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        with api.unrecorded():
            answer = await api.get(path, headers={"Accept": accept})
        api.note("cells", [cell for index, cell in enumerate(answer.body["rows"][0]["cells"]) if index != 1])

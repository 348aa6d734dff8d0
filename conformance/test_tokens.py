"""Tokens of service accounts: asked for, looked at, and the documents that others check them by."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from conformance.exchange import Answer, Api
from conformance.objects import PODS, pod
from conformance.rights import ACCOUNTS, Rights, rule, token_of

pytestmark = pytest.mark.section("1.13")

TOKEN = f"{ACCOUNTS}/robot/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
NODE = {"kind": "Node", "apiVersion": "v1", "name": "token-node"}


@pytest.fixture
async def account(api: Api) -> None:
    with api.unrecorded():
        await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})


def claims_in(answer: Answer) -> dict[str, Any]:
    """What a token claims, without the times; those as distances."""
    text = answer.body["status"]["token"].split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    issued = claims.pop("iat")
    warned = claims["kubernetes.io"].get("warnafter")
    if warned is not None:
        claims["kubernetes.io"]["warnafter"] = warned - issued
    return {**claims, "exp": claims["exp"] - issued, "nbf": claims["nbf"] - issued}


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"spec": {}},
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}},
        {"spec": {"audiences": ["b", "a"], "expirationSeconds": 7200}},
        {"metadata": {"name": "robot", "labels": {"a": "b"}}, "status": {"token": "x"}},
        {"spec": {"expirationSeconds": 3607}},
    ],
)
async def test_a_token_is_asked_for(api: Api, body: dict[str, Any]):
    answer = await api.post(TOKEN, body)
    api.note("claims", claims_in(answer))


@pytest.mark.usefixtures("account")
@pytest.mark.parametrize(
    "body",
    [
        {"spec": {"expirationSeconds": 599}},
        {"spec": {"expirationSeconds": 2**32 + 1}},
        {"spec": {"expirationSeconds": "x"}},
        {"metadata": {"name": "other"}},
        {"metadata": {"namespace": "default"}},
        {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}},
        {"kind": "Pod", "apiVersion": "v1"},
        {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "nothing"}}},
        {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "nothing"}}},
        {"spec": {"boundObjectRef": {"kind": "Node", "apiVersion": "v1", "name": "nothing"}}},
        {"spec": {"boundObjectRef": {"kind": "Deployment", "apiVersion": "apps/v1", "name": "d"}}},
        {"spec": {"boundObjectRef": {}}},
        {"spec": {"nothing": 1}},
    ],
)
async def test_a_token_is_refused(api: Api, body: dict[str, Any]):
    await api.post(TOKEN, body)


async def test_a_token_of_no_account(api: Api):
    await api.post(TOKEN, {})


@pytest.mark.usefixtures("account")
async def test_a_token_is_only_ever_created(api: Api):
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        await api.call(method, TOKEN)
    await api.post(TOKEN, {}, query={"dryRun": "All"})
    await api.post(TOKEN, {}, query={"dryRun": "Some"})


@pytest.mark.usefixtures("account")
async def test_a_token_is_bound_to_a_pod(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(serviceAccountName="robot", nodeName="not-there"))
        await api.post(PODS, pod("q", serviceAccountName="other"))
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    for seconds in (3600, 3607):
        answer = await api.post(TOKEN, {"spec": {"boundObjectRef": reference, "expirationSeconds": seconds}})
        api.note("claims", claims_in(answer))
    await api.post(TOKEN, {"spec": {"boundObjectRef": {**reference, "uid": "x"}}})
    await api.post(TOKEN, {"spec": {"boundObjectRef": {**reference, "name": "q"}}})


@pytest.mark.usefixtures("account")
async def test_a_token_is_bound_to_a_secret(api: Api):
    with api.unrecorded():
        await api.post("/api/v1/namespaces/{ns}/secrets", {"metadata": {"name": "s"}})
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    answer = await api.post(TOKEN, {"spec": {"boundObjectRef": reference}})
    api.note("claims", claims_in(answer))
    with api.unrecorded():
        await api.delete("/api/v1/namespaces/{ns}/secrets/s")
        token = answer.body["status"]["token"]
        await api.until(f"{ACCOUNTS}/robot", lambda found: found.status == 200)
    await review(api, token)


async def review(api: Api, token: str, **spec: Any) -> None:
    """Look at a token, of which nothing but the answer is part of the case."""
    await api.post(REVIEWS, {"spec": {"token": token, **spec}})


async def test_whose_a_token_is(api: Api):
    token = await token_of(api)
    await review(api, token)
    await review(api, token, audiences=["x", "https://kubernetes.default.svc.cluster.local"])
    await review(api, token, audiences=["x", "y"])


async def test_whose_a_token_for_others_is(api: Api):
    token = await token_of(api, audiences=["a", "b"])
    await review(api, token)
    await review(api, token, audiences=["b", "c", "a"])


@pytest.mark.parametrize("token", ["wrong", "a.b.c", "", "  ", "x y"])
async def test_a_token_of_nobody(api: Api, token: str):
    await review(api, token)


async def test_a_token_review_without_anything(api: Api):
    await api.post(REVIEWS, {})
    await api.get(REVIEWS)
    await api.acting_as("jane").post(REVIEWS, {"spec": {"token": "x"}})


async def test_a_token_of_an_account_that_is_gone(api: Api):
    token = await token_of(api)
    with api.unrecorded():
        await api.delete(f"{ACCOUNTS}/robot")
        await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})
        uid = (await api.get(f"{ACCOUNTS}/robot")).body["metadata"]["uid"]
        answer = await api.post(REVIEWS, {"spec": {"token": token}})
    api.note("of another", [answer.body["status"].get("authenticated", False), uid in answer.text])


async def test_who_may_ask_for_tokens(api: Api, rights: Rights):
    with api.unrecorded():
        await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})
    await rights.grant("jane", rule("create", "serviceaccounts/token", resourceNames=["robot"]))
    jane = api.acting_as("jane")
    await jane.post(TOKEN, {})
    await jane.post(f"{ACCOUNTS}/other/token", {})


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/openid/v1/jwks"])
async def test_the_documents_of_the_issuer(api: Api, path: str):
    with api.unrecorded():
        answer = await api.get(path, headers={"Accept": "*/*"})
    told = answer.body
    headers = [answer.headers.get(name) for name in ("content-type", "cache-control")]
    fields = sorted(told if "keys" not in told else set(told["keys"][0]) & {"use", "kty", "kid", "alg"})
    api.note(path, [answer.status, headers, fields, told.get("issuer")])
    await api.get(path, headers={"Accept": "text/html"})
    await api.post(path, {}, headers={"Accept": "*/*"})
    with api.unrecorded():
        api.note("others", (await api.acting_as("jane").get(path)).status)
        robot = api.acting_as(f"system:serviceaccount:{api.namespace}:robot")
        api.note("accounts", (await robot.get(path, headers={"Accept": "*/*"})).status)

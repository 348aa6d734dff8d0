"""Who asks: nobody, somebody with a token, somebody with a wrong one."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, PODS, config_map, pod
from conformance.rights import ACCOUNTS, Rights, rule, token_of

pytestmark = pytest.mark.section("1.13")

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.mark.parametrize(
    "path",
    ["/healthz", "/healthz/etcd", "/livez", "/readyz", "/readyz/ping", "/version", "/version/", "/livez/nothing"],
)
async def test_what_nobody_may_read(stranger: Api, path: str):
    with stranger.unrecorded():
        answer = await stranger.get(path)
    stranger.note(path, [answer.status, answer.text if "version" not in path else "…"])


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/nothing",
        "/healthz2",
        "/.well-known/openid-configuration",
        "/openid/v1/jwks",
        "//api/v1/pods",
        "/api/v1/namespaces/{ns}/configmaps/a%2Fb",
    ],
)
async def test_what_nobody_may_not_read(stranger: Api, path: str):
    await stranger.get(path)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", MAPS),
        ("GET", "/api/v1/configmaps"),
        ("GET", f"{MAPS}?watch=1"),
        ("GET", f"{MAPS}/a"),
        ("OPTIONS", f"{MAPS}/a"),
        ("DELETE", MAPS),
        ("POST", MAPS),
        ("PUT", f"{MAPS}/a"),
        ("PATCH", "/api/v1/nodes/n/status"),
        ("GET", "/apis/nothing.example.com/v1/things"),
        ("POST", WHO),
    ],
)
async def test_what_nobody_may_not_do(stranger: Api, method: str, path: str):
    await stranger.call(method, path, config_map() if method in ("POST", "PUT", "PATCH") else None)


@pytest.mark.parametrize(
    "header",
    [
        "Bearer wrong",
        "bearer wrong",
        "Bearer a.b.c",
        "Bearer ",
        "Bearer",
        "Bearer  wrong",
        "Token wrong",
        "Basic eDp5",
        "wrong",
    ],
)
async def test_wrong_credentials(stranger: Api, header: str):
    wrong = stranger.with_headers(("Authorization", header))
    await wrong.get("/healthz")
    await wrong.get(MAPS)


@pytest.mark.parametrize("accept", ["application/yaml", "text/html", "application/json;as=Table;v=v1;g=meta.k8s.io"])
async def test_the_form_of_a_refusal(stranger: Api, accept: str):
    await stranger.get(MAPS, headers={"Accept": accept})
    await stranger.get(MAPS, headers={"Accept": accept, "Authorization": "Bearer wrong"})


async def test_an_account_is_known_by_its_token(api: Api, stranger: Api):
    token = await token_of(api)
    robot = stranger.with_headers(("Authorization", f"Bearer {token}"))
    await robot.post(WHO, {})
    await robot.get(MAPS)
    await robot.get("/healthz")
    await stranger.with_headers(("Authorization", f"bEaReR {token}")).get(f"{MAPS}/a")


async def test_an_account_has_the_rights_of_its_roles(api: Api, stranger: Api, rights: Rights):
    token = await token_of(api)
    await rights.grant(f"system:serviceaccount:{api.namespace}:robot", rule("get,list"))
    robot = stranger.with_headers(("Authorization", f"Bearer {token}"))
    await robot.get(f"{MAPS}/a")
    await robot.post(MAPS, config_map())


async def test_a_token_for_somebody_else_is_none(api: Api, stranger: Api):
    token = await token_of(api, audiences=["https://elsewhere"])
    await stranger.with_headers(("Authorization", f"Bearer {token}")).get("/healthz")


async def test_a_token_that_was_changed_is_none(api: Api, stranger: Api):
    header, claims, signature = (await token_of(api)).split(".")
    told = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    told["sub"] = "system:serviceaccount:kube-system:default"
    forged = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    for token in (f"{header}.{forged}.{signature}", f"{header}.{claims}.", f"{header}.{claims}.{signature[:-4]}AAAA"):
        await stranger.with_headers(("Authorization", f"Bearer {token}")).get("/healthz")


async def test_a_token_bound_to_a_pod_tells_of_it(api: Api, stranger: Api):
    with api.unrecorded():
        await api.post(ACCOUNTS, {"metadata": {"name": "robot"}})
        await api.post(PODS, pod(serviceAccountName="robot", nodeName="n"))
        reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
        made = await api.post(f"{ACCOUNTS}/robot/token", {"spec": {"boundObjectRef": reference}})
    robot = stranger.with_headers(("Authorization", f"Bearer {made.body['status']['token']}"))
    await robot.post(WHO, {})


async def test_a_token_and_no_right_to_act_as_somebody(api: Api, stranger: Api):
    token = await token_of(api)
    robot = stranger.with_headers(("Authorization", f"Bearer {token}"), ("Impersonate-User", "jane"))
    await robot.get(MAPS)

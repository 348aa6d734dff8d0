"""§1.10 What the real server makes of small objects, kept as the cases that the tests of ``defaulting`` compare with.

A case is an object to create (as a dry run), or one to create, perhaps a status to patch in, and one to put in its
place. ``--record`` keeps what the server answers now.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conformance.exchange import Api
from kubewright import Config
from kubewright.client import HttpTransport
from kubewright.testing import RealControlPlane
from kubewright_apiserver.data import resources
from tests.real import require_binaries

CASES = Path(__file__).parent.parent / "apiserver/tests/data/defaulting.json"
REFUSALS = CASES.with_name("service_refusals.json")
GATES = {"default": [], "beta": ["--feature-gates=AllBeta=true"]}
SYSTEM_FIELDS = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")
RESOURCES = {(found["group"], found["version"], found["kind"]): found for found in resources()["resources"]}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=GATES)
async def gated(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, Api]]:
    """The name of a set of feature gates, and requests to a server of its own with them."""
    served = "api/ga=true,api/beta=true"
    flags = GATES[request.param]
    async with RealControlPlane(binaries=require_binaries(), runtime_config=served, flags=flags) as plane:
        transport = HttpTransport(Config.from_kubeconfig(plane.kubeconfig))
        yield request.param, Api(transport.send, "default")
        await transport.aclose()


def path_of(obj: dict[str, Any], *, name: str = "", subresource: str = "") -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = RESOURCES[(group, version, obj["kind"])]
    parts = ["/apis" if group else "/api", obj["apiVersion"]]
    parts += ["namespaces/default"] if resource["namespaced"] else []
    return "/".join(filter(None, [*parts, resource["name"], name, subresource]))


def normalised(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in SYSTEM_FIELDS}
    text = json.dumps({**obj, "metadata": metadata}).replace(obj["metadata"]["uid"], "<uid>")
    # Times in the cases are of years long gone.
    text = re.sub(r'"20(?!20)\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"', '"<now>"', text)
    told: dict[str, Any] = json.loads(re.sub(r"X509SHA256=\w+", "X509SHA256=<hash>", text))
    return told


async def created(api: Api, case: dict[str, Any]) -> dict[str, Any]:
    answer = await api.post(path_of(case["input"]), case["input"], query={"dryRun": "All"})
    return {"expected": normalised(answer.body)}


async def updated(api: Api, case: dict[str, Any]) -> dict[str, Any]:
    before, obj = case["before"], case["input"]
    name = before["metadata"]["name"]
    old = (await api.post(path_of(before), before)).body
    if "status" in case:
        old = (await api.patch(path_of(before, name=name, subresource="status"), {"status": case["status"]})).body
    # The server's own controllers may write in between: without a revision where that is allowed, else with the last.
    metadata = {**obj["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
    sent = {**obj, "metadata": metadata if case.get("isConditional", True) else obj["metadata"]}
    answer = await api.put(path_of(obj, name=name, subresource=case["subresource"]), sent)
    return {"old": normalised(old), "expected": normalised(answer.body)}


def lines(cases: list[dict[str, Any]]) -> Iterator[str]:
    for case in cases:
        yield json.dumps(case, ensure_ascii=False, separators=(",", ":"))


async def test_the_real_server_fills_in_what_the_cases_say(gated: tuple[str, Api], request: pytest.FixtureRequest):
    gates, api = gated
    cases = json.loads(CASES.read_text())

    wrong = []
    for case in cases:
        if case.get("gates", "default") == gates:
            answers = await (updated if "before" in case else created)(api, case)
            wrong += [case["case"]] if any(case.get(name) != answers[name] for name in answers) else []
            case.update(answers)
    if request.config.getoption("--record"):
        CASES.write_text("[\n" + ",\n".join(lines(cases)) + "\n]\n")
        wrong = []

    assert wrong == []


async def test_the_real_server_refuses_services_as_the_cases_say(gated: tuple[str, Api]):
    _, api = gated
    told = json.loads(REFUSALS.read_text())
    path = "/api/v1/namespaces/default/services"
    await api.post(path, {"metadata": {"name": "holder"}, "spec": told["taken"]})

    wrong = []
    for case in told["cases"]:
        query = {"dryRun": "All"} if case.get("isDryRun") else None
        answer = await api.post(path, {"metadata": {"name": case["case"]}, "spec": case["spec"]}, query=query)
        wrong += [] if answer.body == case["status"] else [answer.body]

    assert wrong == []

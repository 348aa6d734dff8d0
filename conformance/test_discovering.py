"""§1.1 Discovery, version, health, OpenAPI."""

from __future__ import annotations

import pytest

from conformance.exchange import Api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
KUBECTL = f"{AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"


async def test_the_core_group_in_the_older_form(api: Api):
    answer = await api.get("/api/v1")

    assert answer.body["groupVersion"] == "v1"


async def test_the_core_versions(api: Api):
    with api.unrecorded():
        answer = await api.get("/api")

    assert answer.body["kind"] == "APIVersions"
    assert answer.body["versions"] == ["v1"]


async def test_the_groups_in_the_older_form(api: Api):
    await api.get("/apis")


@pytest.mark.parametrize("group", ["apps", "batch", "autoscaling", "rbac.authorization.k8s.io", "events.k8s.io"])
async def test_one_group(api: Api, group: str):
    await api.get(f"/apis/{group}")


@pytest.mark.parametrize(
    "version",
    [
        "apps/v1",
        "batch/v1",
        "autoscaling/v1",
        "autoscaling/v2",
        "policy/v1",
        "apiextensions.k8s.io/v1",
        "authorization.k8s.io/v1",
        "coordination.k8s.io/v1",
        "networking.k8s.io/v1",
        "storage.k8s.io/v1",
    ],
)
async def test_the_resources_of_a_group_version(api: Api, version: str):
    await api.get(f"/apis/{version}")


async def test_the_core_group_aggregated(api: Api):
    await api.get("/api", headers={"Accept": AGGREGATED})


async def test_the_groups_aggregated(api: Api):
    await api.get("/apis", headers={"Accept": KUBECTL})


async def test_an_old_aggregated_form_falls_back(api: Api):
    old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"

    await api.get("/apis", headers={"Accept": old})


async def test_aggregated_discovery_has_an_etag_that_spares_the_second_answer(api: Api):
    with api.unrecorded():
        first = await api.get("/apis", headers={"Accept": AGGREGATED})
    again = await api.get("/apis", headers={"Accept": AGGREGATED, "If-None-Match": first.headers["etag"]})

    assert again.status == 304
    assert len(first.headers["etag"].strip('"')) == 128


@pytest.mark.parametrize(
    "path", ["/apis/nowhere.example.com", "/apis/nowhere.example.com/v1", "/apis/apps/v9", "/nope"]
)
async def test_a_path_that_nobody_serves(api: Api, path: str):
    await api.get(path)


@pytest.mark.parametrize(
    "path", ["/api/v1/things", "/apis/apps/v1/namespaces/x/things", "/api/v1/namespaces/x/things/a"]
)
async def test_a_resource_that_is_not_in_its_group(api: Api, path: str):
    await api.get(path)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/ping", "/livez/ping"])
async def test_health_is_told_in_a_word(api: Api, path: str):
    await api.get(path)


async def test_health_of_an_unknown_check(api: Api):
    await api.get("/readyz/no-such-check")


async def test_verbose_health_ends_with_the_verdict(api: Api):
    with api.unrecorded():
        answer = await api.get("/readyz?verbose")

    assert answer.text.splitlines()[0] == "[+]ping ok"
    assert answer.text.splitlines()[-1] == "readyz check passed"


async def test_the_version_names_its_parts(api: Api):
    with api.unrecorded():
        answer = await api.get("/version")

    told = {key: answer.body[key] for key in ("major", "minor", "emulationMajor", "emulationMinor")}
    assert told == {"major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36"}
    assert answer.body["gitVersion"].startswith("v1.36.")
    assert {"minCompatibilityMajor", "minCompatibilityMinor", "platform", "goVersion"} <= set(answer.body)


async def test_the_openapi_index_names_every_group_version(api: Api):
    with api.unrecorded():
        answer = await api.get("/openapi/v3")

    paths = answer.body["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/apps", "api", "apis", "version"} <= set(paths)
    assert paths["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


async def test_an_openapi_document_by_its_hash_may_be_kept_for_ever(api: Api):
    with api.unrecorded():
        index = await api.get("/openapi/v3")
        answer = await api.get(index.body["paths"]["apis/apps/v1"]["serverRelativeURL"])

    assert answer.headers["cache-control"] == "public, immutable"
    assert "etag" in answer.headers
    assert answer.body["openapi"].startswith("3.")


async def test_an_openapi_document_says_how_kubectl_may_patch(api: Api):
    with api.unrecorded():
        answer = await api.get("/openapi/v3/apis/apps/v1")

    patch = answer.body["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert {"dryRun", "fieldValidation", "fieldManager", "force"} <= {p["name"] for p in patch["parameters"]}
    schema = answer.body["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert schema["x-kubernetes-group-version-kind"] == [kind]
    assert schema["properties"]["spec"]

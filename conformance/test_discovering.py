"""§1.1 Discovery, version, health, OpenAPI."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Answer, Api, is_gone, is_served
from conformance.objects import crd
from conformance.widgets import Widgets

pytestmark = pytest.mark.section("1.1")

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


def head(answer: Answer) -> dict[str, Any]:
    told = ("content-type", "vary", "cache-control")
    return {"status": answer.status, **{name: answer.headers.get(name) for name in told}}


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_the_time_limit_that_kubectl_sends_is_taken(api: Api, path: str):
    with api.unrecorded():
        answer = await api.get(path, query={"timeout": "32s"}, headers={"Accept": KUBECTL})
    api.note("head", head(answer))


async def test_each_root_has_its_own_etag_of_upper_case_hexadecimal_digits(api: Api):
    with api.unrecorded():
        tags = [(await api.get(path, headers={"Accept": AGGREGATED})).headers["etag"] for path in ("/api", "/apis")]

    assert tags[0] != tags[1]
    assert all(set(tag.strip('"')) <= set("0123456789ABCDEF") for tag in tags)


async def test_an_etag_of_another_state_gets_the_whole_answer(api: Api):
    with api.unrecorded():
        answer = await api.get("/apis", headers={"Accept": AGGREGATED, "If-None-Match": '"0123"'})
    api.note("head", head(answer))


async def test_the_older_form_has_no_etag(api: Api):
    with api.unrecorded():
        answers = [await api.get(path) for path in ("/api", "/apis", "/api/v1", "/apis/apps/v1")]
    api.note("etags", ["etag" in answer.headers for answer in answers])
    api.note("heads", [head(answer) for answer in answers])


@pytest.mark.parametrize(
    "accept",
    [
        f"application/json,{AGGREGATED}",
        f"application/json;q=0.5,{AGGREGATED};q=0.9",
        f"{AGGREGATED};q=0.1,application/json;q=0.2",
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=Nonsense",
        "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
        "*/*",
        "text/html",
    ],
)
async def test_the_form_follows_what_the_client_accepts(api: Api, accept: str):
    with api.unrecorded():
        answer = await api.get("/apis", headers={"Accept": accept})
    api.note("head", head(answer))
    api.note("kind or refusal", answer.body["kind"] if answer.status == 200 else answer.body)


async def aggregated_group(api: Api, group: str) -> Any:
    """The entry of a group, as soon as there is one."""

    def entry(answer: Answer) -> Any:
        return next((found for found in answer.body["items"] if found["metadata"]["name"] == group), None)

    answer = await api.until("/apis", lambda answer: entry(answer) is not None, headers={"Accept": AGGREGATED})
    return entry(answer)


async def test_a_custom_resource_is_in_the_aggregated_form(api: Api, widgets: Widgets):
    definition = crd(
        "widgets",
        widgets.group,
        subresources={"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
    )
    definition["spec"]["names"] |= {"shortNames": ["wi"], "categories": ["all"]}
    await widgets.install_definition(definition)
    api.note("entry", await aggregated_group(api, widgets.group))


async def test_a_new_custom_resource_changes_the_etag(api: Api, widgets: Widgets):
    with api.unrecorded():
        before = await api.get("/apis", headers={"Accept": AGGREGATED})
    await widgets.install()
    await aggregated_group(api, widgets.group)
    with api.unrecorded():
        after = await api.get("/apis", headers={"Accept": AGGREGATED, "If-None-Match": before.headers["etag"]})

    assert after.status == 200
    assert after.headers["etag"] != before.headers["etag"]


async def test_the_versions_of_a_group_are_ordered_by_stability_and_number(api: Api, widgets: Widgets):
    definition = crd("widgets", widgets.group)
    first = definition["spec"]["versions"][0]
    names = ("v1alpha2", "v10", "v2", "foo", "v1beta1", "v11beta2", "v1alpha10")
    definition["spec"]["versions"] += [{**first, "name": name, "storage": False} for name in names]
    await widgets.install_definition(definition)
    await api.until(f"/apis/{widgets.group}", lambda found: is_served(found) and len(found.body["versions"]) == 8)
    await api.get(f"/apis/{widgets.group}")


async def test_a_group_goes_with_its_last_served_version(api: Api, widgets: Widgets):
    await widgets.install()
    await api.until(f"/apis/{widgets.group}", is_served)
    await widgets.redefine([{"op": "replace", "path": "/spec/versions/0/served", "value": False}], is_gone, type="json")
    await api.until(f"/apis/{widgets.group}", is_gone)
    await api.until("/apis", lambda found: widgets.group not in found.text, headers={"Accept": AGGREGATED})
    await api.get(f"/apis/{widgets.group}")
    await api.get(f"/apis/{widgets.group}/v1")
    await api.get(widgets.path)


async def test_the_root_lists_paths(api: Api):
    with api.unrecorded():
        answer = await api.get("/")
    paths = (
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/apis/apps",
        "/apis/apps/v1",
        "/healthz",
        "/healthz/ping",
        "/livez",
        "/readyz",
        "/version",
        "/openapi/v3",
        "/openapi/v3/",
        "/metrics",
    )
    api.note("head", head(answer))
    api.note("paths", {path: path in answer.body["paths"] for path in paths})
    api.note("sorted", answer.body["paths"] == sorted(answer.body["paths"]))


@pytest.mark.parametrize(
    "path",
    [
        "/readyz/ping?verbose",
        "/livez?exclude=ping",
        "/livez?exclude=nonsense",
        "/healthz/etcd",
        "/livez/",
        "/readyz/log",
    ],
)
async def test_one_check_of_health_or_all_but_one(api: Api, path: str):
    await api.get(path)


@pytest.mark.parametrize("path", ["/apis/apps/v1/", "/apis/apps/", "/api/v1/", "/version/", "/api/v2", "//api"])
async def test_a_slash_too_many(api: Api, path: str):
    with api.unrecorded():
        answer = await api.get(path)
    api.note("head", head(answer))
    api.note("kind", answer.body.get("kind") if isinstance(answer.body, dict) else answer.body)


@pytest.mark.parametrize("path", ["/version", "/apis", "/apis/apps", "/apis/apps/v1"])
async def test_discovery_is_only_read(api: Api, path: str):
    await api.post(path, {})


async def test_metrics_are_told_as_text(api: Api):
    with api.unrecorded():
        answer = await api.get("/metrics")
    api.note("status", answer.status)

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert answer.text.startswith("# HELP ")


async def test_an_openapi_document_has_an_etag_that_spares_the_second_answer(api: Api):
    with api.unrecorded():
        first = await api.get("/openapi/v3/apis/batch/v1")
        again = await api.get("/openapi/v3/apis/batch/v1", headers={"If-None-Match": first.headers["etag"]})
    api.note("heads", [head(first), head(again)])
    api.note("length", len(again.text))


async def test_an_openapi_document_by_its_hash_expires_in_a_year(api: Api):
    with api.unrecorded():
        index = await api.get("/openapi/v3")
        answer = await api.get(index.body["paths"]["apis/batch/v1"]["serverRelativeURL"])

    assert answer.headers["expires"]
    assert f"hash={answer.headers['etag'].strip(chr(34))}" in index.body["paths"]["apis/batch/v1"]["serverRelativeURL"]


async def test_an_openapi_document_of_what_nobody_serves(api: Api):
    await api.get("/openapi/v3/apis/nowhere.example.com/v1")


def undescribed(schema: Any) -> Any:
    """A schema without prose, which the embedded server does not have."""
    if isinstance(schema, dict):
        return {key: undescribed(value) for key, value in schema.items() if key != "description"}
    return [undescribed(item) for item in schema] if isinstance(schema, list) else schema


async def openapi_of(api: Api, widgets: Widgets) -> Any:
    place = f"apis/{widgets.group}/v1"
    index = await api.until("/openapi/v3", lambda found: place in found.body["paths"])
    with api.unrecorded():
        return (await api.get(index.body["paths"][place]["serverRelativeURL"])).body


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {
            "type": "object",
            "description": "A widget.",
            "required": ["spec"],
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "size": {"type": "integer", "format": "int32", "minimum": 1, "default": 2},
                        "port": {"x-kubernetes-int-or-string": True},
                        "maybe": {"type": "string", "nullable": True},
                        "either": {"type": "string", "oneOf": [{"minLength": 2}, {"pattern": "^x"}]},
                        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                        "child": {
                            "type": "object",
                            "x-kubernetes-embedded-resource": True,
                            "x-kubernetes-preserve-unknown-fields": True,
                        },
                    },
                }
            },
        },
    ],
    ids=["free", "strict"],
)
async def test_the_published_schema_of_a_custom_resource(api: Api, widgets: Widgets, schema: Any):
    await widgets.install(schema)
    document = await openapi_of(api, widgets)
    schemas = document["components"]["schemas"]
    own = {name: undescribed(schemas[name]) for name in schemas if not name.startswith("io.k8s.")}
    api.note("schemas", own)
    api.note("names", sorted(schemas))
    api.note("paths", sorted(document["paths"]))


async def test_an_openapi_document_by_an_old_hash_has_moved(api: Api):
    request = api.request("GET", "/openapi/v3/apis/batch/v1?hash=0123")
    answer = await api.send(request)

    assert answer.status in (200, 301)

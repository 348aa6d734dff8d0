"""§1.2 Content negotiation."""

from __future__ import annotations

import pytest

from conformance.exchange import Api
from conformance.objects import MAPS, config_map, crd

PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
YAML = b"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: y
  labels: {a: "1"}
data:
  text: |
    two
    lines
  number: "012"
"""


async def test_a_yaml_body(api: Api):
    await api.post(MAPS, YAML, content_type="application/yaml")


async def test_a_yaml_body_for_an_update(api: Api):
    await api.post(MAPS, YAML, content_type="application/yaml")
    await api.put(MAPS + "/y", YAML.replace(b"two", b"three"), content_type="application/yaml")


async def test_yaml_that_is_malformed(api: Api):
    await api.post(MAPS, b"a: [", content_type="application/yaml")


@pytest.mark.parametrize("content", ["application/json; charset=utf-8", "application/json;charset=UTF-8"])
async def test_a_charset_is_passed_over(api: Api, content: str):
    await api.post(MAPS, config_map(), content_type=content)


@pytest.mark.parametrize(
    "accept", ["*/*", "application/*", "application/json, text/html;q=0.5", "text/html, */*;q=0.1"]
)
async def test_json_is_given_to_who_takes_it(api: Api, accept: str):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a", headers={"Accept": accept})


async def test_metadata_alone_of_one_object(api: Api):
    await api.post(MAPS, config_map(k="v", labels={"l": "1"}))
    await api.get(MAPS + "/a", headers={"Accept": PARTIAL})


async def test_metadata_alone_of_a_list(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    await api.post(MAPS, config_map("b"))
    await api.get(MAPS, headers={"Accept": PARTIALS})


async def test_metadata_alone_of_a_watch(api: Api):
    await api.post(MAPS, config_map("a", k="v"))
    with api.unrecorded():
        events = await api.watch(MAPS)
        answer = await api.get(MAPS, query={"watch": "1", "timeoutSeconds": 1}, headers={"Accept": PARTIAL})

    assert events[0]["object"]["kind"] == "ConfigMap"
    assert '"kind":"PartialObjectMetadata"' in answer.text
    assert '"k":"v"' not in answer.text


async def test_metadata_alone_after_a_patch(api: Api):
    await api.post(MAPS, config_map(k="v"))
    await api.patch(MAPS + "/a", {"metadata": {"labels": {"x": "y"}}}, headers={"Accept": PARTIAL})


async def test_metadata_alone_of_what_is_deleted(api: Api):
    await api.post(MAPS, config_map(k="v") | {"metadata": {"name": "a", "finalizers": ["example.com/f"]}})
    await api.delete(MAPS + "/a", headers={"Accept": PARTIAL})


async def test_the_wrong_partial_kind(api: Api):
    await api.get(MAPS, headers={"Accept": PARTIAL})


async def test_list_items_of_built_in_kinds_do_not_repeat_their_kind(api: Api):
    await api.post(MAPS, config_map())
    await api.get(MAPS)


@pytest.mark.parametrize("query", [{"pretty": "true"}, {"pretty": "false"}])
async def test_pretty_is_no_matter_of_content(api: Api, query: dict[str, str]):
    await api.post(MAPS, config_map())
    await api.get(MAPS + "/a", query=query)


async def test_a_body_without_a_type_is_json(api: Api):
    await api.call("POST", MAPS, config_map(), headers={"Content-Type": ""})


async def test_a_yaml_answer(api: Api):
    await api.post(MAPS, config_map(k="v"))
    with api.unrecorded():
        answer = await api.get(MAPS + "/a", headers={"Accept": "application/yaml"})

    assert answer.headers["content-type"] == "application/yaml"
    assert "kind: ConfigMap\n" in answer.text


async def test_strategic_patches_are_not_for_custom_resources(api: Api):
    group = f"{api.namespace}.example.com"
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd("widgets", group))
    with api.unrecorded():
        while (await api.get(f"/apis/{group}/v1/namespaces/{{ns}}/widgets")).status != 200:
            pass
    await api.post(
        f"/apis/{group}/v1/namespaces/{{ns}}/widgets",
        {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}},
    )
    await api.patch(f"/apis/{group}/v1/namespaces/{{ns}}/widgets/w", {}, type="strategic")
    await api.patch(f"/apis/{group}/v1/namespaces/{{ns}}/widgets/w", {}, type="application/json")

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tools.facts.discovery import read_resources
from tools.facts.go_types import served, served_messages
from tools.facts.openapi import merged, without_prose
from tools.kinds.facts import DATA, load

FACTS = load()
GVK = "x-kubernetes-group-version-kind"


def document(**schemas: dict[str, Any]) -> dict[str, Any]:
    return {"components": {"schemas": schemas}}


def test_prose_is_removed_and_a_property_called_description_stays() -> None:
    schema = {"description": "words", "properties": {"description": {"description": "words", "type": "string"}}}

    assert without_prose(schema) == {"properties": {"description": {"type": "string"}}}


def test_documents_are_merged_with_all_kinds_that_a_type_serves_as() -> None:
    kinds = [{"group": group, "kind": "Options", "version": "v1"} for group in ("", "apps")]

    schemas = merged([document(Options={GVK: [kinds[1]]}), document(Options={GVK: [kinds[0]]}), document(Other={})])

    assert schemas == {"Options": {GVK: kinds}, "Other": {}}


def test_documents_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="Thing: two OpenAPI documents describe it differently"):
        merged([document(Thing={"type": "string"}), document(Thing={"type": "object"})])


def test_beta_types_that_are_not_served_are_left_out() -> None:
    types: dict[str, Any] = {"a.v1.Old": {}, "a.v1beta1.Served": {}, "a.v1beta1.Gone": {}}

    assert served(types, {"a.v1beta1.Served": {}}) == {"a.v1.Old": {}, "a.v1beta1.Served": {}}


def test_messages_that_served_ones_are_made_of_stay() -> None:
    messages: dict[str, Any] = {
        "a.v1beta1.Served": {"1": ["", ".Inlined", "Inlined"], "2": ["many", "[]a.v1beta1.Other"]},
        "a.v1beta1.Inlined": {"1": ["self", "*.Inlined"]},
        "a.v1beta1.Other": {},
        "a.v1beta1.Gone": {},
    }

    found = served_messages(messages, {"a.v1beta1.Served": {}})

    assert list(found) == ["a.v1beta1.Inlined", "a.v1beta1.Other", "a.v1beta1.Served"]


async def test_discovery_puts_subresources_below_their_resource() -> None:
    answers: dict[str, Any] = {
        "/version": {"gitVersion": "v9.9.9"},
        "/api": {"versions": ["v1"]},
        "/apis": {"groups": []},
        "/api/v1": {
            "resources": [
                {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"]},
                {"name": "pods/eviction", "group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
            ]
        },
    }

    async def get(path: str) -> Any:
        return answers[path]

    found = await read_resources(get)

    eviction = {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]}
    assert found["kubernetes"] == "v9.9.9"
    assert [resource["subresources"] for resource in found["resources"]] == [{"eviction": eviction}]


def test_go_and_openapi_agree_on_the_fields_of_every_type() -> None:
    for name, schema in FACTS.schemas.items():
        if schema.get("properties"):
            assert set(FACTS.go_fields[name]) == set(schema["properties"]), name


def test_go_facts_hold_the_reviews_that_openapi_leaves_out() -> None:
    assert "io.k8s.api.admission.v1.AdmissionReview" in FACTS.go_fields
    assert "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.ConversionReview" in FACTS.go_fields


def test_facts_hold_no_prose_and_no_alpha_version() -> None:
    for name in ("schemas", "go_fields", "resources"):
        text = (DATA / f"{name}.json").read_text()

        assert '"description":"' not in text
        assert not re.search(r"\.v\d+alpha\d+\.", text)


def test_facts_have_one_fact_a_line() -> None:
    lines = (DATA / "schemas.json").read_text().splitlines()[1:-1]

    assert [next(iter(json.loads(f"{{{line.rstrip(',')}}}"))) for line in lines] == sorted(FACTS.schemas)

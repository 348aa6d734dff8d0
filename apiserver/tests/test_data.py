"""The facts about the built-in API are there and fit together."""

import json
from importlib.resources import files

import pytest

from kubewright_apiserver import data
from kubewright_apiserver.data import described_kinds, go_fields, messages, resources, schemas


def test_the_facts_are_of_kubernetes_1_36():
    assert resources()["kubernetes"].startswith("v1.36.")


def test_every_served_kind_has_a_schema():
    described = {
        (kind["group"], kind["version"], kind["kind"])
        for schema in schemas().values()
        for kind in schema.get("x-kubernetes-group-version-kind", ())
    }
    served = {(found["group"], found["version"], found["kind"]) for found in resources()["resources"]}

    assert len(served) > 80
    assert served <= described


def test_go_tells_which_fields_are_pointers():
    deployment = go_fields()["io.k8s.api.apps.v1.DeploymentSpec"]

    assert deployment["replicas"]["pointer"]
    assert not deployment["paused"].get("pointer")


def test_every_kind_has_a_message_whose_parts_are_there():
    missing = [definition for definition in described_kinds() if definition not in messages()]
    parts = {
        (definition.rpartition(".")[0] if kind.startswith(".") else "") + kind
        for definition, fields in messages().items()
        for kind in (facts[1].lstrip("*[]{}") for facts in fields.values())
    }

    assert missing == []
    assert {part for part in parts if part not in messages()} == {
        "bool", "bytes", "float64", "int32", "int64", "string"
    }  # fmt: skip


def test_a_field_of_a_message_has_its_number_name_and_type_and_go_s_name_if_it_differs():
    metadata = messages()["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]

    assert metadata["1"] == ["name", "string"]
    assert metadata["5"] == ["uid", "string", "UID"]
    assert metadata["10"] == ["deletionGracePeriodSeconds", "*int64"]
    assert metadata["17"] == ["managedFields", "[].ManagedFieldsEntry"]


def test_no_description_was_copied():
    assert not any("description" in schema for schema in schemas().values())


@pytest.mark.parametrize("facts", ["go_fields", "internal_types", "messages", "resources", "schemas"])
def test_facts_that_are_read_one_by_one_are_all_of_the_file(facts):
    text = files("kubewright_apiserver.data").joinpath(f"{facts}.json").read_text(encoding="utf-8")

    found = getattr(data, facts)()

    assert list(found) == list(json.loads(text))
    assert dict(found) == json.loads(text)


def test_the_kinds_that_schemas_describe_are_those_that_they_name():
    named = {name: schema.get("x-kubernetes-group-version-kind") for name, schema in schemas().items()}

    assert described_kinds() == {name: kinds for name, kinds in named.items() if kinds}


def test_an_unknown_fact_is_not_there():
    assert "io.example.Nothing" not in schemas()
    assert schemas().get("io.example.Nothing") is None

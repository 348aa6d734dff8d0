"""The facts about the built-in API are there and fit together."""

from kubewright_apiserver.data import go_fields, resources, schemas


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


def test_no_description_was_copied():
    assert not any("description" in schema for schema in schemas().values())

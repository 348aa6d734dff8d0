"""Resources: where they are served, who owns them, and that typing mistakes do not pass."""

import copy

import pytest

from kubewright.api import Metadata, MetadataOnly, Model, Resource, Unstructured, base_of, decode


class WidgetSpec(Model):
    size: int = 1


class Widget(Resource, group="example.com", version="v1"):
    spec: WidgetSpec = WidgetSpec()


class Policy(Resource, group="example.com", version="v1", namespaced=False):
    pass


class Proxy(Resource, group="", version="v1", kind="Address", plural="addresses"):
    pass


def test_a_resource_knows_its_api_version_and_kind_on_class_and_object():
    assert (Widget.api_version, Widget.kind) == ("example.com/v1", "Widget")
    assert Widget().api_version == "example.com/v1"


@pytest.mark.parametrize(("kind", "plural"), [(Widget, "widgets"), (Policy, "policies"), (Proxy, "addresses")])
def test_the_plural_is_guessed_as_kubernetes_guesses_it_unless_given(kind: type[Resource], plural: str):
    assert kind.api_resource.plural == plural


def test_paths_of_custom_and_core_resources():
    assert Widget.api_resource.path("ns", "a", "status") == "/apis/example.com/v1/namespaces/ns/widgets/a/status"
    assert Policy.api_resource.path() == "/apis/example.com/v1/policies"
    assert Proxy.api_resource.path("ns") == "/api/v1/namespaces/ns/addresses"


def test_a_resource_without_a_group_is_refused_with_an_example():
    with pytest.raises(TypeError, match=r"needs both group= and version="):

        class Lost(Resource, version="v1"):
            pass


def test_a_kind_in_lower_case_is_refused():
    with pytest.raises(TypeError, match="capital letter"):

        class lost(Resource, group="example.com", version="v1"):  # noqa: N801
            pass


def test_a_misspelt_field_is_refused_on_assignment():
    with pytest.raises(AttributeError, match="Widget has no field 'spce'"):
        Widget().spce = WidgetSpec()  # type: ignore[attr-defined]


def test_an_owner_reference_makes_the_owner_the_controller():
    owner = Widget(metadata=Metadata(name="a", uid="u-1"))
    child = Widget(metadata=Metadata(name="b", owner_references=[owner.owner_reference]))

    assert child.is_controlled_by(owner)
    assert child.controller_reference == owner.owner_reference


def test_an_object_of_the_same_name_but_another_uid_is_not_the_owner():
    owner = Widget(metadata=Metadata(name="a", uid="u-1"))
    child = Widget(metadata=Metadata(owner_references=[owner.owner_reference]))

    assert not child.is_controlled_by(Widget(metadata=Metadata(name="a", uid="u-2")))
    assert not child.is_controlled_by(Widget(metadata=Metadata(name="a")))


def test_copies_keep_what_was_read_and_deep_ones_share_nothing():
    read = decode(Widget, b'{"metadata":{"name":"a"},"spec":{"size":3},"more":1}')

    shallow, deep = copy.copy(read), copy.deepcopy(read)
    deep.spec.size = 4

    assert base_of(shallow) == base_of(deep) == base_of(read)
    assert read.spec.size == 3


def test_untyped_classes_of_one_kind_are_the_same_class():
    assert Unstructured.of("example.com/v1", "Widget") is Unstructured.of("example.com/v1", "Widget")
    assert MetadataOnly.of(Widget) is MetadataOnly.of(Widget)
    assert MetadataOnly.of(Widget).api_resource == Widget.api_resource


def test_an_untyped_object_is_read_and_written_by_key():
    widget = Unstructured.from_dict({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}})

    widget["spec"] = {"size": 2}

    assert widget.kind == "Widget"
    assert widget.name == "a"
    assert "spec" in widget
    assert widget.get("status") is None
    del widget["spec"]
    assert "spec" not in widget


def test_a_document_without_a_kind_is_refused_naming_what_is_missing():
    with pytest.raises(ValueError, match="needs kind"):
        Unstructured.from_dict({"apiVersion": "v1", "metadata": {}})

"""Reading, changing and writing objects: nothing of others is lost, nothing is sent unasked."""

from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import (
    ListMap,
    Metadata,
    MetadataOnly,
    MicroTime,
    Model,
    Quantity,
    Resource,
    Unstructured,
    apply_merge_patch,
    changes,
    decode,
    encode,
    read_version,
    to_dict,
)
from kubewright.errors import NotRead, Undecodable


class Port(Model):
    number: int
    protocol: str | None = None


class Component(Model):
    name: str
    replicas: int = 1
    ports: Annotated[list[Port], ListMap("number", "protocol")] = []


class ServiceSpec(Model):
    title: str | None = None
    components: Annotated[list[Component], ListMap("name")] = []
    steps: list[Port] = []
    by_zone: dict[str, Component] | None = None
    memory: Quantity | None = None
    since: MicroTime | None = None


class Service(Resource, group="myservice.io", version="v1alpha1"):
    spec: ServiceSpec = ServiceSpec()


def read(**spec: Any) -> Service:
    return decode(Service, msgspec.json.encode(document(**spec)))


def document(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "myservice.io/v1alpha1",
        "kind": "Service",
        "metadata": {"name": "a", "resourceVersion": "7", "shard": {"unknown": True}},
        "spec": spec,
        "beside": [1, {"deep": None}],
    }


def test_an_object_that_was_not_changed_is_written_as_it_was_read():
    data = msgspec.json.encode(document(title="x", future={"a": [1, 2]}, components=[{"name": "a", "new": 1}]))

    assert msgspec.json.decode(encode(decode(Service, data))) == msgspec.json.decode(data)


def test_an_object_made_in_python_is_written_with_its_kind():
    assert to_dict(Service(metadata=Metadata(name="a")))["kind"] == "Service"
    assert to_dict(Service(metadata=Metadata(name="a")))["apiVersion"] == "myservice.io/v1alpha1"


def test_a_change_is_all_that_is_sent():
    service = read(title="x", future=1)

    service.spec.title = "y"

    assert changes(service) == {"spec": {"title": "y"}}


def test_nothing_is_sent_when_nothing_changed():
    assert changes(read(title="x", components=[{"name": "a", "unknown": 2}])) == {}


def test_a_default_that_was_absent_on_the_server_is_not_a_change():
    assert changes(read(components=[{"name": "a"}])) == {}


def test_a_field_set_to_none_is_removed():
    service = read(title="x")

    service.spec.title = None

    assert changes(service) == {"spec": {"title": None}}


def test_unknown_fields_survive_beside_a_change_at_every_depth():
    service = read(components=[{"name": "a", "ports": [{"number": 1, "protocol": "TCP", "why": "x"}], "zone": "b"}])

    service.spec.components[0].ports[0].protocol = "UDP"

    assert to_dict(service) == document(
        components=[{"name": "a", "ports": [{"number": 1, "protocol": "UDP"}], "zone": "b"}]
    ), "the key of the item changed, so it is another item; its list and all around it stay"
    service = read(components=[{"name": "a", "replicas": 1, "zone": "b"}])
    service.spec.components[0].replicas = 2
    assert to_dict(service) == document(components=[{"name": "a", "replicas": 2, "zone": "b"}])


def test_items_of_a_keyed_list_are_themselves_wherever_they_move():
    service = read(components=[{"name": "a", "u": 1}, {"name": "b", "u": 2}, {"name": "c", "u": 3}])

    first, _, third = service.spec.components
    third.replicas = 5
    service.spec.components = [third, Component(name="new"), first]

    sent = changes(service)["spec"]["components"]
    assert [item["name"] for item in sent] == ["c", "new", "a"]
    assert sent[0] == {"name": "c", "u": 3, "replicas": 5}
    assert sent[2] == {"name": "a", "u": 1}


def test_items_of_a_list_without_keys_match_by_position_while_its_length_is_the_same():
    service = read(steps=[{"number": 1, "u": 1}, {"number": 2, "u": 2}])

    service.spec.steps[1].number = 9

    assert changes(service)["spec"]["steps"] == [{"number": 1, "u": 1}, {"number": 9, "u": 2}]


def test_unchanged_items_of_a_list_without_keys_survive_when_others_go():
    service = read(steps=[{"number": 1, "u": 1}, {"number": 2, "u": 2}, {"number": 3, "u": 3}])

    del service.spec.steps[0]

    assert changes(service)["spec"]["steps"] == [{"number": 2, "u": 2}, {"number": 3, "u": 3}]


def test_values_of_a_map_keep_their_unknown_fields():
    service = read(byZone={"x": {"name": "a", "u": 1}, "y": {"name": "b", "u": 2}})

    assert service.spec.by_zone is not None
    service.spec.by_zone["x"].replicas = 3
    del service.spec.by_zone["y"]

    assert changes(service)["spec"]["byZone"] == {"x": {"replicas": 3}, "y": None}


def test_null_lists_and_maps_read_as_empty():
    service = decode(Service, b'{"metadata":{"name":"a","labels":null},"spec":{"components":null,"steps":null}}')

    assert service.metadata.labels == {}
    assert service.spec.components == []


def test_a_whole_number_written_with_a_fraction_reads_as_an_int():
    service = decode(Service, b'{"metadata":{},"spec":{"components":[{"name":"a","replicas":3.0}]}}')

    assert service.spec.components[0].replicas == 3
    assert type(service.spec.components[0].replicas) is int


def test_a_null_that_was_read_is_not_touched_by_a_change_beside_it():
    service = decode(Service, b'{"metadata":{"name":"a"},"spec":{"steps":null,"title":"x"}}')

    service.spec.title = "y"

    assert changes(service) == {"spec": {"title": "y"}}
    assert to_dict(service)["spec"] == {"steps": None, "title": "y"}


def test_an_object_that_does_not_fit_names_itself_and_the_field():
    data = b'{"metadata":{"name":"a","namespace":"ns"},"spec":{"components":[{"name":"x","replicas":"three"}]}}'

    with pytest.raises(Undecodable, match=r'Service "ns/a".*\$\.spec\.components\[0\]\.replicas'):
        decode(Service, data)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'"x"', b"<html>", b'{"metadata":'])
def test_bytes_that_are_no_object_are_undecodable(data: bytes):
    with pytest.raises(Undecodable, match="Service"):
        decode(Service, data)
    with pytest.raises(Undecodable):
        decode(Unstructured.of("v1", "Thing"), data)


def test_quantities_and_micro_times_keep_their_text():
    service = read(memory="1024Ki", since="2026-01-02T03:04:05.000000Z")

    assert service.spec.memory == Quantity("1Mi")
    assert encode(service).count(b"1024Ki") == 1
    service.spec.title = "x"
    assert changes(service) == {"spec": {"title": "x"}}


def test_a_micro_time_is_written_with_six_digits():
    service = Service(spec=ServiceSpec(since=MicroTime.parse("2026-01-02T03:04:05.5Z")))

    assert to_dict(service)["spec"]["since"] == "2026-01-02T03:04:05.500000Z"


def test_a_quantity_sent_as_a_number_is_read_and_left_as_it_was():
    service = read(memory=4, title="x")

    assert service.spec.memory == Quantity("4")
    service.spec.title = "y"
    assert to_dict(service)["spec"]["memory"] == 4


def test_an_object_that_was_never_read_has_nothing_to_compare_with():
    with pytest.raises(NotRead, match="get it first, or create or apply it"):
        changes(Service(metadata=Metadata(name="a")))


def test_an_untyped_object_tells_true_from_one():
    thing = decode(Unstructured.of("v1", "Thing"), b'{"metadata":{},"spec":{"a":1,"b":{"c":1}}}')

    thing["spec"]["a"] = True

    assert changes(thing) == {"spec": {"a": True}}
    assert changes(thing)["spec"]["a"] is True


def test_a_metadata_only_object_changes_metadata_alone_and_is_written_as_its_kind():
    data = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","x":1}}'
    only = decode(MetadataOnly.of(Service), data)

    only.metadata.labels["tier"] = "web"

    assert changes(only) == {"metadata": {"labels": {"tier": "web"}}}
    assert to_dict(only)["kind"] == "Service"
    assert to_dict(only)["metadata"]["x"] == 1


def test_the_version_read_is_that_of_the_server_whatever_was_done_to_the_object():
    service = read()

    service.metadata.resource_version = "999"

    assert read_version(service) == "7"


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
components = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b", "c", "d"])}, optional={"replicas": st.integers(0, 3), "unknown": values}
    ),
    max_size=4,
    unique_by=lambda item: str(item["name"]),
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(before=components, after=components, beside=values)
def test_what_the_type_knows_becomes_as_wished_and_what_it_does_not_know_stays(before: Any, after: Any, beside: Any):
    service = read(components=before, beside=beside)

    service.spec.components = msgspec.convert(after, list[Component])
    sent = changes(service)
    stored = apply_merge_patch(msgspec.json.decode(encode(read(components=before, beside=beside))), sent)

    assert to_dict(service)["spec"].get("beside") == beside
    assert decode(Service, msgspec.json.encode(stored)).spec.components == service.spec.components
    unknown = {item["name"]: item["unknown"] for item in before if "unknown" in item}
    for item in to_dict(service)["spec"]["components"]:
        assert item.get("unknown") == unknown.get(item["name"])

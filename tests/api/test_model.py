"""Models: what is written, what is left out, and under which name."""

import msgspec
import pytest

from kubewright.api import UNSET, ListMap, Model, UnsetType, field, omit_empty


class Part(Model):
    name: str
    size: int = 1


class Spec(Model):
    node_count: int = 3
    zone: str | None = None
    cluster_ip: str | None = field(default=None, name="clusterIP")
    tags: list[str] = []
    extra_tags: list[str] = omit_empty(list)
    part: Part = Part(name="main")
    limit: int | UnsetType | None = UNSET
    ready: bool = omit_empty(bool)


def written(model: Model) -> dict[str, object]:
    document: dict[str, object] = msgspec.json.decode(msgspec.json.encode(model))
    return document


def test_a_default_is_written_because_apply_must_own_it():
    assert written(Spec())["nodeCount"] == 3


def test_none_is_left_out():
    assert "zone" not in written(Spec())


def test_zero_and_the_empty_text_are_written():
    assert written(Spec(node_count=0, zone="")).items() >= {"nodeCount": 0, "zone": ""}.items()


def test_an_empty_list_is_written_unless_it_is_declared_to_be_left_out():
    document = written(Spec())

    assert document["tags"] == []
    assert "extraTags" not in document


def test_unset_is_left_out_and_null_is_written_where_a_field_tells_them_apart():
    assert "limit" not in written(Spec())
    assert written(Spec(limit=None))["limit"] is None


def test_an_explicit_wire_name_wins_over_camel_case():
    assert written(Spec(cluster_ip="10.0.0.1"))["clusterIP"] == "10.0.0.1"


def test_mutable_defaults_are_not_shared_between_objects():
    one, other = Spec(), Spec()

    one.tags.append("a")
    one.part.size = 9

    assert other.tags == []
    assert other.part.size == 1


def test_an_absent_field_declared_to_be_left_out_reads_as_empty():
    spec = msgspec.json.decode(b"{}", type=Spec)

    assert spec.ready is False
    assert spec.extra_tags == []


def test_fields_are_given_by_keyword_only():
    with pytest.raises(TypeError):
        Part("x")  # type: ignore[call-arg]


def test_a_missing_required_field_is_refused():
    with pytest.raises(TypeError, match="name"):
        Part()  # type: ignore[call-arg]


def test_the_representation_shows_what_differs_from_the_defaults():
    assert repr(Spec(zone="a")).startswith("Spec(")
    assert "zone='a'" in repr(Spec(zone="a"))
    assert "cluster_ip" not in repr(Spec(zone="a"))


def test_a_list_map_without_keys_is_refused():
    with pytest.raises(TypeError, match="at least one key"):
        ListMap()

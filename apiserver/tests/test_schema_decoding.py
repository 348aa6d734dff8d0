"""Objects are decoded and written as by the real server, and refused in its words; what it answered is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.body import read_body
from kubewright_apiserver.data import schemas
from kubewright_apiserver.schema.conversion import convert_leniently
from kubewright_apiserver.schema.decoding import (
    check_types,
    decode,
    decode_custom,
    normalise,
    refuse_repeated_keys,
    refuse_strictly,
)
from kubewright_apiserver.schema.go_time import InvalidTime, canonical_microtime, canonical_time
from kubewright_apiserver.schema.go_types import go_type_of
from kubewright_apiserver.schema.go_values import InvalidBase64, decoded_base64
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.schema.quantity import InvalidQuantity, canonical_quantity
from kubewright_apiserver.schema.strictness import warnings_of
from kubewright_apiserver.status import Refusal

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "decoding.json").read_text(encoding="utf-8"))
WRITTEN: list[tuple[str, dict[str, Any]]] = json.loads((DATA / "written_objects.json").read_text(encoding="utf-8"))
POD = node_of_builtin("io.k8s.api.core.v1.Pod")
CONFIG_MAP = node_of_builtin("io.k8s.api.core.v1.ConfigMap")
# These answers have what defaulting and admission add.
COMPLETED = ("Pod", "PersistentVolumeClaim")


def identities() -> dict[str, tuple[str, Identity]]:
    found: dict[str, tuple[str, Identity]] = {}
    for name, schema in sorted(schemas().items(), reverse=True):
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if kind["group"] != "events.k8s.io" and "beta" not in kind["version"]:
                found.setdefault(kind["kind"], (name, Identity(kind["group"], kind["version"], kind["kind"])))
    return found


IDENTITIES = identities()


def decoded(kind: str, sent: str) -> Any:
    definition, identity = IDENTITIES[kind]
    return decode(read_body(sent.encode(), "application/json", kind), node_of_builtin(definition), identity)


@pytest.mark.parametrize(("kind", "sent", "message"), RECORDED["refused"])
def test_a_value_of_a_wrong_type_is_refused_in_the_real_servers_words(kind, sent, message):
    with pytest.raises(Refusal) as refused:
        decoded(kind, sent)

    assert (refused.value.code, refused.value.reason, refused.value.message) == (400, "BadRequest", message)


@pytest.mark.parametrize(("kind", "sent", "answer", "warnings"), RECORDED["decoded"])
def test_an_object_is_decoded_as_by_the_real_server(kind, sent, answer, warnings):
    value, strict = decoded(kind, sent)

    assert warnings_of(strict) == warnings
    assert value["metadata"].get("labels") == answer["metadata"].get("labels")
    # An empty list is one until it is stored, for whoever owns it then.
    value = {name: None if inner == [] else inner for name, inner in value.items()}
    if kind not in COMPLETED:
        answer = {name: inner for name, inner in answer.items() if (kind, name) != ("Secret", "type")}
        assert {**value, "metadata": 0, "status": 0} == {**answer, "metadata": 0, "status": 0}


@pytest.mark.parametrize(("definition", "written"), WRITTEN)
def test_an_object_is_written_letter_for_letter_as_by_the_real_server(definition, written):
    assert json.dumps(normalise(written, node_of_builtin(definition))) == json.dumps(written)


def turned(value: Any) -> Any:
    """The same with its fields in another order, except what keeps its own."""
    if isinstance(value, dict):
        return {name: value[name] if name == "fieldsV1" else turned(value[name]) for name in reversed(value)}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


def raw(definition: str) -> bool:
    return definition.endswith((".ControllerRevision",))


@pytest.mark.parametrize(
    ("definition", "written"), [(definition, written) for definition, written in WRITTEN if not raw(definition)]
)
def test_the_order_of_what_was_sent_does_not_matter(definition, written):
    assert json.dumps(normalise(turned(written), node_of_builtin(definition))) == json.dumps(written)


def test_raw_data_keeps_its_order():
    revision = node_of_builtin("io.k8s.api.apps.v1.ControllerRevision")

    assert list(normalise({"data": {"b": 1, "a": 2}, "revision": 1}, revision)["data"]) == ["b", "a"]


def test_what_go_always_writes_is_written_and_what_is_empty_is_not():
    sent = {"metadata": {"labels": {}}, "spec": {"containers": [], "hostNetwork": False, "nodeSelector": None}}

    assert normalise(sent, POD) == {"metadata": {}, "spec": {"containers": None}, "status": {}}


def test_zero_behind_a_pointer_is_kept():
    deployment = node_of_builtin("io.k8s.api.apps.v1.Deployment")

    spec = normalise({"spec": {"replicas": 0, "minReadySeconds": 0, "selector": {}}}, deployment)["spec"]

    assert spec["replicas"] == 0
    assert spec["selector"] == {}
    assert "minReadySeconds" not in spec


def test_nulls_and_unknown_fields_go():
    container = {"name": "c", "image": "i", "command": None, "env": [None], "foo": 1, "resources": None}

    written = normalise({"spec": {"containers": [container]}, "bar": {}}, POD)["spec"]

    assert written == {"containers": [{"name": "c", "image": "i", "env": [{"name": ""}], "resources": {}}]}


def test_a_null_in_a_map_is_gos_zero():
    limits = {"cpu": None, "memory": "1Gi"}
    sent = {"metadata": {"labels": {"a": None}}, "spec": {"containers": [{"resources": {"limits": limits}}]}}

    written = normalise(sent, POD)

    assert written["metadata"]["labels"] == {"a": ""}
    assert written["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "0", "memory": "1Gi"}}


def test_a_field_that_comes_twice_is_merged_as_go_does():
    sent = '{"metadata":{"name":"d"},"metadata":{"labels":{"a":"1"},"labels":{"b":"2"}},"data":{"a":"1"},"data":null}'

    value, strict = decoded("ConfigMap", sent)

    assert value == {"metadata": {"name": "d", "labels": {"a": "1", "b": "2"}}}
    assert strict == ['duplicate field "metadata"', 'duplicate field "metadata.labels"', 'duplicate field "data"']


def test_an_error_of_a_types_own_reader_is_told_before_an_earlier_one():
    sent = '{"spec":{"containers":[{"name":3,"resources":{"limits":{"cpu":"x"}}}]}}'

    with pytest.raises(Refusal, match="quantities must match the regular expression"):
        decoded("Pod", sent)


def test_a_schema_that_contains_itself_is_written_in_gos_order():
    crd = node_of_builtin("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
    schema = {
        "properties": {"z": {"items": {"type": "string"}, "type": "array"}, "a": {"additionalProperties": False}},
        "type": "object",
        "maximum": 3.0,
    }

    written = normalise({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}, crd)

    assert json.dumps(written["spec"]["versions"][0]["schema"]["openAPIV3Schema"]) == json.dumps(
        {
            "type": "object",
            "maximum": 3,
            "properties": {"a": {"additionalProperties": False}, "z": {"type": "array", "items": {"type": "string"}}},
        }
    )


def test_unknown_fields_of_a_schema_in_a_list_are_dropped_in_silence():
    schema = {"foo": 1, "items": {"type": "string", "bar": 2}, "not": {"baz": 3}}
    sent = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}

    _, strict = decoded("CustomResourceDefinition", json.dumps(sent))

    of = "spec.versions[0].schema.openAPIV3Schema"
    assert strict == [f'unknown field "{of}.foo"', f'unknown field "{of}.not.baz"']


def test_check_types_refuses_what_go_cannot_decode():
    check_types({"data": {"k": "v"}}, CONFIG_MAP, "ConfigMap", "v1")
    with pytest.raises(Refusal) as refused:
        check_types({"data": {"k": 1}}, CONFIG_MAP, "ConfigMap", "v1")

    assert refused.value.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


def test_normalise_tells_what_go_cannot_decode():
    with pytest.raises(Undecodable, match=r"cannot unmarshal number 1\.5 into Go struct field ObjectMeta"):
        normalise({"metadata": {"generation": 1.5}}, CONFIG_MAP)


def test_a_custom_resource_keeps_what_it_says():
    sent = b'{"apiVersion":"x.io/v1","kind":"Widget","spec":{"n":1.0,"n":2.0,"foo":null}}'
    body = read_body(sent, "", "Widget", is_custom=True)

    value, strict = decode_custom(body, Identity("x.io", "v1", "Widget"))

    assert value["spec"] == {"n": 2, "foo": None}
    assert type(value["spec"]["n"]) is float
    assert strict == ['duplicate field "spec.n"']


def test_strict_refusals_name_the_kind():
    assert refuse_strictly(
        Identity("", "v1", "ConfigMap"), ['unknown field "foo"', 'duplicate field "data.a"']
    ).message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        'strict decoding error: unknown field "foo", duplicate field "data.a"'
    )
    assert refuse_repeated_keys(['line 7: key "a" already set in map']).message == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 7: key "a" already set in map'
    )


QUANTITIES = [
    ("1", "1"), ("0", "0"), ("00", "0"), ("0.0", "0"), ("-0", "0"), ("1000m", "1"), ("1500m", "1500m"),
    ("100m", "100m"), ("1.5", "1500m"), ("0.5", "500m"), (".5", "500m"), ("1.", "1."), ("1.10", "1100m"),
    ("0.1m", "100u"), ("1n", "1n"), ("0.1n", "1n"), ("1.0000000001", "1000000001n"), ("1e3", "1e3"), ("1E3", "1E3"),
    ("10e2", "1e3"), ("1e-3", "1e-3"), ("1e+3", "1e+3"), ("1e0", "1e0"), ("15e-10", "2e-9"), ("1e100", "10e99"),
    ("1k", "1k"), ("1000k", "1M"), ("1000", "1k"), ("1000000", "1M"), ("1024", "1024"), ("1024Ki", "1Mi"),
    ("1025Ki", "1025Ki"), ("1000Ki", "1000Ki"), ("1024Mi", "1Gi"), ("0.5Gi", "512Mi"), ("1.5Gi", "1536Mi"),
    ("0.3Ki", "307200m"), ("0.001Ki", "1024m"), ("2048Gi", "2Ti"), ("7Ei", "7Ei"), ("8Ei", "9223372036854775807"),
    ("16Ei", "9223372036854775807"), ("1000E", "1"), ("12345678901234567890", "12345678901234567890"),
    ("999999999999999999m", "999999999999999999m"), ("-5", "-5"), ("+5", "+5"), ("-1500m", "-1500m"),
    ("-1Ki", "-1Ki"), ("-1.5Ki", "-1536"), ("m", "0"), ("-", "0"), (".", "0"), (" 1 ", "1"),
    ("3.14159265358979", "3141592654n"),
]  # fmt: skip
FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(("text", "expected"), QUANTITIES)
def test_a_quantity_is_written_as_go_writes_it(text, expected):
    assert canonical_quantity(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT),
        ("abc", FORMAT),
        ("1.2.3", FORMAT),
        ("1 Gi", FORMAT),
        ("1x", FORMAT),
        ("1mm", "unable to parse quantity's suffix"),
        ("1mi", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
    ],
)
def test_what_is_no_quantity_is_told_in_gos_words(text, message):
    with pytest.raises(InvalidQuantity) as refused:
        canonical_quantity(text)

    assert str(refused.value) == message


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.from_regex(r"[+-]?[0-9]{1,14}(\.[0-9]{0,6})?(|m|k|M|G|Ki|Mi|Gi|e[0-9]|E-[0-9])", fullmatch=True))
def test_a_written_quantity_is_written_the_same_again(text):
    once = canonical_quantity(text)

    assert canonical_quantity(once) == once


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-01-02T03:04:05.999+02:00", "2020-01-02T01:04:05Z"),
        ("2020-12-31T23:59:59-07:30", "2021-01-01T07:29:59Z"),
        ("2020-01-02T3:04:05Z", "2020-01-02T03:04:05Z"),
        ("2020-02-29T00:00:00,5Z", "2020-02-29T00:00:00Z"),
        ("2020-01-02T03:04:05+24:00", "2020-01-01T03:04:05Z"),
        ("0001-01-01T00:00:00Z", None),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_written_in_seconds_of_utc(text, expected):
    assert canonical_time(text) == expected


LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", f'parsing time "x" as {LAYOUT}: cannot parse "x" as "2006"'),
        ("2020-01-02", f'parsing time "2020-01-02" as {LAYOUT}: cannot parse "" as "T"'),
        ("2020-01-02 03:04:05Z", f'parsing time "2020-01-02 03:04:05Z" as {LAYOUT}: cannot parse " 03:04:05Z" as "T"'),
        ("2020-01-02T03:04:05", f'parsing time "2020-01-02T03:04:05" as {LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2020-13-02T03:04:05Z", 'parsing time "2020-13-02T03:04:05Z": month out of range'),
        ("2021-02-29T00:00:00Z", 'parsing time "2021-02-29T00:00:00Z": day out of range'),
        ("2020-01-02T24:00:00Z", 'parsing time "2020-01-02T24:00:00Z": hour out of range'),
        ("2020-01-02T03:04:60Z", 'parsing time "2020-01-02T03:04:60Z": second out of range'),
        ("2020-01-02T03:04:05Zx", 'parsing time "2020-01-02T03:04:05Zx": extra text: "x"'),
        ("2020-01-02T03:04:05+25:00", 'parsing time "2020-01-02T03:04:05+25:00": time zone offset hour out of range'),
        ('"', f'parsing time "\\"" as {LAYOUT}: cannot parse "\\"" as "2006"'),
    ],
)
def test_what_is_no_time_is_told_in_gos_words(text, message):
    with pytest.raises(InvalidTime) as refused:
        canonical_time(text)

    assert str(refused.value) == message


def test_a_micro_time_has_six_decimals():
    assert canonical_microtime("2020-01-01T02:00:00.123456+02:00") == "2020-01-01T00:00:00.123456Z"
    with pytest.raises(InvalidTime) as refused:
        canonical_microtime("2020-01-01T00:00:00Z")

    layout = '"2006-01-02T15:04:05.000000Z07:00"'
    assert str(refused.value) == f'parsing time "2020-01-01T00:00:00Z" as {layout}: cannot parse "Z" as ".000000"'


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("!!", 0),
        ("a", 0),
        ("YQ", 0),
        ("YQ=", 3),
        ("Y=Q=", 1),
        ("YQ==x", 4),
        ("YQ=x", 2),
        ("YWJjé", 4),
        ("YWJj YWJj", 4),
    ],
)
def test_what_is_no_base64_is_told_where(text, at):
    with pytest.raises(InvalidBase64) as refused:
        decoded_base64(text)

    assert str(refused.value) == f"illegal base64 data at input byte {at}"


def test_line_ends_in_base64_are_nothing():
    assert decoded_base64("aG\r\nk=\n") == b"hi"


def test_lenient_conversion_reads_schemas_through_json():
    crd = go_type_of("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition")
    schema = {"additionalProperties": {"type": "string", "foo": 1}, "items": {"type": "string"}}
    sent = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}

    value, unknown = convert_leniently(sent, crd)

    assert value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["additionalProperties"] == {"type": "string"}
    assert unknown == []


def test_an_empty_list_is_told_from_none_where_go_always_writes_it():
    value, _ = decoded("Role", '{"metadata":{"name":"d1"},"rules":[]}')

    assert value["rules"] == []
    assert decoded("Role", '{"metadata":{"name":"d1"}}').value["rules"] is None

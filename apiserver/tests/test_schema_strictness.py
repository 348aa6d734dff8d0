"""Unknown and repeated fields are told as by the real server; every expectation was read from it."""

import pytest

from kubewright_apiserver.body import read_body
from kubewright_apiserver.schema.decoding import decode
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.schema.strictness import (
    duplicate_fields,
    strict_message,
    unknown_fields,
    warnings_of,
    yaml_duplicates,
)

POD = node_of_builtin("io.k8s.api.core.v1.Pod")
CONFIG_MAP = node_of_builtin("io.k8s.api.core.v1.ConfigMap")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1,"b":{"a":1}}', []),
        (b'{"spec":{"n":1,"n":2}}', ["spec.n"]),
        (b'{"a":{"x":1,"x":2},"b":[{"y":1},{"y":1,"y":2}],"a":{}}', ["a.x", "b[1].y", "a"]),
        (b'{"a":1,"a":2,"a":3}', ["a"]),
        (b'{"a":{"b":1},"a":{"c":1,"c":2}}', ["a", "a.c"]),
    ],
)
def test_repeated_fields_are_told_in_the_order_of_the_body(data, expected):
    assert duplicate_fields(data) == [f'duplicate field "{path}"' for path in expected]


def test_at_most_a_hundred_repeated_fields_are_told():
    fields = ",".join(f'"f{number}":1' for number in range(150))

    assert len(duplicate_fields(f"{{{fields},{fields}}}".encode())) == 100


def test_unknown_fields_of_a_built_in_kind_are_told_in_their_order():
    container = {"qq": 1, "name": "c", "resources": {"zz": {}}}
    pod = {"foo": {"bar": 1}, "spec": {"containers": [container], "aa": 1}, "metadata": {"mm": 1, "Name": "x"}}

    assert unknown_fields(pod, POD) == [
        'unknown field "foo"',
        'unknown field "spec.containers[0].qq"',
        'unknown field "spec.containers[0].resources.zz"',
        'unknown field "spec.aa"',
        'unknown field "metadata.mm"',
        'unknown field "metadata.Name"',
    ]


def test_fields_of_raw_data_and_of_maps_are_not_unknown():
    revision = node_of_builtin("io.k8s.api.apps.v1.ControllerRevision")

    assert unknown_fields({"data": {"foo": 1}, "metadata": {"labels": {"foo": "x"}}}, revision) == []


def strict_of(data: bytes, content_type: str) -> list[str]:
    return decode(read_body(data, content_type, "ConfigMap"), CONFIG_MAP, Identity("", "v1", "ConfigMap")).strict


def test_unknown_and_repeated_fields_of_json_are_told_as_they_come():
    data = b'{"x":1,"metadata":{"name":"d","zz":1},"x":2,"y":{"z":1,"z":2},"data":{"a":"1","a":"2","a":"3"}}'

    assert strict_of(data, "application/json") == [
        'unknown field "x"',
        'unknown field "metadata.zz"',
        'unknown field "y"',
        'duplicate field "data.a"',
    ]


def test_repeated_keys_of_yaml_are_one_error_and_unknown_fields_are_sorted():
    data = b"foo: 1\nbar: 2\ndata:\n  a: '1'\n  a: '2'\n  a: '3'\n"

    strict = strict_of(data, "application/yaml")

    assert strict == [
        'yaml: unmarshal errors:\n  line 5: key "a" already set in map\n  line 6: key "a" already set in map',
        'unknown field "bar"',
        'unknown field "foo"',
    ]
    assert warnings_of(strict) == [
        'line 5: key "a" already set in map',
        'line 6: key "a" already set in map',
        'unknown field "bar"',
        'unknown field "foo"',
    ]


def test_a_clean_body_has_nothing_to_tell():
    assert strict_of(b'{"data":{"a":"1"}}', "application/json") == []
    assert strict_of(b"data: {a: '1'}", "application/yaml") == []
    assert yaml_duplicates([]) == []


def test_all_errors_are_one_message():
    errors = ['unknown field "metadata.foo"', 'duplicate field "data.a"']

    assert strict_message(errors) == 'strict decoding error: unknown field "metadata.foo", duplicate field "data.a"'


def test_a_warning_is_given_once():
    assert warnings_of(["a", "b", "a"]) == ["a", "b"]

"""What a write changes is found in whole objects and in parts, and however alike Python finds two values."""

import pytest

from kubewright_apiserver.patch.comparison import compare
from kubewright_apiserver.patch.element import key_element
from kubewright_apiserver.patch.shape import shape_of, zero_of
from kubewright_apiserver.schema.node import node_of_builtin, node_of_schema

POD = node_of_builtin("io.k8s.api.core.v1.Pod")
OPEN = shape_of(node_of_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))


def test_everything_in_a_new_part_is_new():
    env = [{"name": "A", "value": "1"}, {"name": "B"}]
    pod = {"spec": {"containers": [{"name": "web", "env": env, "command": ["run"]}]}}

    found = compare(shape_of(POD), {}, pod)

    assert list(found.added) == [
        ".spec",
        ".spec.containers",
        '.spec.containers[name="web"]',
        '.spec.containers[name="web"].command',
        '.spec.containers[name="web"].env',
        '.spec.containers[name="web"].name',
        '.spec.containers[name="web"].env[name="A"]',
        '.spec.containers[name="web"].env[name="B"]',
        '.spec.containers[name="web"].env[name="A"].name',
        '.spec.containers[name="web"].env[name="A"].value',
        '.spec.containers[name="web"].env[name="B"].name',
    ]
    assert not found.modified
    assert not found.removed


def test_of_a_new_item_that_comes_twice_only_the_item_is_new():
    twice = {"spec": {"containers": [{"name": "web", "image": "a"}, {"name": "web", "image": "b"}]}}

    added = compare(shape_of(POD), {"spec": {}}, twice).added

    assert '.spec.containers[name="web"]' in list(added)
    assert '.spec.containers[name="web"].image' not in list(added)


def test_parts_that_are_equal_but_in_another_order_are_not_different():
    old = {"spec": {"nodeSelector": {"a": "1", "b": "2"}}}
    new = {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}

    found = compare(shape_of(POD), old, new)

    assert [*found.added, *found.modified, *found.removed] == []


@pytest.mark.parametrize(("old", "new"), [(True, 1), (0, False), ({"a": True}, {"a": 1}), ([1], [True])])
def test_a_boolean_is_no_number(old, new):
    assert compare(OPEN, {"x": {"y": old}}, {"x": {"y": new}}).modified


@pytest.mark.parametrize(("old", "new"), [(1, 1.0), ({"a": 2}, {"a": 2.0}), ([3], [3.0])])
def test_numbers_are_compared_by_value(old, new):
    assert not compare(OPEN, {"x": {"y": old}}, {"x": {"y": new}}).modified


def test_an_object_that_nobody_has_filled_in_is_fresh_each_time():
    zero_of(POD)["spec"]["containers"] = ["changed"]

    assert zero_of(POD)["spec"]["containers"] is None


def test_keys_that_python_finds_equal_are_spelled_apart():
    spelled = [key_element({"key": key}) for key in (1, True, "1", 0.0, -0.0, 0, False)]

    assert spelled == [
        'k:{"key":1}',
        'k:{"key":true}',
        'k:{"key":"1"}',
        'k:{"key":0}',
        'k:{"key":-0}',
        'k:{"key":0}',
        'k:{"key":false}',
    ]

"""Small objects become what a real kube-apiserver 1.36 made of them; ``conformance`` records that."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kubewright_apiserver.admission import Attributes, Plugins
from kubewright_apiserver.defaulting import (
    Context,
    ServiceAddresses,
    allocate_service,
    default,
    fill_printed,
    prepare_create,
    prepare_update,
)
from kubewright_apiserver.registry import Registry

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/defaulting.json").read_text())
CREATED = [case for case in CASES if "before" not in case]
UPDATED = [case for case in CASES if "before" in case]
CONTEXT = Context(
    now="<now>",
    username="kubernetes-admin",
    groups=("system:masters", "system:authenticated"),
    extra={"authentication.kubernetes.io/credential-id": ["X509SHA256=<hash>"]},
    new_uid=lambda: "<new uid>",
)
REGISTRY = Registry({"api/beta": True})
PRIORITY_CLASSES: list[dict[str, Any]] = [
    {
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
        "preemptionPolicy": "PreemptLowerPriority",
    }
]


class Stored:
    """A cluster of nothing but these classes."""

    def find(self, table: str, key: str) -> dict[str, Any] | None:
        return next((one for one in self.listed(table) if one["metadata"]["name"] == key), None)

    def listed(self, table: str, prefix: str = "") -> list[dict[str, Any]]:
        return PRIORITY_CLASSES if table.endswith("/priorityclasses") else []

    def suffix(self) -> str:
        return "abcde"


def admit(group: str, version: str, kind: str, obj: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    served = REGISTRY.find_kind(group, version, kind)
    if served is not None:
        resource = f"{group}/{served.plural}"
        Plugins().admit(Attributes(Stored(), "CREATE" if old is None else "UPDATE", resource, obj, old=old))


def kind_of(obj: dict[str, Any]) -> tuple[str, str, str]:
    group, _, version = obj["apiVersion"].rpartition("/")
    return group, version, obj["kind"]


def placed(obj: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """The object in the namespace of what is expected, where the server would have put it."""
    if "namespace" in expected["metadata"]:
        obj["metadata"]["namespace"] = expected["metadata"]["namespace"]
    return obj


@pytest.mark.parametrize("case", CREATED, ids=lambda case: case["case"])
def test_a_new_object_becomes_what_the_real_server_made_of_it(case):
    obj = placed(copy.deepcopy(case["input"]), case["expected"])
    group, version, kind = kind_of(obj)
    obj["metadata"]["uid"] = "<uid>"

    default(group, version, kind, obj)
    admit(group, version, kind, obj)
    if kind == "Service":
        allocate_service(obj, None, ServiceAddresses(random=Random(0)), is_dry_run=True)
    prepare_create(group, version, kind, obj, CONTEXT)
    fill_printed(group, version, kind, obj)
    del obj["metadata"]["uid"]

    assert obj == case["expected"]


@pytest.mark.parametrize("case", UPDATED, ids=lambda case: case["case"])
def test_a_changed_object_becomes_what_the_real_server_made_of_it(case):
    obj = placed(copy.deepcopy(case["input"]), case["expected"])
    old = copy.deepcopy(case["old"])
    group, version, kind = kind_of(obj)
    subresource = case["subresource"]

    default(group, version, kind, obj)
    if not subresource:
        admit(group, version, kind, obj, old)
    if kind == "Service" and not subresource:
        addresses = ServiceAddresses(random=Random(0))
        addresses.adopt(old)
        allocate_service(obj, old, addresses)
    prepare_update(group, version, kind, obj, old, CONTEXT, subresource=subresource)
    fill_printed(group, version, kind, obj)

    assert obj == case["expected"]
    assert old == case["old"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_an_object_read_from_storage_is_not_changed(case):
    obj = copy.deepcopy(case["expected"])

    default(*kind_of(obj), obj)
    fill_printed(*kind_of(obj), obj)

    assert obj == case["expected"]


def test_a_kind_without_defaults_is_left_alone():
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {}}

    default("example.com", "v1", "Thing", thing)
    fill_printed("example.com", "v1", "Thing", thing)

    assert thing == {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {}}


def test_a_limit_range_without_a_name_gets_a_uid_for_one():
    limit_range: dict[str, Any] = {"metadata": {}, "spec": {"limits": []}}

    prepare_create("", "v1", "LimitRange", limit_range, CONTEXT)

    assert limit_range["metadata"]["name"] == "<new uid>"

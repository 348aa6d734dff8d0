"""What kube-apiserver 1.36.3 said to over 1300 writes, as ``data/validation.json`` has it, must be what our rules say.

Each case is a valid object that the real server had defaulted, with some changes; each answer is the real server's.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.status import FieldError
from kubewright_apiserver.validation import (
    bumps_generation,
    refusal,
    strategy,
    validate_create,
    validate_subresource_update,
    validate_update,
)

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "data/validation.json").read_text(encoding="utf-8"))


def changed(obj: dict[str, Any], changes: list[list[Any]]) -> dict[str, Any]:
    """The object with each change made: a JSON pointer and a value, or a pointer alone to what goes."""
    obj = copy.deepcopy(obj)
    for pointer, *value in changes:
        *parts, last = [part.replace("~1", "/") for part in pointer.split("/")[1:]]
        place: Any = obj
        for part in parts:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        key: Any = int(last) if isinstance(place, list) and last != "-" else last
        if not value:
            del place[key]
        elif last == "-":
            place.append(expanded(value[0]))
        else:
            place[key] = expanded(value[0])
    return obj


def expanded(value: Any) -> Any:
    """The value with ``{"$repeat": [text, times]}`` written out."""
    if isinstance(value, list):
        return [expanded(item) for item in value]
    if not isinstance(value, dict):
        return copy.copy(value)
    if "$repeat" in value:
        text, times = value["$repeat"]
        return text * times
    return {key: expanded(item) for key, item in value.items()}


def named(case: dict[str, Any]) -> str:
    pointers = "+".join(change[0].strip("/") for change in case["change"])
    return f"{case['base']}:{case.get('subresource', '')}:{pointers}"[:90]


def told(of: dict[str, Any], obj: dict[str, Any], errors: list[FieldError]) -> tuple[str, list[list[str]]]:
    if not errors:
        return "accepted", []
    body = refusal(of["group"], of["kind"], obj["metadata"].get("name", ""), errors).body
    return body["message"], [[cause["reason"], cause["field"], cause["message"]] for cause in body["details"]["causes"]]


def answer(case: dict[str, Any]) -> tuple[str, list[list[str]]]:
    """What the real server told: a message of all causes, each once, and the causes."""
    told = list(dict.fromkeys(f"{field}: {message}" for _, field, message in case["causes"]))
    listed = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    return f"{case['object']} is invalid: {listed}", case["causes"]


def update_errors(case: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], list[FieldError]]:
    of = RECORDED["olds"][case["base"]]
    obj = changed(of["object"], case["change"])
    names = of["group"], of["version"], of["kind"]
    if case["subresource"]:
        return of, obj, validate_subresource_update(*names, case["subresource"], obj, of["object"])
    return of, obj, validate_update(*names, obj, of["object"])


@pytest.mark.parametrize("case", RECORDED["creates"], ids=named)
def test_create_is_refused_in_the_words_and_order_of_the_real_server(case):
    of = RECORDED["bases"][case["base"]]
    obj = changed(of["object"], case["change"])

    errors = validate_create(of["group"], of["version"], of["kind"], obj)

    assert told(of, obj, errors) == answer(case)


@pytest.mark.parametrize("case", RECORDED["updates"], ids=named)
def test_update_is_refused_in_the_words_and_order_of_the_real_server(case):
    of, obj, errors = update_errors(case)

    assert told(of, obj, errors) == answer(case)


@pytest.mark.parametrize("name", RECORDED["bases"])
def test_object_of_every_kind_is_accepted_as_the_real_server_defaulted_it(name):
    of = RECORDED["bases"][name]

    errors = validate_create(of["group"], of["version"], of["kind"], of["object"])

    assert errors == []


@pytest.mark.parametrize("case", RECORDED["valid_creates"], ids=named)
def test_create_is_accepted_where_the_real_server_accepts_it(case):
    of = RECORDED["bases"][case["base"]]

    errors = validate_create(of["group"], of["version"], of["kind"], changed(of["object"], case["change"]))

    assert errors == []


@pytest.mark.parametrize("case", RECORDED["valid_updates"], ids=named)
def test_update_is_accepted_where_the_real_server_accepts_it(case):
    assert update_errors(case)[2] == []


@pytest.mark.parametrize("name", RECORDED["olds"])
def test_update_is_accepted_when_nothing_changes(name):
    of = RECORDED["olds"][name]

    errors = validate_update(of["group"], of["version"], of["kind"], copy.deepcopy(of["object"]), of["object"])

    assert errors == []


@pytest.mark.parametrize("name", RECORDED["facts"])
def test_kind_is_treated_as_the_real_server_treats_it(name):
    fact = RECORDED["facts"][name]

    treated = strategy(fact["group"], fact["kind"])

    assert treated.creates_on_update is fact["creates_on_update"]
    assert treated.updates_unconditionally is fact["updates_unconditionally"]
    assert treated.generation == fact["generation"]
    # An orphaning deletion is only pending, and then every kind answers with the object.
    assert ("orphan" in fact["finalizers"]) is (treated.propagation == "Orphan")
    assert treated.returns_deleted is (fact["returns_deleted"] and "orphan" not in fact["finalizers"])


@pytest.mark.parametrize("name", [name for name, fact in RECORDED["facts"].items() if "main_writes_status" in fact])
def test_address_leaves_alone_what_the_real_server_leaves_alone(name):
    fact = RECORDED["facts"][name]

    resets = strategy(fact["group"], fact["kind"]).resets

    assert (("status",) in resets[""]) is not fact["main_writes_status"]
    for part in ("labels", "annotations"):
        reset = ("metadata",) in resets["status"] or ("metadata", part) in resets["status"]
        assert reset is not fact[f"status_writes_{part}"]


@pytest.mark.parametrize("name", [name for name, fact in RECORDED["facts"].items() if fact["generation"]])
def test_generation_moves_by_an_annotation_for_deployments_alone(name):
    fact = RECORDED["facts"][name]
    old: dict[str, Any] = {"metadata": {}, "spec": {}}
    new = {"metadata": {"annotations": {"a": "b"}}, "spec": {}}

    moves = bumps_generation(strategy(fact["group"], fact["kind"]), "", new, old)

    assert moves is (fact["generation_after_annotation"] > fact["generation_after_change"])
    assert moves is (fact["kind"] == "Deployment")

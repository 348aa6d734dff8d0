from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubewright import kinds
from kubewright.api import MicroTime, Quantity, Resource, changes, decode, shape_of, to_dict
from tests.kinds.sample import full_document, small_document
from tools.kinds.facts import DATA, load
from tools.kinds.modules import generate
from tools.kinds.naming import class_name, module_name

FACTS = load()


def class_of(schema: str) -> type[Any]:
    module = importlib.import_module(f"kubewright.kinds.{module_name(schema)}")
    found: type[Any] = getattr(module, class_name(schema))
    return found


def read_scalar(kind: type, value: Any) -> Any:
    return Quantity(value) if kind is Quantity else MicroTime.parse(value)


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def without_base(obj: Resource) -> Resource:
    """What the Python type alone knows of an object that was read."""
    return type(obj)(**{name: getattr(obj, name) for name in obj.__struct_fields__})


def test_committed_modules_are_exactly_what_the_facts_give() -> None:
    folder = Path(kinds.__file__).parent

    committed = {file.name: file.read_text() for file in folder.glob("*.py") if file.name != "__init__.py"}

    assert committed == generate(FACTS)


def test_modules_names_every_module() -> None:
    assert kinds.modules() == tuple(f"kubewright.kinds.{name.removesuffix('.py')}" for name in sorted(generate(FACTS)))


@pytest.mark.parametrize("name", kinds.modules())
def test_every_class_of_a_module_can_be_decoded_and_laid_over(name: str) -> None:
    module = importlib.import_module(name)

    for exported in module.__all__:
        kind = getattr(module, exported)

        msgspec.json.Decoder(kind, dec_hook=read_scalar)
        shape_of(kind).field("anything")


@pytest.mark.parametrize("schema", sorted(FACTS.places))
def test_every_kind_keeps_every_field_of_its_schema(schema: str) -> None:
    kind = class_of(schema)
    document = {**full_document(schema, FACTS), "apiVersion": kind.api_version, "kind": kind.kind}
    for claim in document.get("spec", {}).get("volumeClaimTemplates", ()):
        del claim["apiVersion"], claim["kind"]  # the class says both, and the server fills them in

    obj = decode(kind, json.dumps(document).encode())

    assert to_dict(without_base(obj)) == document


@pytest.mark.parametrize("schema", sorted(FACTS.places))
def test_every_kind_is_read_from_its_required_fields_alone(schema: str) -> None:
    kind = class_of(schema)
    document = {**small_document(schema, FACTS), "apiVersion": kind.api_version, "kind": kind.kind}

    obj = decode(kind, json.dumps(document).encode())

    assert to_dict(obj) == document
    assert changes(obj) == {}


def test_every_resource_of_discovery_has_its_kind() -> None:
    resources = json.loads((DATA / "resources.json").read_text())["resources"]
    kinds_by_place = {
        (place.group, place.version, place.plural): class_of(schema) for schema, place in FACTS.places.items()
    }

    for resource in resources:
        found = kinds_by_place[resource["group"], resource["version"], resource["name"]].api_resource

        assert found.kind == resource["kind"]
        assert found.namespaced == resource["namespaced"]
        assert found.singular == resource["singular"]
        assert found.short_names == tuple(resource.get("shortNames", ()))
        assert found.categories == tuple(resource.get("categories", ()))


def test_kinds_of_subresources_have_no_plural() -> None:
    alone = {class_name(schema) for schema, place in FACTS.places.items() if not place.plural}

    assert alone == {"Eviction", "Scale", "TokenRequest"}


def test_importing_a_module_loads_no_other_that_it_does_not_need() -> None:
    program = (
        "import sys, kubewright.kinds.rbac_v1, kubewright.kinds.apps_v1;"
        "print(*sorted(name for name in sys.modules if name.startswith('kubewright.kinds.')))"
    )

    loaded = run(program).split()

    assert loaded == ["kubewright.kinds.apps_v1", "kubewright.kinds.core_v1", "kubewright.kinds.rbac_v1"]


def test_importing_the_door_loads_no_module_of_kinds() -> None:
    program = "import sys, kubewright.kinds as k; k.modules(); print([m for m in k.modules() if m in sys.modules])"

    assert run(program).strip() == "[]"


def test_importing_core_v1_takes_a_fraction_of_a_second() -> None:
    program = (
        "import time, kubewright.api; start = time.process_time();"
        "import kubewright.kinds.core_v1; print(time.process_time() - start)"
    )

    assert float(run(program)) < 0.25

"""The rows of objects of every kind and in many states, as the real server shows them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.conversion import converted, stored_version
from kubewright_apiserver.data import resources, tables
from kubewright_apiserver.tables import Shape, builtin_shape

DATA = Path(__file__).parent / "data/table_rows.jsonl.xz"
ROWS = [json.loads(line) for line in lzma.decompress(DATA.read_bytes()).splitlines()]
IDS = [f"{number}-{row['object']['kind']}" for number, row in enumerate(ROWS)]


def shape_of(obj: dict[str, Any]) -> Shape:
    return builtin_shape(obj["apiVersion"].rpartition("/")[0], obj["kind"])


def as_stored(obj: dict[str, Any]) -> dict[str, Any]:
    return converted(obj, stored_version(obj["apiVersion"], obj["kind"]))


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_cells_are_those_of_the_real_server(row: dict[str, Any]):
    cells = shape_of(row["object"]).cells(as_stored(row["object"]), row["now"])

    assert cells == row["cells"]
    assert [type(cell) for cell in cells] == [type(cell) for cell in row["cells"]]


@pytest.mark.parametrize("row", [row for row in ROWS if row["object"]["kind"] == "Pod"])
def test_conditions_of_a_pod_are_those_of_the_real_server(row: dict[str, Any]):
    conditions = shape_of(row["object"]).conditions

    assert conditions is not None
    assert conditions(row["object"]) == row.get("conditions", [])


def test_rows_of_every_kind_with_a_table_are_compared_but_for_those_that_cannot_be_made():
    compared = {(row["object"]["apiVersion"].rpartition("/")[0], row["object"]["kind"]) for row in ROWS}
    listed = {(one["group"], one["kind"]) for one in resources()["resources"] if "list" in one["verbs"]}

    # A bundle needs certificates, which would be others in each recording.
    assert listed - compared == {("certificates.k8s.io", "ClusterTrustBundle")}


@pytest.mark.parametrize("name", [name for name in tables() if "/" in name])
def test_an_object_without_anything_has_a_cell_for_each_column(name: str):
    group, kind = name.rsplit("/", 1)
    shape = builtin_shape(group, kind)

    cells = shape.cells({"metadata": {}}, 0.0)

    # The real server gives addresses an age, but no column for it.
    assert len(cells) - len(shape.columns) == (kind == "IPAddress")

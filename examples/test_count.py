"""The page that puts the operators of three frameworks side by side has what the command counts and what is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from count import EXAMPLES, counted, examples, go_concepts, go_lines, python_concepts, python_lines, table

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/tutorial/side_by_side.md"


def test_the_page_has_the_numbers_of_the_command() -> None:
    page = PAGE.read_text()

    assert table() in page
    assert examples() in page


@pytest.mark.parametrize("file", ["kubewright_podset.py", "kopf_podset.py", "controller_runtime/main.go"])
def test_the_page_has_the_code_that_is_run(file: str) -> None:
    assert (HERE / "podset/peers" / file).read_text() in PAGE.read_text()


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_operator_is_there_in_each_framework(example: str) -> None:
    rows = counted(example)

    assert [row.framework for row in rows] == ["kubewright", "kopf", "controller-runtime"]
    assert all(row.code and row.concepts for row in rows)


def test_lines_of_python_are_those_with_code(tmp_path: Path) -> None:
    file = tmp_path / "some.py"
    file.write_text(
        '"""What\n\nit is."""\n\n# why\nimport kopf\nfrom kubewright import Model\n\nx = kopf.on.event(\n1\n)\n'
    )

    assert python_lines(file) == 5
    assert python_concepts(file, ("kopf", "kubewright")) == ["Model", "kopf.on.event"]


def test_lines_of_go_are_those_with_code_markers_and_directives(tmp_path: Path) -> None:
    file = tmp_path / "some.go"
    text = 'package main\n\nimport (\n\t"os"\n\n\tctrl "example.com/run"\n)\n\n// why\n//go:embed a\nvar a []byte\n\n'
    file.write_text(text + "type b struct {\n\t// +listType=map\n\tc ctrl.Request\n\td os.File\n}\n")

    assert go_lines(file) == 12
    assert go_concepts([file]) == ["+listType", "ctrl.Request"]

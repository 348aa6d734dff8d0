"""Counts the same operators in three frameworks: ``python examples/count.py`` prints the tables of the docs.

*Lines* are those that say something: no blank ones, no comments, no docstrings. *Concepts* are the different names of
the framework, its client and what they are used with (``msgspec``, ``yaml``), each once; of Go also the different
markers in comments.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
OURS, KOPF = ("kubewright", "msgspec"), ("kopf", "kubernetes", "yaml")
OPERANDS = {"nginx": ["nginx/nginx_operator/deployment.yaml"]}
"""YAML that an operator has in every framework."""
EXAMPLES = {"podset": "podset/podset.py", "podbugger": "podbugger/podbugger.py", "nginx": "nginx/nginx_operator/*.py"}


class Counted(NamedTuple):
    """One row of the table."""

    example: str
    framework: str
    code: int
    by_hand: int
    """Lines of YAML that somebody has to write."""
    generated: int
    """Lines that a tool writes and somebody has to keep."""
    concepts: list[str]


def python_lines(file: Path) -> int:
    """Lines with code on them."""
    text = file.read_text()
    strings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            strings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    said = {line for token in tokens if token.type not in silent for line in range(token.start[0], token.end[0] + 1)}
    return len(said - strings)


def go_lines(file: Path) -> int:
    """Lines that are neither blank nor a comment; markers and directives count, since they say something."""
    lines = [line.strip() for line in file.read_text().splitlines()]
    return sum(bool(line) and (not line.startswith("//") or line.startswith(("// +", "//go:"))) for line in lines)


def text_lines(file: Path) -> int:
    """Lines that are not blank."""
    return sum(bool(line.strip()) for line in file.read_text().splitlines())


def python_concepts(file: Path, roots: tuple[str, ...]) -> list[str]:
    """What is imported from the packages by name, and what is reached through them with dots."""
    tree = ast.parse(file.read_text())
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in roots:
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and (name := ast.unparse(node)).split(".")[0] in roots and "(" not in name:
            found.add(name)
    inner = {name for name in found if any(other.startswith(f"{name}.") for other in found)}
    return sorted(found - inner)


def go_concepts(files: list[Path]) -> list[str]:
    """What is reached through imported packages that are not Go's own, and the markers."""
    found: set[str] = set()
    for file in files:
        text = file.read_text()
        imports = re.findall(r'^\s*(?:(\w+) )?"([\w./-]+)"$', text, re.MULTILINE)
        names = [name or path.rsplit("/", 1)[-1] for name, path in imports if "." in path.split("/")[0]]
        for name in names:
            found.update(re.findall(rf"\b{name}\.[A-Z]\w*", text))
        found.update(re.findall(r"^\s*// (\+[\w:]+)", text, re.MULTILINE))
    return sorted(found)


def counted(example: str) -> list[Counted]:
    """The rows of one operator."""
    peers = HERE / example / "peers"
    kopf, ours, go = peers / f"kopf_{example}.py", peers / f"kubewright_{example}.py", peers / "controller_runtime"
    written = [go / "main.go", go / "types.go"]
    operand = sum(text_lines(HERE / file) for file in OPERANDS.get(example, []))
    by_hand = text_lines(peers / "crd.yaml") + operand
    generated = text_lines(go / "zz_generated.deepcopy.go")
    go_code = sum(map(go_lines, written))
    return [
        Counted(example, "kubewright", python_lines(ours), operand, 0, python_concepts(ours, OURS)),
        Counted(example, "kopf", python_lines(kopf), by_hand, 0, python_concepts(kopf, KOPF)),
        Counted(example, "controller-runtime", go_code, operand, generated, go_concepts(written)),
    ]


def table() -> str:
    """The rows of all operators, as Markdown."""
    rows = ["| | | lines of code | YAML by hand | generated and kept | concepts |", "|---|---|---|---|---|---|"]
    for row in (row for example in EXAMPLES for row in counted(example)):
        numbers = f"{row.code} | {row.by_hand} | {row.generated} | {len(row.concepts)}"
        rows.append(f"| {row.example} | {row.framework} | {numbers} |")
    return "\n".join(rows)


def examples() -> str:
    """The examples as they are, with everything that they do; as Markdown."""
    rows = ["| example | files | lines of code | YAML | concepts |", "|---|---|---|---|---|"]
    for name, pattern in EXAMPLES.items():
        files = sorted(HERE.glob(pattern))
        concepts = {concept for file in files for concept in python_concepts(file, OURS)}
        yaml = sum(text_lines(file) for file in files[0].parent.glob("*.yaml") if file.name != "sample.yaml")
        rows.append(f"| {name} | {len(files)} | {sum(map(python_lines, files))} | {yaml} | {len(concepts)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(table(), examples(), sep="\n\n")
    for row in (row for example in EXAMPLES for row in counted(example)):
        print(f"\n{row.example}, {row.framework}: {', '.join(row.concepts)}")

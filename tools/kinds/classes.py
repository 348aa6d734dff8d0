"""One class as source text, as ``ruff format`` would leave it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tools.kinds.annotation import Imports
from tools.kinds.facts import Facts, Place
from tools.kinds.fields import Field, fields_of
from tools.kinds.naming import class_name

__all__ = ["Class", "class_of"]

_WIDTH: Final = 120


class Class(NamedTuple):
    """A class's name and text, and the schemas whose classes must stand before it."""

    name: str
    text: str
    needs: tuple[str, ...]


def class_of(schema: str, facts: Facts, imports: Imports) -> Class:
    """The class of one type."""
    name = class_name(schema)
    fields = fields_of(schema, facts, imports)
    _check(name, fields)
    lines = [_line(field) for field in fields] or ["    pass"]
    header = _header(name, facts.places.get(schema), imports)
    return Class(name, "\n".join([header, *lines]), tuple(field.factory for field in fields if field.factory))


def _check(name: str, fields: list[Field]) -> None:
    names = [field.name for field in fields]
    if len(set(names)) != len(names):
        raise ValueError(f"{name}: two fields have the same name in Python: {sorted(names)}")
    for index, field in enumerate(fields):
        if any(later.default.startswith(f"{field.name}(") for later in fields[index:]):
            raise ValueError(f"{name}.{field.name} hides the function that makes the defaults of its class")


def _line(field: Field) -> str:
    line = f"    {field.line}"
    if len(line) <= _WIDTH:
        return line
    head, _, arguments = line.removesuffix(")").rpartition("(")
    if len(head) < _WIDTH:
        return f"{head}(\n        {arguments}\n    )"
    outer, _, inner = field.annotation.removesuffix("]").partition("[")
    return f"    {field.name}: {outer}[\n        {inner}\n    ] = {field.default}"


def _header(name: str, place: Place | None, imports: Imports) -> str:
    if place is None:
        return f"class {name}({imports.api('Model')}):"
    arguments = [imports.api("Resource"), *_options(name, place)]
    line = f"class {name}({', '.join(arguments)}):"
    if len(line) <= _WIDTH:
        return line
    line = f"    {', '.join(arguments)}"
    if len(line) <= _WIDTH:
        return f"class {name}(\n{line}\n):"
    return f"class {name}(\n" + "".join(f"    {argument},\n" for argument in arguments) + "):"


def _options(name: str, place: Place) -> list[str]:
    options = [f'group="{place.group}"', f'version="{place.version}"', f'plural="{place.plural}"']
    if not place.namespaced:
        options.append("namespaced=False")
    if place.singular not in ("", name.lower()):
        options.append(f'singular="{place.singular}"')
    for option, words in (("short_names", place.short_names), ("categories", place.categories)):
        if words:
            options.append(f"{option}={_tuple(words)}")
    return options


def _tuple(words: tuple[str, ...]) -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return f"({listed},)" if len(words) == 1 else f"({listed})"

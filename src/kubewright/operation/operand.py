"""``load_operand``: an object from a YAML file that is packaged with the operator, checked against its type.

What differs from one custom resource to the next is then filled in by fields of the object, never by text.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any, Final, NoReturn, TypeVar

import msgspec
import yaml

from kubewright.api import Resource, decode, to_dict
from kubewright.errors import ConfigError, Undecodable

__all__ = ["load_operand", "read_operand"]

R = TypeVar("R", bound=Resource)

_PLACE: Final = re.compile(r" - at `\$\.?(.*?)`")
_STEP: Final = re.compile(r"[^.\[\]]+")


def load_operand(kind: type[R], package: str, file: str) -> R:
    """A fresh object of the kind, from a file inside an importable package: found wherever that is installed.

    >>> deployment = load_operand(Deployment, "nginx_operator", "deployment.yaml")
    >>> deployment.spec.replicas = 3

    *Raises* ``ConfigError`` naming file and line for what is no YAML, is another kind, has an unknown or repeated
    field, or a value that its field does not take.
    """
    try:
        text = files(package).joinpath(file).read_text()
    except (OSError, ModuleNotFoundError) as error:
        raise ConfigError(f"package {package} has no file {file}: {error}") from None
    return read_operand(kind, text, f"{package}/{file}")


def read_operand(kind: type[R], text: str, file: str) -> R:
    """An object of the kind, from YAML; ``file`` is what errors call it."""
    found: R = _Document(kind, text, file).object()
    return found


class _Document:
    """A YAML document that knows on which line everything stands."""

    def __init__(self, kind: type[Any], text: str, file: str) -> None:
        self._kind = kind
        self._file = file
        self._lines: dict[tuple[str, ...], int] = {}
        try:
            node = yaml.compose(text, Loader=yaml.SafeLoader)
            self._content: Any = yaml.safe_load(text)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ConfigError(f"{file}, line {line}: this is no YAML: {error.problem}") from None
        if not isinstance(self._content, dict):
            raise ConfigError(f"{file}, line 1: this is no object of Kubernetes")
        self._note(node, ())

    def object(self) -> Any:
        for name in ("apiVersion", "kind"):
            wanted = getattr(self._kind, "api_version" if name == "apiVersion" else "kind")
            if self._content.get(name) != wanted:
                self._refuse((name,), f"{name} is {self._content.get(name)!r}, and must be {wanted!r}")
        try:
            found = decode(self._kind, msgspec.json.encode(self._content))
        except Undecodable as error:
            text = str(error).partition("does not fit its Python type: ")[2]
            match = _PLACE.search(text)
            path = tuple(_STEP.findall(match.group(1))) if match else ()
            self._refuse(path, _PLACE.sub("", text))
        # An object that was read cannot be applied; this one was not.
        fresh = msgspec.structs.replace(found)
        self._compare(self._content, to_dict(fresh), ())
        return fresh

    def _note(self, node: yaml.Node | None, path: tuple[str, ...]) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                place = (*path, str(key.value))
                line = key.start_mark.line + 1
                if place in self._lines:
                    raise ConfigError(f"{self._file}, line {line}: {'.'.join(place)} is said twice")
                self._lines[place] = line
                self._note(value, place)
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                self._lines[*path, str(number)] = value.start_mark.line + 1
                self._note(value, (*path, str(number)))

    def _compare(self, said: Any, understood: Any, path: tuple[str, ...]) -> None:
        """Refuse what the type has not understood: it would be dropped without a word."""
        if isinstance(said, dict) and isinstance(understood, dict):
            for key, value in said.items():
                if key in understood:
                    self._compare(value, understood[key], (*path, str(key)))
                elif value not in (None, [], {}, "", 0, False):
                    self._refuse((*path, str(key)), f"there is no field {key!r}")
        elif isinstance(said, list) and isinstance(understood, list):
            for number, (one, other) in enumerate(zip(said, understood, strict=False)):
                self._compare(one, other, (*path, str(number)))

    def _refuse(self, path: tuple[str, ...], problem: str) -> NoReturn:
        known = path
        while known and known not in self._lines:
            known = known[:-1]
        where = f" ({'.'.join(path)})" if path else ""
        raise ConfigError(f"{self._file}, line {self._lines.get(known, 1)}: {problem}{where}")

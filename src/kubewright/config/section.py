"""One mapping inside a kubeconfig, read field by field; what does not fit is told by file and field, never by value."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubewright.config.secret import Secretive
from kubewright.errors import ConfigError

__all__ = ["Section", "is_readable"]


def is_readable(path: Path) -> bool:
    """Whether there is a file that we may read; never an error, as ``Path.is_file`` may be."""
    return os.path.isfile(path) and os.access(path, os.R_OK)


@dataclass(frozen=True, slots=True, eq=False)
class Section(Secretive):
    """The fields of one mapping, each got by the type it must have; an absent or null field is empty."""

    values: Mapping[str, Any] = field(repr=False)
    name: str
    """Where it is in the file, for example ``users[alice].user``."""
    origin: str
    """The file's name."""
    folder: Path
    """What relative paths start from."""

    @classmethod
    def of(cls, value: Any, name: str, origin: str, folder: Path) -> Section:
        """The section for a value, which must be a mapping or null."""
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError(f"{origin}: {name or 'the file'} must be a mapping")
        return cls(value or {}, name, origin, folder)

    def error(self, key: str, problem: str) -> ConfigError:
        """The problem with a field as an exception that names file and field."""
        return ConfigError(f"{self.origin}: {self._named(key)} {problem}")

    def text(self, key: str) -> str:
        """A string."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(key, "must be a string: put it in quotes")
        return value or ""

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        items = self._items(key)
        if not all(isinstance(item, str) for item in items):
            raise self.error(key, "must be a list of strings: put its items in quotes")
        return tuple(items)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, "must be true or false")
        return bool(value)

    def data(self, key: str) -> bytes:
        """Bytes, which the file holds as base64."""
        try:
            return b64decode("".join(self.text(key).split()), validate=True)
        except (binascii.Error, ValueError):
            raise self.error(key, "is not base64") from None

    def path(self, key: str) -> Path | None:
        """A path, made absolute from the folder of the file that names it."""
        text = self.text(key)
        return (self.folder / text).absolute() if text else None

    def section(self, key: str) -> Section:
        """A mapping inside this one."""
        return Section.of(self.values.get(key), self._named(key), self.origin, self.folder)

    def sections(self, key: str) -> list[Section]:
        """The mappings of a list."""
        items = enumerate(self._items(key))
        return [Section.of(item, f"{self._named(key)}[{at}]", self.origin, self.folder) for at, item in items]

    def named(self, key: str, inner: str) -> dict[str, Section]:
        """A list of ``{name: …, inner: {…}}``, by name."""
        found: dict[str, Section] = {}
        for item in self.sections(key):
            name = item.text("name")
            if not name:
                raise item.error("name", "is missing")
            if name in found:
                raise self.error(key, f"has two entries of the name {name!r}")
            where = f"{self._named(key)}[{name}].{inner}"
            found[name] = Section.of(item.values.get(inner), where, self.origin, self.folder)
        return found

    def _items(self, key: str) -> list[Any]:
        value = self.values.get(key)
        if value is not None and not isinstance(value, list):
            raise self.error(key, "must be a list")
        return value or []

    def _named(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

"""Kubeconfig files: read, merged as kubectl merges them, and narrowed to one context."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from kubewright.config.secret import Secretive
from kubewright.config.section import Section
from kubewright.errors import ConfigError

__all__ = ["Kubeconfig", "Selection"]

_QUOTED: Final = re.compile(r"'.{2,}'", re.DOTALL)
_NAMESPACE: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, eq=False)
class Selection(Secretive):
    """What one context leads to."""

    context: str
    namespace: str
    cluster: Section
    user: Section


@dataclass(frozen=True, slots=True, eq=False)
class Kubeconfig(Secretive):
    """The clusters, users and contexts of one file, or of several merged."""

    origin: str
    """The file's name, or the names of all."""
    clusters: Mapping[str, Section] = field(default_factory=dict)
    users: Mapping[str, Section] = field(default_factory=dict)
    contexts: Mapping[str, Section] = field(default_factory=dict)
    current_context: str = ""

    @classmethod
    def read(cls, path: Path) -> Kubeconfig:
        """The contents of one file; ``FileNotFoundError`` if there is none, ``ConfigError`` if it cannot be used."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ConfigError(f"cannot read the kubeconfig {path}: {error.strerror}") from error
        return cls.of(_parsed(content, path), str(path), path.absolute().parent)

    @classmethod
    def of(cls, content: Any, origin: str, folder: Path) -> Kubeconfig:
        """The contents of a file that is parsed already; relative paths in it start from ``folder``."""
        whole = Section.of(content, "", origin, folder)
        if (kind := whole.text("kind")) not in ("", "Config"):
            raise ConfigError(f"{origin} is not a kubeconfig, but holds an object of the kind {kind}")
        return cls(
            origin,
            whole.named("clusters", "cluster"),
            whole.named("users", "user"),
            whole.named("contexts", "context"),
            whole.text("current-context"),
        )

    @classmethod
    def merged(cls, parts: Iterable[Kubeconfig]) -> Kubeconfig:
        """All of them as one: for each name, and for the current context, the first that has it wins as a whole."""
        ordered = list(parts)
        return cls(
            ", ".join(part.origin for part in ordered),
            _first_wins(part.clusters for part in ordered),
            _first_wins(part.users for part in ordered),
            _first_wins(part.contexts for part in ordered),
            next((part.current_context for part in ordered if part.current_context), ""),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not (self.clusters or self.users or self.contexts or self.current_context)

    def select(self, context: str | None = None) -> Selection:
        """What the context, or else the current one, leads to; ``ConfigError`` if part of it is missing."""
        name = context or self.current_context
        if not name:
            raise ConfigError(
                f"{self.origin} has no current-context; give a context ({_listed(self.contexts)}) "
                "or choose one with `kubectl config use-context`"
            )
        if name not in self.contexts:
            raise ConfigError(f"there is no context {name!r} in {self.origin}; there is {_listed(self.contexts)}")
        chosen = self.contexts[name]
        return Selection(
            name,
            _namespace(chosen),
            _referred(chosen, "cluster", self.clusters),
            _referred(chosen, "user", self.users),
        )


def _first_wins(parts: Iterable[Mapping[str, Section]]) -> dict[str, Section]:
    found: dict[str, Section] = {}
    for part in parts:
        found = {**part, **found}
    return found


def _referred(context: Section, key: str, known: Mapping[str, Section]) -> Section:
    name = context.text(key)
    if not name:
        raise context.error(key, f"is missing; there is {_listed(known)}")
    if name not in known:
        raise context.error(key, f"refers to {name!r}, which is not there; there is {_listed(known)}")
    return known[name]


def _namespace(context: Section) -> str:
    namespace = context.text("namespace") or "default"
    if not _NAMESPACE.fullmatch(namespace):
        raise context.error("namespace", f"{namespace!r} is no name of a namespace (small letters, digits and -)")
    return namespace


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _parsed(content: bytes, path: Path) -> Any:
    import yaml

    try:
        loader = _loader()(content)
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{path}{place}: not valid YAML: {_without_quotes(error.problem or '')}") from None
    except Exception:
        # PyYAML lets through whatever its constructors raise, with the value in the message.
        raise ConfigError(f"{path}: not valid YAML: not text, or with a value that is not of its tag's type") from None


def _without_quotes(problem: str) -> str:
    """PyYAML's words without what it quotes from the file: an unquoted password may begin with ``*`` or ``!``."""
    return _QUOTED.sub("…", problem)


@cache
def _loader() -> type[Any]:
    """PyYAML's safe loader, the fast one if there is one, for which dates are strings as they are in JSON."""
    import yaml

    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in base.yaml_implicit_resolvers.items()
    }
    return type("KubeconfigLoader", (base,), {"yaml_implicit_resolvers": resolvers})

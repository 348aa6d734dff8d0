"""Settings of an operator's process: from a file, the environment and flags, the later ones over the earlier."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from kubewright.errors import ConfigError

__all__ = ["Settings", "add_flags", "parse_duration"]

_PREFIX: Final = "KUBEWRIGHT_"
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an operator's process runs; what it does is in the ``Operator``."""

    kubeconfig: str | None = None
    """Path of a kubeconfig; the usual places, or the pod's own account, if not given."""
    context: str | None = None
    """Which context of the kubeconfig."""
    namespaces: tuple[str, ...] | None = None
    """Where to look, instead of where the operator says; comma-separated in flags and environment."""
    leader_election: bool | None = None
    """Whether to work only while holding the Lease; not given: inside a cluster yes, outside no."""
    lease_namespace: str | None = None
    """Where the Lease is; the account's own namespace if not given."""
    identity: str | None = None
    """The name of this replica in the Lease; host name and chance if not given."""
    listen: str | None = None
    """Address for metrics, health and readiness, as ``host:port`` or ``:port``; ``off`` for none. Not given: ``:8080``
    inside a cluster, none outside."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """``auto``: text for a terminal, JSON otherwise."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    grace: timedelta | None = None
    """How long reconciles may take to end, instead of what the operator says."""
    blocked_after: timedelta = timedelta(seconds=1)
    """After how long without a turn of the event loop the culprit is told in the log; 0s for never."""
    install_crds: bool = False
    """Whether to apply the operator's CRDs before it starts."""
    uvloop: bool = True
    """Whether to use uvloop where it is installed."""

    @classmethod
    def load(cls, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings told by flags, else by the environment, else by the file that one of them names, else defaults.

        *Raises* ``ConfigError`` naming the source, the setting and what it must be.
        """
        flags, environment = dict(flags or {}), environment or {}
        path = flags.pop("settings", None) or environment.get(f"{_PREFIX}SETTINGS")
        told = _from_file(Path(path)) if path else {}
        told |= _from_environment(environment)
        told |= {name: _read(name, value, f"--{_dashed(name)}") for name, value in flags.items() if value is not None}
        return cls(**told)


def parse_duration(text: str) -> timedelta:
    """The duration in a text such as ``30s``, ``1.5m`` or ``1h30m``; raises ``ValueError`` for anything else."""
    found = _DURATION.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise ValueError(f"{text!r} is not a duration like 500ms, 30s, 5m or 1h30m")
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in found))


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a command line one flag a setting."""
    group = parser.add_argument_group(
        "settings", f"each also as {_PREFIX}… in the environment, or in a --settings file"
    )
    group.add_argument("--settings", metavar="FILE", help="a YAML file of settings")
    for name, (metavar, text) in _HELP.items():
        group.add_argument(f"--{_dashed(name)}", dest=name, metavar=metavar, help=text)


_HELP: Final[dict[str, tuple[str, str]]] = {
    "kubeconfig": ("FILE", "kubeconfig to use"),
    "context": ("NAME", "context of the kubeconfig"),
    "namespaces": ("NAMES", "comma-separated namespaces to look into"),
    "leader_election": ("BOOL", "work only while holding the Lease"),
    "lease_namespace": ("NAME", "namespace of the Lease"),
    "identity": ("NAME", "name of this replica in the Lease"),
    "listen": ("ADDRESS", "host:port for /metrics, /healthz and /readyz, or off"),
    "log_format": ("FORMAT", "auto, text or json"),
    "log_level": ("LEVEL", "debug, info, warning or error"),
    "grace": ("DURATION", "time for reconciles to end, such as 30s"),
    "blocked_after": ("DURATION", "tell what blocks the event loop for longer, 0s never"),
    "install_crds": ("BOOL", "apply the operator's CRDs first"),
    "uvloop": ("BOOL", "use uvloop where it is installed"),
}


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _from_file(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"settings file {path} cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"settings file {path} is not YAML: {error}") from None
    if not isinstance(document, dict):
        raise ConfigError(f"settings file {path} must hold settings by name, such as `log_level: debug`")
    found = {}
    for key, value in document.items():
        name = str(key).replace("-", "_")
        if name not in Settings.__struct_fields__:
            known = ", ".join(Settings.__struct_fields__)
            raise ConfigError(f"settings file {path}: there is no setting {key!r}; there are: {known}")
        found[name] = _read(name, value, f"settings file {path}, {key}")
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for name in Settings.__struct_fields__:
        variable = f"{_PREFIX}{name.upper()}"
        if environment.get(variable):
            found[name] = _read(name, environment[variable], variable)
    return found


def _read(name: str, value: Any, source: str) -> Any:
    hint = Settings.__annotations__[name]
    try:
        if "timedelta" in hint:
            return parse_duration(str(value))
        if "bool" in hint:
            return _truth(value)
        if "tuple" in hint:
            return _names(value)
        if "Literal" in hint:
            return _one_of(str(value), re.findall(r"['\"](\w+)['\"]", hint))
    except ValueError as error:
        raise ConfigError(f"{source}: {error}") from None
    return str(value)


def _truth(value: Any) -> bool:
    text = str(value).lower()
    if text in _TRUE | _FALSE:
        return text in _TRUE
    raise ValueError(f"{value!r} is neither true nor false")


def _names(value: Any) -> tuple[str, ...]:
    names = value if isinstance(value, Sequence) and not isinstance(value, str) else str(value).split(",")
    found = tuple(str(name).strip() for name in names if str(name).strip())
    if not found:
        raise ValueError("name at least one namespace")
    return found


def _one_of(value: str, options: list[str]) -> str:
    if value.lower() not in options:
        raise ValueError(f"{value!r} is none of {', '.join(options)}")
    return value.lower()

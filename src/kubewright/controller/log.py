"""What log records say about the reconcile that they come from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any, Final

__all__ = ["NO_FIELDS", "ContextLogger", "LoggingFor", "current_fields"]

NO_FIELDS: Final[Mapping[str, str]] = {}

_fields: ContextVar[Mapping[str, str]] = ContextVar("kubewright_log_fields", default=NO_FIELDS)


def current_fields() -> Mapping[str, str]:
    """Controller, object and reconcile id of the running reconcile; empty outside of one."""
    return _fields.get()


class LoggingFor:
    """Inside the block, and in tasks started there, ``current_fields`` gives ``fields``."""

    __slots__ = ("_fields", "_token")

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _fields.set(self._fields)

    def __exit__(self, *_: object) -> None:
        _fields.reset(self._token)


class ContextLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose records carry the reconcile's fields as attributes."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the fields to what the caller gives as ``extra``."""
        own = {f"kubewright_{key}": value for key, value in (self.extra or {}).items()}
        kwargs["extra"] = {**own, **(kwargs.get("extra") or {})}
        return msg, kwargs

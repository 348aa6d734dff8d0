"""Logs of an operator's process: lines for people, or JSON for machines; both say which object they are about."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

from kubewright.controller import current_fields

__all__ = ["JsonFormatter", "TextFormatter", "set_up_logs"]

_COLOURS: Final = {"DEBUG": "2", "INFO": "36", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_ORDINARY: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
_OWN: Final = "kubewright_"


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """What a record says besides its message: the reconcile that it comes from, and what the caller added."""
    found: dict[str, Any] = {**current_fields()}
    for name, value in record.__dict__.items():
        if name not in _ORDINARY:
            found[name.removeprefix(_OWN)] = value
    return {name: value for name, value in found.items() if value != ""}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, fields, and the traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in fields_of(record).items() if name not in ("time", "level", "message")},
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(document, enc_hook=str).decode()


class TextFormatter(logging.Formatter):
    """One line for people: time, level, message, then the object in brackets; coloured for a terminal."""

    def __init__(self, *, colours: bool = False) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line, and its traceback below."""
        moment = datetime.fromtimestamp(record.created).strftime("%H:%M:%S.%f")[:-3]
        level = f"{record.levelname:<7}"
        if self._colours:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        line = f"{moment} {level} {record.getMessage()}{self._about(fields_of(record))}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line

    def _about(self, fields: dict[str, Any]) -> str:
        if not fields:
            return ""
        place = [str(fields.pop(name)) for name in ("namespace", "name") if name in fields]
        whom = " ".join([str(fields.pop("kind", "")), "/".join(place)]).strip()
        shown = [whom] if whom else []
        shown += [f"{name}={value}" for name, value in fields.items() if name != "controller"]
        text = f" [{', '.join(shown)}]" if shown else ""
        return f"\x1b[2m{text}\x1b[0m" if self._colours else text


def set_up_logs(format: str, level: str, stream: TextIO | None = None) -> logging.Handler:
    """Let all logs of the process go to a stream (standard error) in that format; give the handler."""
    stream = stream or sys.stderr
    terminal = stream.isatty()
    handler = logging.StreamHandler(stream)
    as_text = format == "text" or (format == "auto" and terminal)
    handler.setFormatter(TextFormatter(colours=terminal) if as_text else JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler

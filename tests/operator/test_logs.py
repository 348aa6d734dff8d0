"""Log lines for people and for machines."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from kubewright.controller.log import ContextLogger, LoggingFor
from kubewright.operator.logs import set_up_logs

FIELDS = {"controller": "site", "kind": "Site", "namespace": "default", "name": "a", "reconcile_id": "site-1"}


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield logging.getLogger("test.of.logs")
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_says_which_object_a_record_is_about(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("json", "info", stream)

    with LoggingFor(FIELDS):
        log.info("hello %s", "world", extra={"count": 3})

    line = json.loads(stream.getvalue())
    assert line.pop("time").endswith("Z")
    assert line == {"level": "info", "logger": "test.of.logs", "message": "hello world", "count": 3, **FIELDS}


def test_json_carries_the_traceback_on_one_line(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("json", "info", stream)

    try:
        raise RuntimeError("boom")
    except RuntimeError:
        log.exception("failed")

    (line,) = stream.getvalue().splitlines()
    assert "RuntimeError: boom" in json.loads(line)["traceback"]


def test_text_puts_the_object_behind_the_message(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("text", "info", stream)

    ContextLogger(log, FIELDS).info("hello")

    assert stream.getvalue().rstrip().endswith("INFO    hello [Site default/a, reconcile_id=site-1]")


def test_text_outside_of_a_reconcile_has_no_brackets(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("text", "info", stream)

    log.warning("hello")

    assert stream.getvalue().rstrip().endswith("WARNING hello")


def test_auto_is_json_where_no_terminal_is(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("auto", "info", stream)

    log.info("hello")

    assert json.loads(stream.getvalue())["message"] == "hello"


def test_a_level_hides_what_is_below_it(stream: io.StringIO, log: logging.Logger) -> None:
    set_up_logs("json", "warning", stream)

    log.info("hidden")

    assert stream.getvalue() == ""

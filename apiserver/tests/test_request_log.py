"""The log of requests: what was asked, readable, without secrets, and as of when it was asked."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubewright_apiserver import ApiServer, Request, RequestLog

MAPS = "/api/v1/namespaces/default/configmaps"
NOON = datetime(2030, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)


class Clock:
    """Goes on by a step with each look at it."""

    def __init__(self, step: timedelta = timedelta(0)) -> None:
        self._now, self._step = NOON - step, step

    def __call__(self) -> datetime:
        self._now += self._step
        return self._now


def request(method: str, target: str, user_agent: str = "kubectl/v1.36.3 (linux/amd64)") -> Request:
    return RequestLog(Clock()).note(method, target, "admin", user_agent)


async def ask(server: ApiServer, method: str, target: str, body: Any = None) -> int:
    headers = [("Content-Type", "application/json"), ("User-Agent", "test/1")]
    status, _, chunks = await server.handle(method, target, headers, json.dumps(body).encode() if body else b"")
    assert [chunk async for chunk in chunks]
    return status


def test_a_record_reads_as_a_line():
    log = RequestLog(Clock(timedelta(microseconds=1300)))
    record = log.note("PATCH", "/api/v1/namespaces/default/pods/a", "admin", "kubectl/v1.36.3 (linux/amd64)")

    log.answered(record, 200)

    assert str(record) == "12:00:00.123 200 PATCH /api/v1/namespaces/default/pods/a (kubectl) 1.3ms"
    assert repr(record) == f"<Request {record}>"
    assert record.duration == timedelta(microseconds=1300)


def test_a_request_without_an_answer_yet_has_neither_status_nor_duration():
    record = request("GET", MAPS, user_agent="")

    assert (record.status, record.duration) == (0, None)
    assert str(record) == f"12:00:00.123 --- GET {MAPS}"


@pytest.mark.parametrize(
    ("method", "target", "verb"),
    [
        ("GET", f"{MAPS}/a", "get"),
        ("HEAD", f"{MAPS}/a", "get"),
        ("GET", f"{MAPS}/a?watch=true", "get"),
        ("GET", MAPS, "list"),
        ("GET", f"{MAPS}?watch=0", "list"),
        ("GET", f"{MAPS}?watch=1", "watch"),
        ("GET", f"{MAPS}?limit=1&watch", "watch"),
        ("GET", "/api/v1/watch/namespaces/default/configmaps/a", "watch"),
        ("POST", MAPS, "create"),
        ("POST", "/api/v1/namespaces/default/pods/a/eviction", "create"),
        ("PUT", f"{MAPS}/a", "update"),
        ("PATCH", f"{MAPS}/a", "patch"),
        ("DELETE", f"{MAPS}/a", "delete"),
        ("DELETE", MAPS, "deletecollection"),
        ("GET", "/apis", "get"),
        ("GET", "/healthz?watch=1", "get"),
        ("POST", "/apis", "post"),
    ],
)
def test_the_verb_is_kubernetes_own(method: str, target: str, verb: str):
    record = request(method, target)

    assert record.verb == verb
    assert record.is_watch == (verb == "watch")
    assert record.is_write == (verb in ("create", "update", "patch", "delete", "deletecollection"))


def test_the_address_is_taken_apart():
    record = request("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/status?force=true")

    assert (record.group, record.version) == ("apps", "v1")
    assert (record.resource, record.subresource) == ("deployments", "status")
    assert (record.namespace, record.name) == ("shop", "web")
    assert record.path == "/apis/apps/v1/namespaces/shop/deployments/web/status"


def test_where_no_resource_is_addressed_all_parts_are_empty():
    record = request("GET", "/openapi/v3")

    assert {record.group, record.version, record.resource, record.subresource, record.namespace, record.name} == {""}


def test_a_dry_run_is_no_write():
    assert not request("POST", f"{MAPS}?dryRun=All").is_write


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("watch=true&resourceVersion=7&labelSelector=a%3Db", "watch=true&resourceVersion=7&labelSelector=a%3Db"),
        ("access_token=hunter2", "access_token=…"),
        ("token=hunter2&limit=5", "token=…&limit=5"),
        ("command=login&command=hunter2", "command=…&command=…"),
        ("continue=hunter2", "continue=…"),
        ("hunter2", "…"),
        ("%77atch=hunter2", "%77atch=…"),
        ("", ""),
    ],
)
def test_only_parameters_of_kubernetes_verbs_are_shown(query: str, shown: str):
    record = request("GET", f"/api/v1/pods?{query}")

    assert record.target == f"/api/v1/pods?{shown}"
    assert "hunter2" not in f"{record} {record!r}"


def test_a_line_stays_one_line():
    assert str(request("GET", "/a\nb", user_agent="x\r\ny")) == "12:00:00.123 --- GET /a?b (x??y)"


def test_the_log_is_a_sequence_that_forgets_the_oldest():
    log = RequestLog(Clock(), most=2)

    for name in "abc":
        log.note("GET", f"{MAPS}/{name}", "admin", "")

    assert [record.name for record in log] == ["b", "c"]
    assert (log[-1].name, [record.name for record in log[:1]], len(log), log.forgotten) == ("c", ["b"], 2, 1)
    assert str(log).splitlines() == [str(record) for record in log]


def test_a_cleared_log_is_empty_and_false():
    log = RequestLog(Clock(), most=1)
    log.note("GET", MAPS, "", "")
    log.note("GET", MAPS, "", "")

    log.clear()

    assert not log
    assert (log.forgotten, str(log), repr(log)) == (0, "", "<RequestLog of 0>")


async def test_a_server_that_was_not_asked_has_no_requests():
    async with ApiServer(listens=False) as server:
        assert not server.requests


async def test_writes_are_told_from_reads():
    async with ApiServer(listens=False) as server:
        await ask(server, "POST", MAPS, {"metadata": {"name": "a"}})
        await ask(server, "GET", f"{MAPS}/a")
        await ask(server, "PUT", f"{MAPS}/none", {"metadata": {"name": "other"}})

        found = [(record.verb, record.name, record.status) for record in server.requests.writes()]

    assert found == [("create", "", 201), ("update", "none", 400)]


async def test_a_request_is_noted_with_who_asked_and_when():
    async with ApiServer(listens=False, clock=Clock()) as server:
        await ask(server, "GET", "/version")

    (record,) = server.requests
    assert (record.user, record.user_agent, record.time) == ("kubernetes-admin", "test/1", NOON)
    assert record.duration == timedelta(0)


async def test_a_watch_is_noted_when_it_begins():
    async with ApiServer(listens=False) as server:
        status, _, lines = await server.handle("GET", f"{MAPS}?watch=1", [], b"")

        (record,) = server.requests.watches()

        assert (status, record.status, record.resource) == (200, 200, "configmaps")
        assert lines


async def test_a_reset_forgets_what_was_asked():
    async with ApiServer(listens=False) as server:
        await ask(server, "GET", MAPS)

        server.reset()

        assert not server.requests


async def test_requests_are_read_after_the_server_has_stopped():
    async with ApiServer(listens=False) as server:
        await ask(server, "GET", MAPS)

    assert [record.verb for record in server.requests] == ["list"]


def test_a_server_that_never_started_says_so():
    with pytest.raises(RuntimeError, match="never started"):
        _ = ApiServer(listens=False).requests


def test_who_is_refused_at_the_door_is_noted_without_the_token():
    with ApiServer.in_thread(http_port=0) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for headers in ({"Authorization": "Bearer hunter2"}, {}):
            asked = urllib.request.Request(f"{server.url}{MAPS}", headers=headers)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(asked, context=context, timeout=10)
            refused.value.close()
        urllib.request.urlopen(f"{server.http_url}{MAPS}", timeout=10).close()

        found = [(record.status, record.user) for record in server.requests]

    assert found == [(401, ""), (403, "system:anonymous"), (200, "kubernetes-admin")]
    assert "hunter2" not in str(server.requests)


async def test_the_logger_gets_each_answered_request_as_a_line(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger="kubewright_apiserver.requests")

    async with ApiServer(listens=False, clock=Clock()) as server:
        await ask(server, "GET", "/version?token=hunter2")

    assert caplog.messages == ["12:00:00.123 200 GET /version?token=… (test) 0.0ms"]


def test_the_library_installs_no_handler():
    assert logging.getLogger("kubewright_apiserver.requests").handlers == []
    assert logging.getLogger("kubewright_apiserver").handlers == []


async def test_the_log_is_read_while_it_grows():
    log = RequestLog(Clock())
    log.note("GET", "/a", "", "")

    for _ in log:
        log.note("GET", "/b", "", "")
        await asyncio.sleep(0)

    assert len(log) == 2

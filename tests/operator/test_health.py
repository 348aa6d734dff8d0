"""Health, readiness and metrics over HTTP; and what blocks the loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta

import aiohttp
import pytest

from kubewright import Client, InProcessTransport
from kubewright.errors import ConfigError
from kubewright.operator import install_crds
from kubewright.operator.health import parse_address, serving_health
from kubewright.operator.watchdog import watching_the_loop
from kubewright_apiserver import ApiServer
from tests.controller.sites import operator_of, write_card


async def fetch(host: str, port: int, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}{path}") as response:
        return response.status, await response.text()


async def test_readiness_is_that_of_the_informers() -> None:
    operator = operator_of(write_card)
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with operator.running(client) as running, serving_health(running, "127.0.0.1", 0) as (host, port):
            status, text = await fetch(host, port, "/readyz")
            assert status == 503
            assert "[-]informer-sites.tests.example.com failed: " in text
            assert await fetch(host, port, "/healthz") == (200, "ok\n")

            await install_crds(client, operator)
            await running.wait_ready()

            assert await fetch(host, port, "/readyz") == (200, "ok\n")
            _, verbose = await fetch(host, port, "/readyz?verbose")
            assert "[+]informer-sites.tests.example.com ok" in verbose


async def test_metrics_are_served_as_prometheus_reads_them() -> None:
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with operator_of(write_card).running(client) as running:
            async with serving_health(running, "127.0.0.1", 0) as (host, port):
                status, text = await fetch(host, port, "/metrics")

    assert status == 200
    assert "# TYPE workqueue_depth gauge" in text


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (b"GET /secret HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"405 Method Not Allowed"),
        (b"hello\r\n\r\n", b"400 Bad Request"),
        (b"HEAD /healthz HTTP/1.1\r\n\r\n", b"200 OK"),
    ],
)
async def test_strange_requests_to_the_health_port_are_answered_as_http_has_it(asked: bytes, status: bytes) -> None:
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with operator_of(write_card).running(client) as running:
            async with serving_health(running, "127.0.0.1", 0) as (host, port):
                reader, writer = await asyncio.open_connection(host, port)
                writer.write(asked)
                answer = await reader.read()
                writer.close()

    assert answer.startswith(b"HTTP/1.1 " + status + b"\r\n")


async def test_a_visitor_who_says_nothing_does_not_hold_up_the_end() -> None:
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with operator_of(write_card).running(client) as running, asyncio.timeout(5):
            async with serving_health(running, "127.0.0.1", 0) as (host, port):
                reader, writer = await asyncio.open_connection(host, port)
                assert await fetch(host, port, "/healthz") == (200, "ok\n")
            assert await reader.read() == b""
            writer.close()


async def test_a_port_that_is_taken_is_told() -> None:
    async with ApiServer(listens=False) as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with operator_of(write_card).running(client) as running:
            async with serving_health(running, "127.0.0.1", 0) as (host, port):
                with pytest.raises(ConfigError, match=f"{port} cannot be listened on"):
                    async with serving_health(running, host, port):
                        pass


@pytest.mark.parametrize(
    ("text", "address"),
    [(":8080", ("0.0.0.0", 8080)), ("127.0.0.1:0", ("127.0.0.1", 0)), ("[::1]:9", ("::1", 9))],
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["8080", "host", "host:", ":x", ":70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not an address like :8080"):
        parse_address(text)


async def test_what_blocks_the_loop_is_told_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    listener = Listener()
    logger = logging.getLogger("kubewright.operator")
    logger.addHandler(listener)
    try:
        with watching_the_loop(timedelta(milliseconds=50)):
            await asyncio.sleep(0)

            def culprit_of_the_test() -> None:
                assert told.wait(20)

            culprit_of_the_test()
    finally:
        logger.removeHandler(listener)

    assert "the event loop has not turned for" in caplog.text
    assert "culprit_of_the_test" in caplog.text

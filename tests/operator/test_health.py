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

"""Long answers go over sockets in parts, and arrive whole."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from kubewright_apiserver import ApiServer

MAPS = "/api/v1/namespaces/default/configmaps"
LONG = "long " * 150_000


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer.in_thread(http_port=0) as server:
        body = json.dumps({"metadata": {"name": "long"}, "data": {"text": LONG}}).encode()
        request = urllib.request.Request(server.http_url + MAPS, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request):
            yield server


def test_a_long_answer_arrives_whole_and_tells_its_length(server: ApiServer):
    with urllib.request.urlopen(f"{server.http_url}{MAPS}/long") as response:
        body = response.read()

    assert response.headers["Content-Length"] == str(len(body))
    assert json.loads(body)["data"]["text"] == LONG


def test_a_connection_is_kept_after_a_long_answer(server: ApiServer):
    address = urlsplit(server.http_url)
    ask = b"GET %s/long HTTP/1.1\r\nHost: server\r\n%s\r\n"

    with socket.create_connection((address.hostname, address.port), timeout=10) as client:
        client.sendall(ask % (MAPS.encode(), b"") + ask % (MAPS.encode(), b"Connection: close\r\n"))
        answers = b"".join(iter(lambda: client.recv(65536), b""))

    assert answers.count(b"HTTP/1.1 200 OK\r\n") == 2
    assert answers.count(LONG.encode()) == 2


def test_a_client_that_leaves_in_a_long_answer_disturbs_nobody(server: ApiServer):
    address = urlsplit(server.http_url)
    with socket.create_connection((address.hostname, address.port), timeout=10) as client:
        client.sendall(f"GET {MAPS}/long HTTP/1.1\r\nHost: server\r\n\r\n".encode())
        client.recv(10)

    with urllib.request.urlopen(f"{server.http_url}{MAPS}/long") as response:
        assert json.loads(response.read())["metadata"]["name"] == "long"

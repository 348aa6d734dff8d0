"""The server as an object: started, stopped, reset; with sockets and without; several at once."""

from __future__ import annotations

import json
import ssl
import stat
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright_apiserver import ApiServer, LoadError, User

MAPS = "/api/v1/namespaces/default/configmaps"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


async def ask(server: ApiServer, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    headers = [("Content-Type", "application/json"), ("User-Agent", "test")]
    status, _, chunks = await server.handle(method, path, headers, data)
    text = b"".join([chunk async for chunk in chunks])
    return status, json.loads(text) if text.startswith(b"{") else text


async def test_a_new_server_has_what_every_cluster_has():
    async with ApiServer(listens=False) as server:
        _, namespaces = await ask(server, "GET", "/api/v1/namespaces")
        _, service = await ask(server, "GET", "/api/v1/namespaces/default/services/kubernetes")

    names = [found["metadata"]["name"] for found in namespaces["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert service["spec"]["clusterIP"] == "10.0.0.1"


async def test_several_servers_share_nothing():
    async with ApiServer(listens=False) as one, ApiServer(listens=False) as other:
        await ask(one, "POST", MAPS, {"metadata": {"name": "a"}})

        assert (await ask(one, "GET", f"{MAPS}/a"))[0] == 200
        assert (await ask(other, "GET", f"{MAPS}/a"))[0] == 404


async def test_a_reset_forgets_what_was_done_since_the_start(tmp_path: Path):
    (tmp_path / "crd.yaml").write_text(CRD)
    async with ApiServer(listens=False, manifests=[tmp_path]) as server:
        await ask(server, "POST", MAPS, {"metadata": {"name": "a"}})
        await ask(server, "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")

        server.reset()

        assert (await ask(server, "GET", f"{MAPS}/a"))[0] == 404
        assert (await ask(server, "GET", "/apis/example.com/v1/widgets"))[0] == 200


async def test_what_was_written_is_there_after_a_restart(tmp_path: Path):
    (tmp_path / "crd.yaml").write_text(CRD)
    async with ApiServer(listens=False, data=tmp_path / "data.db", manifests=[tmp_path / "crd.yaml"]) as server:
        await ask(server, "POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})

    async with ApiServer(listens=False, data=tmp_path / "data.db") as server:
        status, found = await ask(server, "GET", f"{MAPS}/a")

        assert (status, found["data"]) == (200, {"k": "v"})
        assert (await ask(server, "GET", "/apis/example.com/v1/widgets"))[0] == 200


async def test_manifests_are_loaded_definitions_first(tmp_path: Path):
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n---\n"
    (tmp_path / "a.yaml").write_text(widget + CRD)

    async with ApiServer(listens=False, manifests=[tmp_path]) as server:
        status, _ = await ask(server, "GET", "/apis/example.com/v1/namespaces/default/widgets/w")

    assert status == 200


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", r"m\.yaml: .*line 1"),
        ("a: 1", r"m\.yaml: a document is no object with apiVersion and kind"),
        ("apiVersion: v1\nkind: Nothing\nmetadata: {name: thing}", r"m\.yaml: Nothing 'thing': the server"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad}", r"m\.yaml: ConfigMap 'Bad': .*metadata\.name"),
    ],
)
async def test_a_manifest_that_cannot_be_loaded_is_named(tmp_path: Path, text: str, told: str):
    (tmp_path / "m.yaml").write_text(text)

    with pytest.raises(LoadError, match=told):
        async with ApiServer(listens=False, manifests=[tmp_path / "m.yaml"]):
            pass


async def test_a_manifest_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(LoadError, match=r"none\.yaml: there is no such file"):
        async with ApiServer(listens=False, manifests=[tmp_path / "none.yaml"]):
            pass


async def test_the_clock_can_be_given():
    async with ApiServer(listens=False, clock=lambda: datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)) as server:
        _, created = await ask(server, "POST", MAPS, {"metadata": {"name": "a"}})

    assert created["metadata"]["creationTimestamp"] == "2001-02-03T04:05:06Z"


async def test_events_are_deleted_when_their_time_is_over_and_watchers_are_told():
    path = "/api/v1/namespaces/default/events"
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Tested"}
    async with ApiServer(listens=False, event_lifetime=timedelta(milliseconds=30)) as server:
        await ask(server, "POST", path, event)
        _, _, lines = await server.handle("GET", f"{path}?watch=1", [], b"")

        seen = []
        async for line in lines:
            seen += [json.loads(text)["type"] for text in line.splitlines()]
            if "DELETED" in seen:
                break

        assert seen == ["ADDED", "DELETED"]
        assert (await ask(server, "GET", f"{path}/e"))[0] == 404


def test_a_server_that_does_not_run_says_how_to_start_it():
    with pytest.raises(RuntimeError, match="async with ApiServer"):
        _ = ApiServer(listens=False).app


def fetch(url: str, token: str = "", context: ssl.SSLContext | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, context=context, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def trusting(server: ApiServer) -> ssl.SSLContext:
    document = yaml.safe_load(server.kubeconfig.read_text())
    import base64

    authority = base64.b64decode(document["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    return ssl.create_default_context(cadata=authority)


def test_blocking_clients_use_a_server_in_a_thread():
    tokens = {"secret": User(name="robot", groups=("system:masters",))}
    with ApiServer.in_thread(tokens=tokens) as server:
        context = trusting(server)

        assert fetch(f"{server.url}/readyz", context=context) == (200, b"ok")
        assert fetch(f"{server.url}/api/v1/namespaces", "secret", context)[0] == 200
        assert fetch(f"{server.url}/api/v1/namespaces", "wrong", context)[0] == 401
        assert fetch(f"{server.url}/api/v1/namespaces", context=context)[0] == 403


def test_a_failing_start_in_a_thread_is_raised_where_it_was_asked_for(tmp_path: Path):
    with pytest.raises(LoadError), ApiServer.in_thread(manifests=[tmp_path / "none.yaml"]):
        pass


def test_a_kubeconfig_is_readable_by_its_owner_alone():
    with ApiServer.in_thread() as server:
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600


def test_the_watch_of_the_first_text_works_as_printed():
    with ApiServer.in_thread(http_port=0) as server:
        status, text = fetch(f"{server.http_url}/api/v1/watch/namespaces?watch=yes&timeoutSeconds=1")

    lines = [json.loads(line) for line in text.splitlines()]
    assert status == 200
    assert lines[0]["object"]["metadata"]["name"] == "default"

"""Admission on a server: quotas hold under many writers, and flags choose plug-ins."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kubewright_apiserver.process import main
from kubewright_apiserver.server import ApiServer

CORE = "/api/v1/namespaces/default"
JSON = [("Content-Type", "application/json")]
MERGE = [("Content-Type", "application/merge-patch+json")]


async def ask(server: ApiServer, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    headers = MERGE if method == "PATCH" else JSON
    status, _, chunks = await server.handle(method, path, headers, json.dumps(body).encode() if body else b"")
    return status, json.loads(b"".join([chunk async for chunk in chunks]))


async def grant(server: ApiServer, name: str = "q", **hard: str) -> None:
    """A quota whose status is as a controller would write it."""
    await ask(server, "POST", f"{CORE}/resourcequotas", {"metadata": {"name": name}, "spec": {"hard": hard}})
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    await ask(server, "PATCH", f"{CORE}/resourcequotas/{name}/status", {"status": status})


async def used(server: ApiServer, name: str = "q") -> dict[str, str]:
    _, quota = await ask(server, "GET", f"{CORE}/resourcequotas/{name}")
    found: dict[str, str] = quota["status"]["used"]
    return found


@pytest.mark.parametrize("is_on_disk", [False, True], ids=["memory", "disk"])
async def test_no_more_is_created_than_a_quota_has_however_many_try(tmp_path: Path, is_on_disk: bool):
    async with ApiServer(data=tmp_path / "store.db" if is_on_disk else None, listens=False) as server:
        await grant(server, configmaps="7")
        await grant(server, "r", configmaps="9")

        writes = [ask(server, "POST", f"{CORE}/configmaps", {"metadata": {"name": f"c{n}"}}) for n in range(30)]
        answers = await asyncio.gather(*writes)

        assert Counter(status for status, _ in answers) == {201: 7, 403: 23}
        assert (await used(server), await used(server, "r")) == ({"configmaps": "7"}, {"configmaps": "7"})


async def test_what_a_quota_refuses_is_not_stored():
    async with ApiServer(listens=False) as server:
        await grant(server, configmaps="0")

        await ask(server, "POST", f"{CORE}/configmaps", {"metadata": {"name": "c"}})

        assert (await ask(server, "GET", f"{CORE}/configmaps/c"))[0] == 404


async def test_a_quota_has_no_effect_where_its_plugin_is_off():
    async with ApiServer(listens=False, disable_admission_plugins=["ResourceQuota"]) as server:
        await grant(server, configmaps="0")

        status, _ = await ask(server, "POST", f"{CORE}/configmaps", {"metadata": {"name": "c"}})

        assert (status, await used(server)) == (201, {"configmaps": "0"})


async def test_an_address_that_a_quota_refuses_is_free_again():
    service = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.0.0.77", "ports": [{"port": 80}]}}
    async with ApiServer(listens=False) as server:
        await grant(server, services="0")
        refused, _ = await ask(server, "POST", f"{CORE}/services", service)
        await ask(server, "DELETE", f"{CORE}/resourcequotas/q")

        status, _ = await ask(server, "POST", f"{CORE}/services", service)

        assert (refused, status) == (403, 201)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--enable-admission-plugins=Nope"], 'enable-admission-plugins plugin "Nope" is unknown'),
        (["--disable-admission-plugins=Priority,nope"], 'disable-admission-plugins plugin "nope" is unknown'),
        (
            ["--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"],
            "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
    ],
)
def test_the_program_refuses_names_that_mean_nothing(flags, message, capfd):
    assert main(["--secure-port=0", *flags]) == 1

    assert capfd.readouterr() == ("", f"Error: {message}\n")


def test_the_program_switches_plugins(start):
    flags = ["--enable-admission-plugins=ServiceAccount,AlwaysPullImages", "--disable-admission-plugins=Priority"]
    server = start(*flags)
    server.ready()
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

    refused, status = server.ask(f"{CORE}/pods", "POST", pod)
    server.ask(f"{CORE}/serviceaccounts", "POST", {"metadata": {"name": "default"}})
    created, made = server.ask(f"{CORE}/pods", "POST", pod)

    assert (refused, created) == (403, 201)
    assert 'serviceaccount "default" not found' in status["message"]
    assert "priority" not in made["spec"]
    assert "these admission plug-ins have no effect here: AlwaysPullImages" in server.said

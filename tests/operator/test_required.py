"""An operator whose custom resource is missing says so, once, and how to make it."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from kubewright import Client, Controller, InProcessTransport, Operator
from kubewright.operator import Required, install_crds
from kubewright.testing import elapse, embedded_server, running, virtual_time
from tests.controller.sites import Site, site, write_card

TEXT = "there is no Site; create one: kubectl apply -f site.yaml"
NAME = "required-sites.tests.example.com"


def operator() -> Operator:
    required = Required(Site, create="kubectl apply -f site.yaml")
    return Operator("sites", [Controller(Site, write_card)], requires=[required])


@virtual_time()
async def test_no_object_is_told_once_and_so_is_the_first(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with running(operator()) as cluster:
        await elapse(timedelta(hours=1))
        assert cluster.operator.ready_checks()[NAME] == TEXT
        assert caplog.messages.count(TEXT) == 1

        await cluster.client.create(site("a"))
        await cluster.client.create(site("b"))
        await elapse(timedelta(minutes=1))

        assert cluster.operator.ready_checks()[NAME] == ""
        assert caplog.messages.count("there is a Site now") == 1


@virtual_time()
async def test_the_last_object_that_goes_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    async with running(operator()) as cluster:
        for name in ("a", "b"):
            await cluster.client.create(site(name))
        await elapse(timedelta(seconds=1))
        caplog.clear()
        await cluster.client.delete(Site, "a")
        await elapse(timedelta(seconds=1))
        assert cluster.operator.ready_checks()[NAME] == ""

        await cluster.client.delete(Site, "b")
        await elapse(timedelta(seconds=1))

        assert cluster.operator.ready_checks()[NAME] == TEXT
        assert caplog.messages.count(TEXT) == 1


@virtual_time()
async def test_a_kind_that_is_not_served_is_told_once_with_what_installs_it(caplog: pytest.LogCaptureFixture) -> None:
    made = operator()
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        async with made.running(client) as at_work:
            await elapse(timedelta(hours=1))
            told = [line for line in caplog.messages if "--install-crds true" in line]
            assert len(told) == 1
            checks = at_work.ready_checks()
            assert "--install-crds true" in checks["informer-sites.tests.example.com"]
            assert checks[NAME] == ""

            await install_crds(client, made)
            await at_work.wait_ready()

            assert at_work.ready_checks()[NAME] == TEXT

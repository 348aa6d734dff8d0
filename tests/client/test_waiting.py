"""Waiting for objects."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kubewright import Client, InProcessTransport, Metadata
from kubewright.errors import WaitTimeout
from kubewright.kinds.core_v1 import ConfigMap, Secret
from kubewright.testing import elapse, embedded_server, virtual_time
from kubewright.testing.faults import drop_watch, expire_watch


@virtual_time()
async def test_an_object_that_comes_later_is_waited_for() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:

        async def later() -> None:
            await elapse(timedelta(seconds=5))
            made = await client.create(ConfigMap(metadata=Metadata(name="a"), data={"x": "1"}))
            await elapse(timedelta(seconds=5))
            made.data["x"] = "2"
            await client.update(made)

        task = asyncio.create_task(later())

        found = await client.wait_until(ConfigMap, "a", lambda obj: obj.data["x"] == "2")

        assert found.data == {"x": "2"}
        await task


@virtual_time()
async def test_an_object_that_is_so_already_is_given_at_once() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap(metadata=Metadata(name="a")))

        assert (await client.wait_until(ConfigMap, "a", lambda _: True)).name == "a"
        assert asyncio.get_running_loop().time() == 0


@virtual_time()
async def test_the_end_of_an_object_is_waited_for() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        await client.create(ConfigMap(metadata=Metadata(name="a")))

        async def later() -> None:
            await elapse(timedelta(seconds=5))
            await client.delete(ConfigMap, "a")

        task = asyncio.create_task(later())
        await client.wait_gone(ConfigMap, "a")
        await client.wait_gone(ConfigMap, "never there")

        assert asyncio.get_running_loop().time() == pytest.approx(5)
        await task


@virtual_time()
async def test_what_does_not_come_is_told_with_how_it_was_last() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        with pytest.raises(
            WaitTimeout, match='ConfigMap "a" is not as waited for after 0:00:30: there is no such object'
        ):
            await client.wait_until(ConfigMap, "a", lambda _: True)
        await client.create(ConfigMap(metadata=Metadata(name="a")))
        with pytest.raises(WaitTimeout, match='ConfigMap "a" is still there after 0:00:05'):
            await client.wait_gone(ConfigMap, "a", within=timedelta(seconds=5))


@virtual_time()
async def test_no_secret_is_in_the_message() -> None:
    async with embedded_server() as server, Client(transport=InProcessTransport(server.handle)) as client:
        await client.create(Secret(metadata=Metadata(name="a"), string_data={"password": "hunter2"}))

        with pytest.raises(WaitTimeout) as caught:
            await client.wait_until(Secret, "a", lambda _: False)

        assert "hunter2" not in str(caught.value)
        assert "aHVudGVyMg" not in str(caught.value)


@virtual_time()
async def test_a_watch_that_breaks_or_expires_does_not_matter() -> None:
    async with embedded_server() as server:
        faults = [drop_watch(times=2), expire_watch(times=1)]
        async with Client(transport=InProcessTransport(server.handle), interceptors=faults) as client:

            async def later() -> None:
                await elapse(timedelta(seconds=5))
                await client.create(ConfigMap(metadata=Metadata(name="a")))

            task = asyncio.create_task(later())

            assert (await client.wait_until(ConfigMap, "a", lambda _: True)).name == "a"
            await task

"""Lists, watches and patches with kr8s; tells what it saw as lines of JSON. Argument: the namespace."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import kr8s
from kr8s.asyncio.objects import ConfigMap, new_class


def tell(*what: Any) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


async def write(namespace: str) -> None:
    """Create, patch and delete."""
    made = await ConfigMap({"metadata": {"name": "a", "namespace": namespace}, "data": {"k": "v"}})
    await made.create()
    await made.patch({"data": {"k": "w"}})
    await made.label({"of": "kr8s"})
    tell("patched", dict(made.data), dict(made.labels))
    await made.delete()


async def follow(namespace: str, started: asyncio.Event) -> None:
    """Tell the changes of ConfigMaps until one is deleted, beginning with the two that are there."""
    count = 0
    async for type, found in kr8s.asyncio.watch("configmaps", namespace=namespace):
        tell("watched", type, found.name)
        count += 1
        if count == 2:
            started.set()
        if type == "DELETED":
            return


async def write_widget(namespace: str) -> None:
    """A custom resource."""
    Widget = new_class(kind="Widget", version="peers.example.com/v1", plural="widgets", namespaced=True)
    widget = await Widget({"metadata": {"name": "w", "namespace": namespace}, "spec": {"size": 1}})
    await widget.create()
    listed = kr8s.asyncio.get("widgets.peers.example.com", namespace=namespace)
    tell("widgets", [found.spec.size async for found in listed])


async def main(namespace: str) -> None:
    """Do everything in a namespace."""
    tell("listed", [found.name async for found in kr8s.asyncio.get("configmaps", namespace=namespace)])
    await write_widget(namespace)
    started = asyncio.Event()
    following = asyncio.create_task(follow(namespace, started))
    await started.wait()
    await write(namespace)
    await following


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

"""The embedded API server as a process of its own, for as long as its standard input is open.

``python -m benchmarks.embedded [--data FILE] [--objects N]`` prints its address and a kubeconfig as a line of JSON when
it is ready. ``--objects`` are ConfigMaps of 1 KB that are stored before, a hundred in each namespace.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from benchmarks.objects import config_map
from kubewright_apiserver import ApiServer

__all__ = ["main"]

_TABLE = "/configmaps"
_PER_NAMESPACE = 100


async def main() -> None:
    """Serve until standard input ends, as it does when the parent dies."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data")
    parser.add_argument("--objects", type=int, default=0)
    options = parser.parse_args()
    async with ApiServer(data=options.data) as server:
        if options.objects:
            await _fill(server, options.objects)
        print(json.dumps({"url": server.url, "kubeconfig": str(server.kubeconfig)}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def _fill(server: ApiServer, count: int) -> None:
    """Store copies of one created object: a hundred thousand requests would take minutes."""
    first = await _created(server)
    store = server.app.engine.store
    for index in range(count):
        namespace, name = f"filled-{index // _PER_NAMESPACE:04}", f"config-{index % _PER_NAMESPACE:03}"
        metadata = {**first["metadata"], "namespace": namespace, "name": name}
        await store.put(_TABLE, f"{namespace}/{name}", {**first, "metadata": metadata}, expected=0)


async def _created(server: ApiServer) -> dict[str, Any]:
    body = json.dumps(config_map("first")).encode()
    path, headers = "/api/v1/namespaces/default/configmaps", [("Content-Type", "application/json")]
    status, _, chunks = await server.handle("POST", path, headers, body)
    if status != 201:
        sys.exit(f"{path} was answered with {status}")
    obj: dict[str, Any] = json.loads(b"".join([chunk async for chunk in chunks]))
    return obj


if __name__ == "__main__":
    asyncio.run(main())

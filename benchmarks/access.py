"""What does access control cost a request? ``python -m benchmarks.access``"""

from __future__ import annotations

import asyncio
import json
import timeit
from collections.abc import Callable
from typing import Any

from kubewright_apiserver.access import LOCAL, Attributes, Peer
from kubewright_apiserver.server import ApiServer

_GROUP = "rbac.authorization.k8s.io"
_RBAC = f"/apis/{_GROUP}/v1/namespaces/default"
_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
_MAP = "/api/v1/namespaces/default/configmaps/a"
_ROUNDS = 20_000


async def _post(server: ApiServer, path: str, obj: dict[str, Any]) -> Any:
    sent = [("Content-Type", "application/json")]
    status, _, chunks = await server.handle("POST", path, sent, json.dumps(obj).encode())
    assert status == 201
    return json.loads(b"".join([chunk async for chunk in chunks]))


async def _token(server: ApiServer) -> str:
    """The token of an account that may read ConfigMaps."""
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}
    reference = {"kind": "Role", "name": "reader", "apiGroup": _GROUP}
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    await _post(server, f"{_RBAC}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {"metadata": {"name": "reader"}, "roleRef": reference, "subjects": [subject]}
    await _post(server, f"{_RBAC}/rolebindings", binding)
    await _post(server, _ACCOUNTS, {"metadata": {"name": "robot"}})
    token: str = (await _post(server, f"{_ACCOUNTS}/robot/token", {}))["status"]["token"]
    return token


def _tell(what: str, act: Callable[[], object]) -> None:
    best = min(timeit.repeat(act, number=_ROUNDS, repeat=5)) / _ROUNDS
    print(f"{what:<50}{best * 1e6:6.1f} µs")


async def _main() -> None:
    async with ApiServer(listens=False) as server:
        app, access, token = server.app, server.app.engine.access, await _token(server)
        robot = access.authenticator.user_of(f"Bearer {token}", None)
        wanted = Attributes("get", "", "configmaps", "", "default", "a")
        assert access.authorizer.decide(robot, wanted).allowed
        common = [("Accept", "application/json"), ("User-Agent", "benchmark")]
        shown = [*common, ("Authorization", f"Bearer {token}")]
        _tell("a decision", lambda: access.authorizer.decide(robot, wanted))
        _tell("a token that was seen before", lambda: access.authenticator.user_of(f"Bearer {token}", None))
        _tell("the way in of an account's request", lambda: app.receive("GET", _MAP, shown, Peer()))
        _tell("the way in of the administrator's request", lambda: app.receive("GET", _MAP, common, LOCAL))


if __name__ == "__main__":
    asyncio.run(_main())

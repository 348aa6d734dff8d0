"""Roles that cases make, and waiting until the server goes by them."""

from __future__ import annotations

import asyncio
from typing import Any

from conformance.exchange import Api

__all__ = ["ACCOUNTS", "AUTHORIZATION", "RBAC", "Rights", "rule", "token_of"]

AUTHORIZATION = "/apis/authorization.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
_GROUP = "rbac.authorization.k8s.io"
_PAUSE = 0.02
_PATIENCE = 30.0


def rule(verbs: str, resources: str = "configmaps", group: str = "", **more: Any) -> dict[str, Any]:
    """A rule for verbs and resources with commas."""
    return {"verbs": verbs.split(","), "apiGroups": [group], "resources": resources.split(","), **more}


async def token_of(api: Api, account: str = "robot", **spec: Any) -> str:
    """A token of a new service account; no part of the case."""
    with api.unrecorded():
        await api.post(ACCOUNTS, {"metadata": {"name": account}})
        answer = await api.post(f"{ACCOUNTS}/{account}/token", {"spec": spec})
    token: str = answer.body["status"]["token"]
    return token


class Rights:
    """Gives rights to users of one case, unrecorded; what is cluster-wide goes with the case."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._made: list[str] = []

    async def grant(self, user: str, *rules: dict[str, Any], name: str = "granted", everywhere: bool = False) -> None:
        """Let somebody do something in the case's namespace, or everywhere; wait until they can."""
        kind, roles, _ = self._places(everywhere)
        name = f"{self._api.namespace}-{name}" if everywhere else name
        await self._create(roles, {"metadata": {"name": name}, "rules": list(rules)}, everywhere=everywhere)
        await self.bind(user, kind, name, binding=name, everywhere=everywhere)
        for one in rules:
            await self.wait(user, one)

    async def bind(self, user: str, kind: str, role: str, *, binding: str = "bound", everywhere: bool = False) -> None:
        """Bind a role, which need not be there, to somebody."""
        subject = {"kind": "User", "name": user, "apiGroup": _GROUP}
        binding = binding.replace("{ns}", self._api.namespace)
        reference = {"kind": kind, "name": role, "apiGroup": _GROUP}
        body = {"metadata": {"name": binding}, "subjects": [subject], "roleRef": reference}
        await self._create(self._places(everywhere)[2], body, everywhere=everywhere)

    def _places(self, everywhere: bool) -> tuple[str, str, str]:
        if everywhere:
            return "ClusterRole", f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"
        return "Role", RBAC + "/namespaces/{ns}/roles", RBAC + "/namespaces/{ns}/rolebindings"

    async def _create(self, path: str, body: dict[str, Any], *, everywhere: bool) -> None:
        with self._api.unrecorded():
            answer = await self._api.post(path, body)
        assert answer.status == 201, answer.text
        if everywhere:
            self._made.append(f"{path}/{body['metadata']['name']}")

    async def wait(self, user: str, wanted: dict[str, Any], *, reason: str = "") -> None:
        """Return when somebody may do what the first of each list in a rule says, or the reason has this in it."""
        if "nonResourceURLs" in wanted:
            path = wanted["nonResourceURLs"][0].rstrip("*") or "/x"
            asked: dict[str, Any] = {"nonResourceAttributes": {"verb": wanted["verbs"][0], "path": path}}
        else:
            resource, _, part = wanted["resources"][0].partition("/")
            asked = {
                "resourceAttributes": {
                    "verb": wanted["verbs"][0],
                    "group": wanted["apiGroups"][0],
                    "resource": resource,
                    "subresource": part,
                    "namespace": self._api.namespace,
                    "name": (wanted.get("resourceNames") or [""])[0],
                }
            }
        review = {"spec": {"user": user, **asked}}
        with self._api.unrecorded():
            async with asyncio.timeout(_PATIENCE):
                while True:
                    answer = await self._api.post(f"{AUTHORIZATION}/subjectaccessreviews", review)
                    status = answer.body["status"]
                    if reason in status.get("reason", "") if reason else status["allowed"]:
                        return
                    await asyncio.sleep(_PAUSE)

    async def end(self) -> None:
        """Take back what is cluster-wide."""
        with self._api.unrecorded():
            for path in self._made:
                await self._api.delete(path)

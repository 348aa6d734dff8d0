"""``Account``: the service account that a peer runs as, which may do what its roles say and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from conformance.exchange import Api
from conformance.rights import ACCOUNTS, RBAC, Rights, token_of

__all__ = ["Account", "Accounts"]

_GROUP = "rbac.authorization.k8s.io"


class Account:
    """A service account of the case's namespace, with a kubeconfig that has its token."""

    def __init__(self, api: Api, name: str, token: str, kubeconfig: Path, made: list[str]) -> None:
        self.user = f"system:serviceaccount:{api.namespace}:{name}"
        self.token = token
        self.kubeconfig = kubeconfig
        self._api = api
        self._name = name
        self._made = made

    async def grant(self, *roles: dict[str, Any]) -> None:
        """Create Roles and ClusterRoles, bind them to the account, and wait until the server goes by them.

        Roles come into the case's namespace, and the names of ClusterRoles are made the case's own.
        """
        for role in roles:
            await self._bind(role)
        rights = Rights(self._api)
        for role in roles:
            for rule in role["rules"]:
                for verb in rule["verbs"]:
                    await rights.wait(self.user, {**rule, "verbs": [verb]})

    async def _bind(self, role: dict[str, Any]) -> None:
        role, namespace = copy.deepcopy(role), self._api.namespace
        if role["kind"] == "Role":
            place, metadata = f"{RBAC}/namespaces/{namespace}/", {"name": role["metadata"]["name"]}
        else:
            place, metadata = f"{RBAC}/", {"name": f"{namespace}-{self._name}-{role['metadata']['name']}"}
        role["metadata"] = metadata
        binding = {
            "metadata": metadata,
            "roleRef": {"apiGroup": _GROUP, "kind": role["kind"], "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": self._name, "namespace": namespace}],
        }
        kind = role["kind"].lower()
        await self._create(f"{place}{kind}s", role)
        await self._create(f"{place}{kind}bindings", binding)

    async def _create(self, path: str, body: dict[str, Any]) -> None:
        answer = await self._api.post(path, body)
        assert answer.status == 201, answer.text
        if "/namespaces/" not in path:
            self._made.append(f"{path}/{body['metadata']['name']}")


class Accounts:
    """Makes service accounts of one case; what is cluster-wide goes with the case."""

    def __init__(self, api: Api, administrator: Path, folder: Path) -> None:
        self._api = api
        self._administrator = administrator
        self._folder = folder
        self._made: list[str] = []

    async def new(self, name: str, roles: Iterable[dict[str, Any]] = ()) -> Account:
        """An account with these roles, and a token of it."""
        token = await token_of(self._api, name)
        account = Account(self._api, name, token, self._kubeconfig(name, token), self._made)
        await account.grant(*roles)
        return account

    def _kubeconfig(self, name: str, token: str) -> Path:
        found = yaml.safe_load(self._administrator.read_text())
        cluster, context = found["clusters"][0], found["contexts"][0]["name"]
        context_of = {"cluster": cluster["name"], "user": name, "namespace": self._api.namespace}
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": context, "context": context_of}],
            "current-context": context,
        }
        path = self._folder / f"{name}.kubeconfig"
        path.write_text(yaml.safe_dump(kubeconfig))
        return path

    async def end(self) -> None:
        """Take back what is cluster-wide, and the accounts."""
        for path in self._made:
            await self._api.delete(path)
        await self._api.call("DELETE", ACCOUNTS)

"""What a write uses is noted in the ResourceQuotas of its namespace before anything is stored."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.admission import charges
from kubewright_apiserver.patch import track
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.store import Stale
from kubewright_apiserver.verbs.admission import attributes_of
from kubewright_apiserver.verbs.call import Call

__all__ = ["charge"]

_QUOTAS: Final = "/resourcequotas"
_MANAGER: Final = "kube-apiserver"


async def charge(call: Call, obj: dict[str, Any], live: dict[str, Any] | None) -> None:
    """Add what an object uses to the quotas of its namespace; again to those that others changed meanwhile.

    Raises: a ``Refusal`` if there is not so much left.
    """
    if not call.served.namespaced or not len(call.engine.store.table(_QUOTAS)) or not call.engine.plugins.has_quotas:
        return
    names: set[str] | None = None
    attributes = attributes_of(call, "CREATE" if live is None else "UPDATE", obj, live)
    while names is None or names:
        quotas = call.engine.listed(_QUOTAS, f"{call.address.namespace}/")
        found = charges(attributes, [one for one in quotas if names is None or one["metadata"]["name"] in names])
        if call.is_dry_run:
            return
        names = set()
        for quota, used in found:
            try:
                await _note(call, quota, used)
            except Stale:
                names.add(quota["metadata"]["name"])


async def _note(call: Call, quota: dict[str, Any], used: dict[str, str]) -> None:
    """Write what is used of a quota into its status, as the server's own change."""
    key = f"{call.address.namespace}/{quota['metadata']['name']}"
    row = call.engine.store.table(_QUOTAS).get(key)
    if row is None:
        return
    served = call.engine.registry.find("", "v1", "resourcequotas")
    assert served is not None
    before, after = orjson.loads(row.value), orjson.loads(row.value)
    after["status"]["used"] = used
    track(
        before, after, endpoint=behaviour_of(served).endpoint("status"), manager=_MANAGER, now=call.engine.timestamp()
    )
    await call.engine.store.put(_QUOTAS, key, after, expected=int(quota["metadata"]["resourceVersion"]))

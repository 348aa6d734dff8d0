"""IPAddresses: one for each address of a Service, made and deleted with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import orjson

from kubewright_apiserver.store import Stale, Store

__all__ = ["follow_service", "resume_services"]

_TABLE: Final = "networking.k8s.io/ipaddresses"
_SERVICES: Final = "/services"
_VERSION: Final = "networking.k8s.io/v1"
_FAMILY: Final = "ipaddress.kubernetes.io/ip-family"
_MANAGED_BY: Final = "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR: Final = "ipallocator.k8s.io"
_PARENT: Final = ("name", "namespace", "resource")


async def follow_service(
    store: Store, service: dict[str, Any] | None, before: dict[str, Any] | None, *, now: str, new_uid: Callable[[], str]
) -> None:
    """Make and delete the IPAddresses of a Service that was written, or is gone."""
    wanted, had = _addresses(service), _addresses(before)
    for address in had:
        if address not in wanted:
            await _delete(store, address)
    for address in wanted:
        if address not in had and service is not None and store.table(_TABLE).get(address) is None:
            made = _ip_address(address, service["metadata"], now, new_uid())
            await store.put(_TABLE, address, made, expected=0)


async def resume_services(store: Store, *, now: str, new_uid: Callable[[], str]) -> None:
    """Make the IPAddresses that Services lack, and delete those that lack their Service, after a server died."""
    services = [row.obj for row in store.table(_SERVICES).list().rows]
    held = {address for service in services for address in _addresses(service)}
    for service in services:
        await follow_service(store, service, None, now=now, new_uid=new_uid)
    for row in store.table(_TABLE).list().rows:
        is_ours = (row.obj["metadata"].get("labels") or {}).get(_MANAGED_BY) == _ALLOCATOR
        if is_ours and row.key not in held:
            await _delete(store, row.key)


def _addresses(service: dict[str, Any] | None) -> list[str]:
    found = (service or {}).get("spec", {}).get("clusterIPs") or ()
    return [address for address in found if address != "None"]


async def _delete(store: Store, address: str) -> None:
    row = store.table(_TABLE).get(address)
    while row is not None:
        try:
            await store.delete(_TABLE, address, orjson.loads(row.value), expected=row.rev)
        except Stale as stale:
            row = stale.current
        else:
            return


def _ip_address(address: str, service: dict[str, Any], now: str, uid: str) -> dict[str, Any]:
    labels = {_FAMILY: "IPv6" if ":" in address else "IPv4", _MANAGED_BY: _ALLOCATOR}
    parent: dict[str, Any] = {".": {}, **{f"f:{name}": {} for name in _PARENT}}
    owned: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, **{f"f:{name}": {} for name in labels}}}}
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": _VERSION,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {**owned, "f:spec": {"f:parentRef": parent}},
    }
    metadata = {"name": address, "uid": uid, "creationTimestamp": now, "labels": labels, "managedFields": [entry]}
    reference = {"resource": "services", "namespace": service["namespace"], "name": service["name"]}
    named = {"kind": "IPAddress", "apiVersion": _VERSION}
    return {**named, "metadata": metadata, "spec": {"parentRef": reference}}

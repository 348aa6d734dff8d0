"""What follows a change of a CRD: its names are decided, its resources served, its objects deleted with it."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.patch import track
from kubewright_apiserver.registry.behaviours import behaviour_of
from kubewright_apiserver.registry.crd_names import CLEANUP, establish, is_true, terminating
from kubewright_apiserver.registry.custom import served_of
from kubewright_apiserver.registry.registry import Registry
from kubewright_apiserver.store import Row, Stale, Store

__all__ = ["CRDS", "follow_crd", "load_crds", "resume_crds"]

CRDS: Final = "apiextensions.k8s.io/customresourcedefinitions"
_MANAGER: Final = "kube-apiserver"


async def follow_crd(store: Store, registry: Registry, key: str, now: str) -> None:
    """Bring what is served, and the CRD's own status, in line with the CRD under this key.

    Others of its group get the names that it does not hold any more.
    """
    await _follow(store, registry, key, now)
    group = key.partition(".")[2]
    for row in store.table(CRDS).list().rows:
        if row.key != key and row.key.partition(".")[2] == group and not is_true(row.obj, "NamesAccepted"):
            await _follow(store, registry, row.key, now)


async def _follow(store: Store, registry: Registry, key: str, now: str) -> None:
    while True:
        row = store.table(CRDS).get(key)
        if row is None:
            registry.remove(key)
            return
        try:
            if "deletionTimestamp" in row.obj["metadata"]:
                await _clean_up(store, registry, row, now)
            else:
                await _establish(store, registry, row, now)
        except Stale:
            continue
        return


def load_crds(store: Store, registry: Registry) -> None:
    """Serve what the stored CRDs say, as at a start."""
    for row in store.table(CRDS).list().rows:
        registry.install(row.key, served_of(row.obj))


async def resume_crds(store: Store, registry: Registry, now: str) -> None:
    """Carry out what was left when a server died between a write of a CRD and what follows it."""
    rows = store.table(CRDS).list().rows
    objects = [row.obj for row in rows]
    for row in rows:
        is_leaving = "deletionTimestamp" in row.obj["metadata"]
        if is_leaving or establish(row.obj, objects, now) != row.obj.get("status"):
            await follow_crd(store, registry, row.key, now)


async def _establish(store: Store, registry: Registry, row: Row, now: str) -> None:
    crd: dict[str, Any] = orjson.loads(row.value)
    others = [other.obj for other in store.table(CRDS).list().rows]
    status = establish(crd, others, now)
    if status != crd.get("status"):
        live: dict[str, Any] = orjson.loads(row.value)
        crd["status"] = status
        served = registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None
        behaviour = behaviour_of(served)
        track(live, crd, endpoint=behaviour.endpoint("status"), manager=_MANAGER, now=now)
        await store.put(CRDS, row.key, behaviour.to_storage(crd), expected=row.rev)
    registry.install(row.key, served_of(crd))
    _end_stale_watches(store, crd)


def _end_stale_watches(store: Store, crd: dict[str, Any]) -> None:
    spec = crd["spec"]
    store.table(f"{spec['group']}/{spec['names']['plural']}").end_watches()


async def _clean_up(store: Store, registry: Registry, row: Row, now: str) -> None:
    """Delete the objects of a CRD that is being deleted, and let it go when none is left."""
    crd: dict[str, Any] = orjson.loads(row.value)
    spec = crd["spec"]
    table = store.table(f"{spec['group']}/{spec['names']['plural']}")
    for found in table.list().rows:
        await _delete(store, found, now)
    if len(table):
        status = terminating(crd, "InstanceDeletionInProgress", now)
        if status != crd["status"]:
            crd["status"] = status
            await store.put(CRDS, row.key, crd, expected=row.rev)
        registry.install(row.key, served_of(crd))
        return
    finalizers = [name for name in crd["metadata"].get("finalizers", ()) if name != CLEANUP]
    if finalizers:
        crd["metadata"]["finalizers"] = finalizers
        await store.put(CRDS, row.key, crd, expected=row.rev)
        return
    await store.delete(CRDS, row.key, crd, expected=row.rev)
    table.end_watches()
    registry.remove(row.key)


async def _delete(store: Store, row: Row, now: str) -> None:
    """Delete a custom resource, or begin to if somebody wants it kept."""
    obj: dict[str, Any] = orjson.loads(row.value)
    metadata = obj["metadata"]
    if not metadata.get("finalizers"):
        await store.delete(row.table, row.key, obj, expected=row.rev)
    elif "deletionTimestamp" not in metadata:
        metadata |= {"deletionTimestamp": now, "deletionGracePeriodSeconds": 0}
        metadata["generation"] = metadata.get("generation", 0) + 1
        await store.put(row.table, row.key, obj, expected=row.rev)

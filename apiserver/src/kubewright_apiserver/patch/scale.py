"""Managed fields of ``scale``: those of its parent that own the number of replicas, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import orjson

from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.managers import Managed, Managers, decode, encode

__all__ = ["ReplicasPaths", "entries_of_parent", "entries_of_scale"]

ReplicasPaths: TypeAlias = Mapping[str, tuple[str, ...] | None]
"""For each ``apiVersion`` of the parent the names that lead to its replicas; None for a version without ``scale``."""

_SCALE: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")
_IN_SCALE: Final = FieldSet.of_paths(("spec", "replicas"))


def entries_of_scale(parent: Any, paths: ReplicasPaths) -> list[dict[str, Any]]:
    """The ``managedFields`` of the scale of an object, from those of the object."""
    found = Managers()
    managers = decode(parent)
    for identity, managed in managers.sets.items():
        path = paths.get(managed.api_version)
        if path and managed.fields.has(map("f:{}".format, path)):
            found.sets[identity] = Managed(_IN_SCALE, _SCALE, managed.is_applied)
            found.times[identity] = managers.times[identity]
    return _encoded(found)


def _encoded(managers: Managers) -> list[dict[str, Any]]:
    # On this way the server carries managed fields in a map, which sorts their keys as plain text.
    entries: list[dict[str, Any]] = encode(managers)
    for entry in entries:
        entry["fieldsV1"] = orjson.loads(orjson.dumps(entry["fieldsV1"], option=orjson.OPT_SORT_KEYS))
    return entries


def entries_of_parent(parent: Any, scale: Any, *, api_version: str, paths: ReplicasPaths) -> list[dict[str, Any]]:
    """The ``managedFields`` of an object after its scale was written, from what both had.

    ``api_version`` is the version of the object that was addressed.
    """
    found = Managers()
    before, after = decode(parent), decode(scale)
    for identity, managed in before.sets.items():
        if managed.api_version not in paths:
            continue
        path = paths[managed.api_version]
        if path and managed.fields.has(map("f:{}".format, path)) and after.sets.pop(identity, None) is None:
            managed = managed._replace(fields=managed.fields.difference(FieldSet.of_paths(path)))
        if managed.fields:
            found.sets[identity] = managed
            found.times[identity] = before.times[identity]
    replicas = FieldSet.of_paths(paths[api_version] or ())
    for identity, managed in after.sets.items():
        if managed.fields.has(_REPLICAS):
            found.sets[identity] = Managed(replicas, api_version, managed.is_applied)
            # Only the parent's own entries have times here; that is why a scaled object shows one without.
            found.times[identity] = before.times.get(identity)
    return _encoded(found)

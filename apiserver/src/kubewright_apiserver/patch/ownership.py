"""Who owns what after a write: the writer takes what it changes, and others lose it or object."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.patch.comparison import Comparison, compare
from kubewright_apiserver.patch.conflicts import Conflicts
from kubewright_apiserver.patch.endpoint import Endpoint
from kubewright_apiserver.patch.fieldset import EMPTY, FieldSet
from kubewright_apiserver.patch.fitting import reconciled
from kubewright_apiserver.patch.managers import Identity, Managed, Managers
from kubewright_apiserver.patch.merging import merge
from kubewright_apiserver.patch.pruning import prune
from kubewright_apiserver.patch.typed import equal, mentioned

__all__ = ["Ownership"]


class Ownership:
    """The ownership of one object while a request changes it: ``managers`` become what holds after the request."""

    def __init__(self, endpoint: Endpoint, managers: Managers) -> None:
        self._endpoint = endpoint
        self.managers: Managers = managers
        for identity, managed in list(managers.sets.items()):
            shape = endpoint.versions.shape(managed.api_version)
            if shape is None:
                del managers.sets[identity]
            else:
                managers.own(identity, reconciled(shape, managed.fields))

    def update(self, live: dict[str, Any], new: dict[str, Any], writer: Identity) -> None:
        """Somebody replaces ``live`` by ``new`` and owns what is different."""
        changes = self._take(live, new, writer, force=True)
        held = self.managers.sets.get(writer)
        owned = held.fields.difference(changes.removed) if held else EMPTY
        self.managers.sets[writer] = Managed(
            self._endpoint.writable(owned.union(changes.taken)), self._endpoint.api_version, False
        )
        self.managers.drop_empty()

    def apply(self, live: dict[str, Any], intent: dict[str, Any], applier: Identity, *, force: bool) -> dict[str, Any]:
        """``live`` with the intent applied, the very ``live`` if that changes nothing.

        Raises ``Conflicts`` if others own what would change, unless ``force`` takes it from them.
        """
        shape, sets = self._endpoint.shape, self.managers.sets
        last = sets.get(applier)
        merged = merge(shape, live, intent)
        sets[applier] = Managed(self._endpoint.writable(mentioned(shape, intent)), self._endpoint.api_version, True)
        if last is not None and last.fields:
            merged = prune(merged, last, sets[applier], sets.values(), self._endpoint.versions)
        self._take(live, merged, applier, force=force)
        return live if equal(live, merged) else merged

    def _take(self, live: dict[str, Any], new: dict[str, Any], writer: Identity, *, force: bool) -> Comparison:
        """What changes, after taking it from all but the writer."""
        own = compare(self._endpoint.shape, live, new).without(self._reset(self._endpoint.api_version))
        seen: dict[str, Comparison | None] = {self._endpoint.api_version: own}
        conflicts: dict[Identity, FieldSet] = {}
        rest: dict[Identity, FieldSet] = {}
        for identity, managed in self.managers.sets.items():
            if identity == writer:
                continue
            if managed.api_version not in seen:
                seen[managed.api_version] = self._compared(live, new, managed.api_version)
            changes = seen[managed.api_version]
            conflict = managed.fields.intersection(changes.taken) if changes else EMPTY
            if conflict:
                conflicts[identity] = conflict
            rest[identity] = managed.fields.difference(conflict).difference(changes.removed) if changes else EMPTY
        if conflicts and not force:
            raise Conflicts(conflicts)
        for identity, fields in rest.items():
            self.managers.own(identity, fields)
        self.managers.drop_empty()
        return own

    def _compared(self, live: dict[str, Any], new: dict[str, Any], api_version: str) -> Comparison | None:
        """What changes as seen in another version; None if the object cannot be seen in it."""
        versions = self._endpoint.versions
        shape = versions.shape(api_version)
        before, after = versions.seen(live, api_version), versions.seen(new, api_version)
        if shape is None or before is None or after is None:
            return None
        return compare(shape, before, after).without(self._reset(api_version))

    def _reset(self, api_version: str) -> FieldSet:
        return self._endpoint.reset.get(api_version, EMPTY)

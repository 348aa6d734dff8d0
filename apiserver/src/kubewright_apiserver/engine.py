"""``Engine``: what every request works on: the store, the registry, and the sources of time, names and identities."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kubewright_apiserver.access import Access, AccessOptions
from kubewright_apiserver.admission import Plugins
from kubewright_apiserver.defaulting import ServiceAddresses
from kubewright_apiserver.expiry import EVENTS, Expiry
from kubewright_apiserver.kubelets import Kubelets
from kubewright_apiserver.registry import Registry, Served
from kubewright_apiserver.registry.lifecycle import load_crds
from kubewright_apiserver.store import Store, Table

__all__ = ["SUFFIX_LETTERS", "Engine", "resource_name", "table_name"]

SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class Engine:
    """The parts of one server. Nothing in it is shared with another; every source of chance can be given."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        *,
        clock: Callable[[], datetime] | None = None,
        dice: random.Random | None = None,
        event_lifetime: timedelta = timedelta(hours=1),
        new_uid: Callable[[], str] | None = None,
        service_ranges: Sequence[str] = ("10.0.0.0/24",),
        node_ports: tuple[int, int] = (30000, 32767),
        access: AccessOptions | None = None,
        plugins: Plugins | None = None,
        kubelets: Kubelets | None = None,
    ) -> None:
        self.store: Store = store
        self.registry: Registry = registry
        self.dice: random.Random = dice or random.Random()
        self.plugins: Plugins = plugins or Plugins()
        """What admission asks before something is stored."""
        self.kubelets: Kubelets = kubelets or Kubelets()
        """The way to the nodes."""
        self.expiry: Expiry = Expiry(store, event_lifetime)
        """What ends Events."""
        self.service_ranges: tuple[str, ...] = tuple(service_ranges)
        """The addresses that Services may have: one range, or one of each family."""
        self._node_ports = node_ports
        self.addresses: ServiceAddresses = self._all_free()
        """The addresses and node ports of Services."""
        self._clock = clock or _wall
        self._new_uid = new_uid
        self.access: Access = Access(store, access or AccessOptions(), now=self.now, new_uid=self.new_uid)
        """Who may ask what."""

    def reload(self) -> None:
        """Serve what the stored CRDs say, after the store was put back to an earlier state."""
        self.access.forget()
        self.registry.clear()
        load_crds(self.store, self.registry)
        self.addresses = self._all_free()
        for row in self.store.table("/services").list().rows:
            self.addresses.adopt(row.obj)
        self.expiry.forget()
        for row in self.store.table(EVENTS).list().rows:
            self.expiry.note(row)

    def _all_free(self) -> ServiceAddresses:
        first, *second = self.service_ranges
        return ServiceAddresses(first, self._node_ports, random=self.dice, second_range="".join(second))

    def now(self) -> datetime:
        """The current time in UTC."""
        return self._clock()

    def timestamp(self) -> str:
        """The current time as objects are stamped: whole seconds."""
        return f"{self._clock().isoformat(timespec='seconds')[:19]}Z"

    def new_uid(self) -> str:
        """A fresh uid."""
        if self._new_uid is not None:
            return self._new_uid()
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def suffix(self) -> str:
        """Five letters that finish a generated name."""
        return "".join(self.dice.choice(SUFFIX_LETTERS) for _ in range(5))

    def table(self, served: Served) -> Table:
        """Where the objects of a resource are stored."""
        return self.store.table(table_name(served))

    def find(self, table: str, key: str) -> dict[str, Any] | None:
        """The object stored there, not to be changed."""
        row = self.store.table(table).get(key)
        return row.obj if row is not None else None

    def listed(self, table: str, prefix: str = "") -> list[dict[str, Any]]:
        """The objects stored there whose keys have the prefix, not to be changed."""
        found = self.store.table(table)
        return [row.obj for row in found.list(prefix).rows] if len(found) else []


def table_name(served: Served) -> str:
    """The name of the table of a resource, the same for all its versions."""
    group = served.storage_group if served.storage_version else served.group
    return f"{group}/{served.plural}"


def resource_name(served: Served) -> str:
    """Group and plural of a resource: ``apps/deployments``, ``/pods``."""
    return f"{served.group}/{served.plural}"


def _wall() -> datetime:
    return datetime.now(UTC)

"""Every object of the server, with its history and its watches: one revision counter, in memory or also in SQLite.

Revisions begin after 1, as etcd's do. Memory is the truth while running; with a `Log` a write returns once it is
committed there, and a store that is opened again has every write that returned.
"""

from kubewright_apiserver.store.compaction import COMPACTION_INTERVAL, compact_periodically
from kubewright_apiserver.store.errors import Closed, Forgotten, NoRoom, Overrun, Stale, StoreFailed
from kubewright_apiserver.store.feed import Subscription
from kubewright_apiserver.store.folder import make_folder, sync_folder
from kubewright_apiserver.store.log import Log, Stored
from kubewright_apiserver.store.row import Row
from kubewright_apiserver.store.sqlite import SqliteLog
from kubewright_apiserver.store.store import Snapshot, Store
from kubewright_apiserver.store.table import Page, Table

__all__ = [
    "COMPACTION_INTERVAL",
    "Closed",
    "Forgotten",
    "Log",
    "NoRoom",
    "Overrun",
    "Page",
    "Row",
    "Snapshot",
    "SqliteLog",
    "Stale",
    "Store",
    "StoreFailed",
    "Stored",
    "Subscription",
    "Table",
    "compact_periodically",
    "make_folder",
    "sync_folder",
]

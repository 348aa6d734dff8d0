"""``ApiServer``: an API server as an object: started and stopped, in memory or on a file, with sockets or without."""

from __future__ import annotations

import asyncio
import base64
import copy
import logging
import random
import ssl
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

import yaml

from kubewright_apiserver.access import (
    ADMIN,
    LOCAL,
    AccessOptions,
    Certificates,
    FrontProxy,
    User,
    read_modes,
    write_private,
)
from kubewright_apiserver.admission import Plugins
from kubewright_apiserver.answer import Socket, Upgraded
from kubewright_apiserver.app import Answer, App
from kubewright_apiserver.bootstrap import bootstrap, load_manifests, resume
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.kubelets import ADDRESS_TYPES, Dialled, Kubelet, Kubelets
from kubewright_apiserver.registry import Registry
from kubewright_apiserver.request_log import RequestLog
from kubewright_apiserver.store import (
    COMPACTION_INTERVAL,
    Closed,
    Snapshot,
    SqliteLog,
    Store,
    compact_periodically,
)

if TYPE_CHECKING:
    from kubewright_apiserver.http import HttpServer

__all__ = ["ApiServer"]

_T = TypeVar("_T")
_log = logging.getLogger("kubewright_apiserver")
_PORT: Final = 6443
_SERVICE_NAMES: Final = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


class ApiServer:
    """A Kubernetes API server in this process.

    >>> async def look() -> str:
    ...     async with ApiServer() as server:
    ...         return server.url

    Without ``data`` objects live in memory; with it they are in that SQLite file too, and with ``power_safe`` a write
    survives a power failure as well. ``listens=False`` opens no socket: requests come through ``handle``. ``http_port``
    adds a port without TLS, on loopback, where who shows no token is the administrator. ``manifests`` are files or
    folders of YAML that are created at start. ``clock`` and ``dice`` replace the wall clock and the source of chance;
    ``event_lifetime`` is how long Events are kept. ``service_ranges`` are the addresses that Services get, of one
    family or both, ``node_ports`` the first and last port. ``snapshot`` is what another server held, to begin with
    that. ``certificates`` are what it shows and whom it believes, if not the certificates of an authority of its own,
    which then are for ``names`` too. While it listens, what was longer ago than ``compaction_interval`` is forgotten.

    Who may do what is decided by ``authorization_mode``, one or several of ``RBAC``, ``Node``, ``AlwaysAllow`` and
    ``AlwaysDeny``. ``tokens`` are users by their bearer tokens; ``anonymous_auth`` lets those ask who show nothing.
    Tokens of service accounts are of ``service_account_issuer``, for ``api_audiences``, signed by
    ``service_account_signing_key`` (PEM; a fresh one if there is none) and checked by that or one of
    ``service_account_keys``. ``audit_log`` is a file in which every request is told of, or what ``audit_policy``, a
    mapping such as the YAML of an audit Policy, leaves of them. ``front_proxy`` is whose word is taken for who asks.

    ``enable_admission_plugins`` and ``disable_admission_plugins`` are names of kube-apiserver's plug-ins, to change
    which of them act; ``ServiceAccount`` is off unless it is enabled, because nobody makes the accounts that it wants.

    Logs, exec, attach and port-forward are the kubelets' matter. They are reached by HTTPS while the server listens, at
    the first of a node's ``kubelet_address_types``; a ``kubelet`` in this process stands for all of them instead.
    """

    def __init__(
        self,
        *,
        data: str | Path | None = None,
        power_safe: bool = False,
        listens: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
        http_port: int | None = None,
        manifests: Sequence[str | Path] = (),
        runtime_config: Mapping[str, bool] | None = None,
        tokens: Mapping[str, User] | None = None,
        authorization_mode: str | Sequence[str] = "RBAC",
        anonymous_auth: bool = True,
        service_account_issuer: str | Sequence[str] = (),
        service_account_signing_key: bytes | None = None,
        service_account_keys: Sequence[bytes] = (),
        api_audiences: Sequence[str] = (),
        audit_log: str | Path | None = None,
        audit_policy: Mapping[str, Any] | None = None,
        front_proxy: FrontProxy | None = None,
        certificates: Certificates | None = None,
        names: Sequence[str] = (),
        clock: Callable[[], datetime] | None = None,
        dice: random.Random | None = None,
        event_lifetime: timedelta = timedelta(hours=1),
        service_ranges: Sequence[str] = ("10.0.0.0/24",),
        node_ports: tuple[int, int] = (30000, 32767),
        enable_admission_plugins: Sequence[str] = (),
        disable_admission_plugins: Sequence[str] = (),
        compaction_interval: timedelta | None = COMPACTION_INTERVAL,
        snapshot: Snapshot | None = None,
        kubelet: Kubelet | None = None,
        kubelet_address_types: Sequence[str] = ADDRESS_TYPES,
    ) -> None:
        if data is not None and snapshot is not None:
            raise ValueError("only a server in memory can begin with a snapshot; leave out data= or snapshot=")
        self._data = Path(data) if data is not None else None
        self._power_safe = power_safe
        self._listens = listens
        self._host = host
        self._port = port
        self._http_port = http_port
        self._manifests = [Path(path) for path in manifests]
        self._runtime_config = runtime_config
        self._clock = clock
        self._dice = dice
        self._event_lifetime = event_lifetime
        self._service_ranges = tuple(service_ranges)
        self._node_ports = node_ports
        self._plugins = Plugins(enable_admission_plugins, disable_admission_plugins)
        self._kubelet = kubelet
        self._kubelet_address_types = tuple(kubelet_address_types)
        self._names = tuple(names)
        self._compaction_interval = compaction_interval
        self._compaction: asyncio.Task[None] | None = None
        self._certificates = (certificates or Certificates()) if listens else None
        issuers = (service_account_issuer,) if isinstance(service_account_issuer, str) else service_account_issuer
        self._access = AccessOptions(
            modes=read_modes(authorization_mode),
            tokens=dict(tokens or {}),
            takes_anonymous=anonymous_auth,
            issuers=tuple(filter(None, issuers)),
            audiences=tuple(api_audiences),
            signing_key=service_account_signing_key,
            keys=tuple(service_account_keys),
            audit_path=audit_log,
            audit_policy=audit_policy,
            front_proxy=front_proxy,
            client_authorities=self._certificates.accepted if self._certificates is not None else b"",
        )
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._http: HttpServer | None = None
        self._app: App | None = None
        self._store: Store | None = None
        self._requests: RequestLog | None = None
        self._snapshot = snapshot
        self._fresh: Snapshot | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self.url: str = ""
        """The address with TLS, once it listens."""
        self.http_url: str = ""
        """The address without TLS, if one was asked for."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Open the store, create what every cluster has and the manifests, and listen."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise

    async def _start(self) -> None:
        if self._plugins.without_effect:
            _log.warning("these admission plug-ins have no effect here: %s", ", ".join(self._plugins.without_effect))
        registry = Registry(self._runtime_config)
        store = Store(SqliteLog.open(self._data, power_safe=self._power_safe) if self._data is not None else None)
        self._store = store
        if self._snapshot is not None:
            store.restore(self._snapshot)
        engine = Engine(
            store,
            registry,
            clock=self._clock,
            dice=self._dice,
            event_lifetime=self._event_lifetime,
            service_ranges=self._service_ranges,
            node_ports=self._node_ports,
            plugins=self._plugins,
            access=self._access,
            kubelets=Kubelets(
                self._kubelet, dial=_network if self._listens else None, address_types=self._kubelet_address_types
            ),
        )
        self._app = App(engine)
        engine.reload()
        if self._data is not None:
            await resume(engine)
        self._requests = self._app.requests
        if self._snapshot is None:
            believed = self._certificates.believed if self._certificates is not None else None
            await bootstrap(self._app, believed, self._port or _PORT, self._access.front_proxy)
        await load_manifests(self._app, self._manifests)
        if self._data is None:
            self._fresh = store.snapshot()
        if self._listens:
            await self._listen()
            self._compact(store)

    def _compact(self, store: Store) -> None:
        if self._compaction_interval is not None:
            work = compact_periodically(store, self._compaction_interval)
            self._compaction = asyncio.create_task(work, name="compaction")

    async def wait(self) -> None:
        """Return when the server was stopped.

        Raises: ``StoreFailed`` when its file can no longer be used; nothing that was acknowledged is lost then.
        """
        with suppress(Closed):
            await self.app.engine.store.wait_for(sys.maxsize)

    async def stop(self) -> None:
        """End every connection and close the store; an acknowledged write stays."""
        if self._app is not None:
            self._app.engine.store.end_watches()
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        if self._compaction is not None:
            self._compaction.cancel()
            await asyncio.wait((self._compaction,))
            self._compaction = None
        if self._app is not None:
            await self._app.finish()
            await self._app.engine.kubelets.aclose()
            await self._app.engine.expiry.stop()
            self._app.engine.access.close()
            await self._app.engine.store.close()
            self._app = None
        elif self._store is not None:
            await self._store.close()
        self._store = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def app(self) -> App:
        """What answers requests, while the server runs."""
        if self._app is None:
            raise RuntimeError("the API server is not running; start it with `async with ApiServer() as server`")
        return self._app

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """Answer a request without any socket: the administrator's, or of whom its headers name.

        A bearer token in ``Authorization`` tells who asks; ``Impersonate-User`` and ``Impersonate-Group`` whom they
        act as, and whose rights then count.
        """
        return await self.app.handle(method, target, headers, body, LOCAL)

    async def connect(
        self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]
    ) -> Socket | Answer:
        """A WebSocket without any socket, for exec, attach and port-forward; or the answer that says why not."""
        upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
        upgrade.append(("Sec-WebSocket-Protocol", ", ".join(subprotocols)))
        answer = await self.handle("GET", target, [*headers, *upgrade], b"")
        return answer[2] if isinstance(answer[2], Upgraded) else answer

    @property
    def requests(self) -> RequestLog:
        """What the server was asked since it started, the last 10,000 requests; still there when it has stopped."""
        if self._requests is None:
            raise RuntimeError("the API server was never started; start it with `async with ApiServer() as server`")
        return self._requests

    @property
    def connections(self) -> int:
        """How many connections of clients are open."""
        return self._http.connections if self._http is not None else 0

    def snapshot(self) -> Snapshot:
        """All objects as they are now, without history: for ``restore``, or for another server to begin with."""
        return self._in_loop(self.app.engine.store.snapshot)

    def restore(self, snapshot: Snapshot) -> None:
        """Hold what the snapshot holds, at its revision, and serve the CRDs in it; in memory only.

        Watches end. Clients that saw later revisions must list anew: the same numbers will be given to other writes.
        """
        if self._data is not None:
            raise RuntimeError("only a server in memory can be restored; start one without data=, or restore a fork()")

        def restore() -> None:
            self.app.engine.store.restore(snapshot)
            self.app.engine.reload()

        self._in_loop(restore)

    def reset(self) -> None:
        """Forget everything that was done and asked since the start; for tests, and in memory only."""
        if self._fresh is None:
            raise RuntimeError("only a server in memory can be reset; start one without data=")
        self.restore(self._fresh)
        self.requests.clear()

    def fork(self) -> ApiServer:
        """A second server, to be started, that begins with what this one holds now and then goes its own way.

        It is in memory, on ports of its own with an authority of its own, keeps no audit log, and otherwise has the
        options of this one.
        """
        return ApiServer(
            listens=self._listens,
            host=self._host,
            http_port=None if self._http_port is None else 0,
            runtime_config=self._runtime_config,
            tokens=self._access.tokens,
            authorization_mode=self._access.modes,
            anonymous_auth=self._access.takes_anonymous,
            service_account_issuer=self._access.issuers,
            service_account_signing_key=self._access.signing_key,
            service_account_keys=self._access.keys,
            api_audiences=self._access.audiences,
            front_proxy=self._access.front_proxy,
            clock=self._clock,
            dice=copy.copy(self._dice),
            event_lifetime=self._event_lifetime,
            service_ranges=self._service_ranges,
            node_ports=self._node_ports,
            enable_admission_plugins=self._plugins.enabled,
            disable_admission_plugins=self._plugins.disabled,
            kubelet=self._kubelet,
            kubelet_address_types=self._kubelet_address_types,
            snapshot=self.snapshot(),
        )

    def _in_loop(self, act: Callable[[], _T]) -> _T:
        """Do something to the store in the thread of its event loop, whichever thread asks."""
        loop = self._loop
        if loop is None or not loop.is_running() or self._thread == threading.get_ident():
            return act()

        async def acting() -> _T:
            return act()

        return asyncio.run_coroutine_threadsafe(acting(), loop).result()

    async def _listen(self) -> None:
        # aiohttp takes as long to import as everything else, and many servers never listen.
        from kubewright_apiserver.http import HttpServer

        assert self._certificates is not None
        self._http = HttpServer(self.app)
        service = str(ip_network(self._service_ranges[0])[1])
        hosts = {self._host, "127.0.0.1", "localhost", service, *_SERVICE_NAMES, *self._names}
        port = await self._http.listen(self._host, self._port, self._context(sorted(hosts)))
        self.url = f"https://{_reachable(self._host)}:{port}"
        self.app.engine.access.issuer.address = self.url.removeprefix("https://")
        if self._http_port is not None:
            port = await self._http.listen("127.0.0.1", self._http_port, None, ADMIN)
            self.http_url = f"http://127.0.0.1:{port}"

    def _context(self, hosts: Sequence[str]) -> ssl.SSLContext:
        assert self._certificates is not None
        proxy = self._access.front_proxy
        return self._certificates.context(hosts, proxies=proxy.authority if proxy is not None else b"")

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig of the administrator, readable by its owner alone; gone when the server stops."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kubewright-apiserver-")
        path = Path(self._folder.name, "kubeconfig")
        if not path.exists():
            self.write_kubeconfig(path)
        return path

    def write_kubeconfig(
        self, path: str | Path, user: str = ADMIN.name, groups: Sequence[str] = ("system:masters",)
    ) -> None:
        """Write a kubeconfig with a fresh client certificate of a user, readable by its owner alone."""
        if self._certificates is None or not self.url:
            raise RuntimeError("the API server does not listen, so there is nothing to connect to")
        pair = self._certificates.authority.issue_client(user, groups)
        document = _kubeconfig(self.url, self._certificates.shown, user, pair.certificate, pair.key)
        write_private(Path(path), yaml.safe_dump(document, sort_keys=False).encode())

    @classmethod
    @contextmanager
    def in_thread(cls, **options: Any) -> Iterator[Self]:
        """A server in a thread of its own, for blocking clients: ``with ApiServer.in_thread() as server``."""
        server = cls(**options)
        started: list[BaseException] = []
        ready, loop = threading.Event(), asyncio.new_event_loop()

        def run() -> None:
            asyncio.set_event_loop(loop)
            try:
                loop.run_until_complete(server.start())
            except BaseException as error:
                started.append(error)
                ready.set()
                return
            ready.set()
            loop.run_forever()
            loop.run_until_complete(server.stop())
            loop.run_until_complete(loop.shutdown_asyncgens())

        thread = threading.Thread(target=run, name="kubewright-apiserver", daemon=True)
        thread.start()
        ready.wait()
        try:
            if started:
                raise started[0]
            yield server
        finally:
            if not started:
                loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


def _network() -> Dialled:
    # aiohttp takes as long to import as everything else, and few are ever asked for a log.
    from kubewright_apiserver.dialling import Network

    return Network()


def _reachable(host: str) -> str:
    """The host of an address at which a server on that host is found from here."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _kubeconfig(url: str, authority: bytes, user: str, certificate: bytes, key: bytes) -> dict[str, Any]:
    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    cluster = {"server": url, "certificate-authority-data": encoded(authority)}
    credentials = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubewright", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "kubewright", "context": {"cluster": "kubewright", "user": user}}],
        "current-context": "kubewright",
    }

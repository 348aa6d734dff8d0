"""``ApiServer``: an API server as an object: started and stopped, in memory or on a file, with sockets or without."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from kubewright_apiserver.access import Authenticator, Authority, User, server_context
from kubewright_apiserver.app import Answer, App
from kubewright_apiserver.bootstrap import bootstrap, load_manifests
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.http import HttpServer
from kubewright_apiserver.registry import Registry
from kubewright_apiserver.store import Snapshot, SqliteLog, Store

__all__ = ["ApiServer"]

_ADMIN = User(name="kubernetes-admin", groups=("system:masters", "system:authenticated"))


class ApiServer:
    """A Kubernetes API server in this process.

    >>> async def look() -> str:
    ...     async with ApiServer() as server:
    ...         return server.url

    Without ``data`` objects live in memory; with it they are in that SQLite file too. ``listens=False`` opens no
    socket: requests come through ``handle``. ``http_port`` adds a port without TLS, on loopback, where everybody is
    the administrator. ``manifests`` are files or folders of YAML that are created at start. ``clock`` and ``dice``
    replace the wall clock and the source of chance; ``event_lifetime`` is how long Events are kept.
    """

    def __init__(
        self,
        *,
        data: str | Path | None = None,
        listens: bool = True,
        host: str = "127.0.0.1",
        port: int = 0,
        http_port: int | None = None,
        manifests: Sequence[str | Path] = (),
        runtime_config: Mapping[str, bool] | None = None,
        tokens: Mapping[str, User] | None = None,
        clock: Callable[[], datetime] | None = None,
        dice: random.Random | None = None,
        event_lifetime: timedelta = timedelta(hours=1),
    ) -> None:
        self._data = Path(data) if data is not None else None
        self._listens = listens
        self._host = host
        self._port = port
        self._http_port = http_port
        self._manifests = [Path(path) for path in manifests]
        self._runtime_config = runtime_config
        self._tokens = dict(tokens or {})
        self._clock = clock
        self._dice = dice
        self._event_lifetime = event_lifetime
        self._authority = Authority() if listens else None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._http: HttpServer | None = None
        self._app: App | None = None
        self._fresh: Snapshot | None = None
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
        store = Store(SqliteLog.open(self._data) if self._data is not None else None)
        engine = Engine(
            store,
            Registry(self._runtime_config),
            clock=self._clock,
            dice=self._dice,
            event_lifetime=self._event_lifetime,
        )
        engine.reload()
        self._app = App(engine)
        await bootstrap(self._app)
        await load_manifests(self._app, self._manifests)
        if self._data is None:
            self._fresh = store.snapshot()
        if self._listens:
            await self._listen()

    async def stop(self) -> None:
        """End every connection and close the store; an acknowledged write stays."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None
        if self._app is not None:
            await self._app.engine.expiry.stop()
            await self._app.engine.store.close()
            self._app = None
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
        """Answer a request as the administrator's, without any socket."""
        return await self.app.handle(method, target, headers, body, _ADMIN.name)

    def reset(self) -> None:
        """Forget everything that was done since the start; for tests, and in memory only."""
        if self._fresh is None:
            raise RuntimeError("only a server in memory can be reset; start one without data=")
        self.app.engine.store.restore(self._fresh)
        self.app.engine.reload()

    async def _listen(self) -> None:
        assert self._authority is not None
        self._http = HttpServer(self.app, Authenticator(self._tokens))
        hosts = {self._host, "127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"}
        pair = self._authority.issue_server(sorted(hosts))
        context = server_context(pair, self._authority.certificate)
        port = await self._http.listen(self._host, self._port, context)
        self.url = f"https://{self._host}:{port}"
        if self._http_port is not None:
            port = await self._http.listen("127.0.0.1", self._http_port, None, _ADMIN)
            self.http_url = f"http://127.0.0.1:{port}"

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
        self, path: str | Path, user: str = _ADMIN.name, groups: Sequence[str] = ("system:masters",)
    ) -> None:
        """Write a kubeconfig with a fresh client certificate of a user, readable by its owner alone."""
        if self._authority is None or not self.url:
            raise RuntimeError("the API server does not listen, so there is nothing to connect to")
        pair = self._authority.issue_client(user, groups)
        document = _kubeconfig(self.url, self._authority.certificate, user, pair.certificate, pair.key)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            yaml.safe_dump(document, file, sort_keys=False)

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

"""``Client``: the way to an API server, with every verb and subresource."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kubewright.api import Resource, decode
from kubewright.client.caller import Caller
from kubewright.client.discovery import Discovery
from kubewright.client.http import HttpTransport
from kubewright.client.lines import lines_of
from kubewright.client.options import Options
from kubewright.client.port_forward import FORWARD_PROTOCOLS, ForwardedPort
from kubewright.client.process import PROCESS_PROTOCOLS, Process
from kubewright.client.requests import Requests
from kubewright.client.retry import RateLimit, Retry
from kubewright.client.transport import Interceptor, Transport
from kubewright.client.verbs import Verbs
from kubewright.client.watch import Capabilities
from kubewright.config import Config

if TYPE_CHECKING:
    from kubewright.kinds.authentication_v1 import TokenRequest
    from kubewright.kinds.autoscaling_v1 import Scale

__all__ = ["Client"]

R = TypeVar("R", bound=Resource)


class Client(Verbs):
    """Talks to one Kubernetes API server.

    Without arguments it takes the current context of the kubeconfig, or the account of the pod that it runs in.

    >>> async def names() -> list[str]:
    ...     async with Client() as client:
    ...         return [pod.name async for pod in client.list(Pod)]

    ``transport`` replaces the network (see ``InProcessTransport``); ``interceptors`` stand around each attempt;
    ``retry`` and ``rate_limit`` say how patiently and how fast; ``options`` hold what all calls have in common.
    """

    def __init__(
        self,
        config: Config | None = None,
        *,
        transport: Transport | None = None,
        namespace: str | None = None,
        options: Options | None = None,
        interceptors: Sequence[Interceptor] = (),
        retry: Retry | None = None,
        rate_limit: RateLimit | None = None,
        dice: random.Random | None = None,
    ) -> None:
        if transport is None:
            config = config or Config.load()
            transport = HttpTransport(config)
        if options is None:
            options = Options(impersonate=config.impersonate if config else None)
        caller = Caller(transport, interceptors=interceptors, retry=retry, rate_limit=rate_limit, dice=dice)
        where = namespace or (config.namespace if config else "default")
        super().__init__(caller, Requests(Discovery(caller), where, options), Capabilities())

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections, of views of this client too."""
        await self._caller.aclose()

    @property
    def namespace(self) -> str:
        """Where namespaced objects are looked for when a call names no namespace."""
        return self._requests.namespace

    @property
    def options(self) -> Options:
        """What all calls of this client have in common."""
        return self._requests.options

    @property
    def discovery(self) -> Discovery:
        """What the API server serves."""
        return self._requests.discovery

    def using(self, *, namespace: str | None = None, **options: Any) -> Client:
        """A view of this client with another default namespace or other ``Options``, on the same connections.

        ``client.using(dry_run=True)`` tries writes without storing them.
        """
        changed = msgspec.structs.replace(self.options, **options)
        return self._view(self._caller, Requests(self.discovery, namespace or self.namespace, changed))

    def intercepted(self, *interceptors: Interceptor) -> Client:
        """A view of this client with further interceptors, on the same connections, retries and rate limit.

        They stand around those of this client, the first outermost: they see what the others make of an attempt.
        """
        return self._view(self._caller.intercepted(interceptors), self._requests)

    def _view(self, caller: Caller, requests: Requests) -> Client:
        view = object.__new__(Client)
        Verbs.__init__(view, caller, requests, self._capabilities)
        return view

    async def get_scale(self, kind: type[Resource], name: str, *, namespace: str | None = None) -> Scale:
        """How many replicas are wanted and found, for any kind with a scale subresource."""
        from kubewright.kinds.autoscaling_v1 import Scale

        request = await self._requests.read("get", kind, namespace, name, "scale")
        return decode(Scale, await self._caller.fetch(request))

    async def set_scale(self, kind: type[Resource], name: str, replicas: int, *, namespace: str | None = None) -> Scale:
        """Ask for a number of replicas, as ``kubectl scale`` does."""
        from kubewright.kinds.autoscaling_v1 import Scale

        body = msgspec.json.encode({"spec": {"replicas": replicas}})
        content = "application/merge-patch+json"
        request = await self._requests.write("patch", kind, namespace, name, "scale", body, content)
        return decode(Scale, await self._caller.fetch(request))

    async def evict(self, pod: Resource, *, grace: timedelta | None = None) -> None:
        """Delete a pod if its disruption budgets allow; raises ``TooManyRequests`` if they do not now."""
        options = self._delete_options(None, grace)
        if pod.metadata.uid:
            options["preconditions"] = {"uid": pod.metadata.uid}
        await self._post(pod, "eviction", "policy/v1", "Eviction", {"deleteOptions": options})

    async def bind(self, pod: Resource, node: str) -> None:
        """Place a pod on a node, as a scheduler does; raises ``Conflict`` if it has one already.

        A pod that was read must still be that very object (by uid).
        """
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        metadata = {"name": pod.name, "namespace": pod.namespace or self.namespace}
        if pod.metadata.uid:
            metadata["uid"] = pod.metadata.uid
        await self._post(pod, "binding", "v1", "Binding", {"metadata": metadata, "target": target})

    async def create_token(
        self,
        account: Resource,
        *,
        audiences: Sequence[str] = (),
        lifetime: timedelta = timedelta(hours=1),
    ) -> TokenRequest:
        """A token of a ServiceAccount; it is in ``status.token``."""
        from kubewright.kinds.authentication_v1 import TokenRequest

        spec = {"audiences": list(audiences), "expirationSeconds": int(lifetime.total_seconds())}
        answer = await self._post(account, "token", "authentication.k8s.io/v1", "TokenRequest", {"spec": spec})
        return decode(TokenRequest, answer)

    async def _post(
        self, obj: Resource, subresource: str, api_version: str, kind: str, content: dict[str, Any]
    ) -> bytes:
        metadata = {"name": obj.name, "namespace": obj.namespace or self.namespace}
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
        request = await self._requests.write(
            "create", type(obj), obj.namespace or None, obj.name, subresource, msgspec.json.encode(document)
        )
        return await self._caller.fetch(request)

    @asynccontextmanager
    async def logs(
        self,
        pod: Resource,
        *,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        tail: int | None = None,
        since: timedelta | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[AsyncIterator[str]]:
        """The lines that a container printed, to be iterated over: ``async with client.logs(pod) as lines``.

        ``follow`` goes on with what it prints from now on; ``previous`` reads the container before its last restart.
        """
        query: dict[str, Any] = {"container": container, "tailLines": tail}
        query |= {"follow": follow or None, "previous": previous or None, "timestamps": timestamps or None}
        query["sinceSeconds"] = max(1, int(since.total_seconds())) if since is not None else None
        asked = {key: "true" if value is True else value for key, value in query.items() if value is not None}
        request = await self._requests.read("get", type(pod), pod.namespace or None, pod.name, "log", asked)
        request.streaming = True
        response = await self._caller.open(request)
        try:
            assert response.stream is not None
            yield _text_lines(response.stream)
        finally:
            await response.aclose()

    @asynccontextmanager
    async def exec(
        self,
        pod: Resource,
        command: Sequence[str],
        *,
        container: str | None = None,
        stdin: bool = False,
        tty: bool = False,
    ) -> AsyncIterator[Process]:
        """Run a command in a container: ``async with client.exec(pod, ["ls"]) as process: await process.wait()``."""
        query = [("command", word) for word in command]
        async with await self._process(pod, "exec", container, stdin, tty, query) as process:
            yield process

    @asynccontextmanager
    async def attach(
        self, pod: Resource, *, container: str | None = None, stdin: bool = False, tty: bool = False
    ) -> AsyncIterator[Process]:
        """Attach to the main command of a container."""
        async with await self._process(pod, "attach", container, stdin, tty, []) as process:
            yield process

    async def _process(
        self, pod: Resource, verb: str, container: str | None, stdin: bool, tty: bool, query: list[tuple[str, str]]
    ) -> Process:
        query += [("stdout", "true"), ("stdin", str(stdin).lower()), ("tty", str(tty).lower())]
        if not tty:
            query.append(("stderr", "true"))
        if container:
            query.append(("container", container))
        request = await self._requests.read("connect", type(pod), pod.namespace or None, pod.name, verb, query)
        return Process(await self._caller.transport.connect(request, PROCESS_PROTOCOLS))

    @asynccontextmanager
    async def port_forward(self, pod: Resource, port: int) -> AsyncIterator[ForwardedPort]:
        """A connection to a port of a pod: ``async with client.port_forward(pod, 80) as connection``."""
        query = [("ports", str(port))]
        place = (pod.namespace or None, pod.name, "portforward", query)
        request = await self._requests.read("connect", type(pod), *place)
        socket = await self._caller.transport.connect(request, FORWARD_PROTOCOLS)
        async with ForwardedPort(socket, port) as connection:
            yield connection


async def _text_lines(stream: AsyncIterator[bytes]) -> AsyncIterator[str]:
    async for line in lines_of(stream):
        yield line.decode("utf-8", "replace")

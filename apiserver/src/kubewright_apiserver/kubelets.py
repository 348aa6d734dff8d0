"""``Kubelets``: the way to the nodes, for logs, exec, attach and port-forward.

By HTTPS to the address that a Node tells, as kube-apiserver goes; or to one handler in this process that stands for the
kubelets of all nodes, in the event loop and the time of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from kubewright_apiserver.answer import Answer, Socket

__all__ = ["ADDRESS_TYPES", "Dialled", "Kubelet", "Kubelets", "Unreachable"]

ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""Which of a node's addresses is taken: the first of these types that it has."""


class Unreachable(Exception):
    """Nobody listens where a kubelet should; the text is what Go says of that."""


class Kubelet(Protocol):
    """A kubelet on plain types: ``/containerLogs``, ``/exec``, ``/attach`` and ``/portForward``.

    The header ``Host`` is the host and port that the node told. One that does not answer raises ``TimeoutError``.
    """

    async def handle(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        """Answer a request."""
        ...

    async def connect(
        self, target: str, headers: Sequence[tuple[str, str]], subprotocols: Sequence[str]
    ) -> Socket | Answer:
        """A WebSocket that speaks one of the subprotocols, or the answer that says why not."""
        ...


class Dialled(Kubelet, Protocol):
    """Kubelets at the other end of connections."""

    async def aclose(self) -> None:
        """End all connections."""
        ...


class Kubelets:
    """Reaches kubelets: the one that is given; or those that ``dial`` makes reachable; or else none."""

    def __init__(
        self,
        kubelet: Kubelet | None = None,
        *,
        dial: Callable[[], Dialled] | None = None,
        address_types: Sequence[str] = ADDRESS_TYPES,
    ) -> None:
        self._kubelet = kubelet
        self._dial = dial
        self._dialled: Dialled | None = None
        self.address_types: tuple[str, ...] = tuple(address_types)
        """Which of a node's addresses is taken: the first of these types that it has."""

    async def fetch(self, host: str, target: str) -> Answer:
        """What the kubelet at a host and port answers; raises ``Unreachable``."""
        try:
            return await self._reach(host).handle("GET", target, [("Host", host)], b"")
        except TimeoutError:
            raise _silent(host) from None

    async def connect(self, host: str, target: str, subprotocols: Sequence[str]) -> Socket | Answer:
        """A WebSocket to the kubelet at a host and port, or its refusal; raises ``Unreachable``."""
        try:
            return await self._reach(host).connect(target, [("Host", host)], subprotocols)
        except TimeoutError:
            raise _silent(host) from None

    def _reach(self, host: str) -> Kubelet:
        if self._kubelet is not None:
            return self._kubelet
        if self._dialled is None:
            if self._dial is None:
                raise Unreachable(f"dial tcp {host}: connect: connection refused")
            self._dialled = self._dial()
        return self._dialled

    async def aclose(self) -> None:
        """End all connections."""
        if self._dialled is not None:
            await self._dialled.aclose()
            self._dialled = None


def _silent(host: str) -> Unreachable:
    return Unreachable(f"dial tcp {host}: i/o timeout")

"""``listening``: the kubelets' door on a socket: HTTPS on loopback, with a certificate that nobody needs to know.

Who asks is not asked: what can be had there is simulated, and the port is open to this machine only.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kubewright.api import now
from kubewright.cluster import Cluster
from kubewright.controlplane.kubelet_door.door import Answer, KubeletDoor
from kubewright.controlplane.kubelet_door.wire import WireEnd
from kubewright.controlplane.loop import Loop
from kubewright.operator import Background

if TYPE_CHECKING:
    from aiohttp import web

__all__ = ["ListeningDoor"]


class ListeningDoor:
    """A door that listens while its ``loop`` runs. Its ``port`` is known at once, so that Nodes can tell it."""

    def __init__(self, door: KubeletDoor, *, port: int = 0) -> None:
        self._door = door
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]

    def loop(self) -> Loop:
        """What listens, to run beside the kubelet's loop."""
        inner = self._door.loop()
        return Loop(inner.name, background=[*inner.background, Background(self._listen)])

    async def _listen(self, cluster: Cluster) -> None:
        from aiohttp import web

        runner = web.ServerRunner(web.Server(self._serve, handler_cancellation=True), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.SockSite(runner, self._socket.dup(), ssl_context=_context()).start()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        from aiohttp import web

        try:
            return await self._handle(request)
        except TimeoutError:
            # A node that is lost says nothing at all.
            if request.transport is not None:
                request.transport.abort()
            return web.Response()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = list(request.headers.items())
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return await _answer(request, await self._door.handle(request.method, request.raw_path, headers, b""))
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        found = await self._door.connect(request.raw_path, headers, offered)
        return await (_relay(request, found) if isinstance(found, WireEnd) else _answer(request, found))


async def _answer(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    from aiohttp import web

    status, headers, chunks = answer
    response = web.StreamResponse(status=status, headers=dict(headers))
    iterator = aiter(chunks)
    try:
        await response.prepare(request)
        async for chunk in iterator:
            if chunk:
                await response.write(chunk)
        await response.write_eof()
    except ConnectionError:
        pass  # Nobody reads on.
    finally:
        close: Callable[[], Awaitable[None]] | None = getattr(iterator, "aclose", None)
        if close is not None:
            await close()
    return response


async def _relay(request: web.BaseRequest, wire: WireEnd) -> web.StreamResponse:
    """Carry messages both ways until one side ends."""
    from aiohttp import web

    response = web.WebSocketResponse(protocols=(wire.subprotocol,), max_msg_size=0, compress=False, timeout=1.0)
    try:
        await response.prepare(request)
        both = [asyncio.create_task(_inward(response, wire)), asyncio.create_task(_outward(response, wire))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        await response.close()
    finally:
        await wire.aclose()
    return response


async def _inward(response: web.WebSocketResponse, wire: WireEnd) -> None:
    from aiohttp import WSMsgType

    async for message in response:
        if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
            data = message.data
            await wire.send(data.encode() if isinstance(data, str) else data)


async def _outward(response: web.WebSocketResponse, wire: WireEnd) -> None:
    while (message := await wire.receive()) is not None:
        await response.send_bytes(message)


def _context() -> ssl.SSLContext:
    certificate, key = _self_signed(("localhost", "127.0.0.1"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory(prefix="kubewright-kubelet-") as folder:
        file = Path(folder, "pair.pem")
        file.touch(mode=0o600)
        file.write_bytes(certificate + key)
        context.load_cert_chain(file)
    return context


def _self_signed(names: Sequence[str]) -> tuple[bytes, bytes]:
    """A fresh certificate and its key, in PEM."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubelet")])
    others: list[x509.GeneralName] = [
        x509.IPAddress(ip_address(one)) if one[0].isdigit() else x509.DNSName(one) for one in names
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now() - timedelta(days=1))
        .not_valid_after(now() + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName(others), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), private

"""``relay``: messages between a client's WebSocket and the other end of an upgraded answer."""

from __future__ import annotations

import asyncio

from aiohttp import WSMsgType, web

from kubewright_apiserver.answer import Upgraded

__all__ = ["relay"]


async def relay(request: web.BaseRequest, upgraded: Upgraded) -> web.StreamResponse:
    """Carry messages both ways until one of both ends."""
    protocols = (upgraded.subprotocol,) if upgraded.subprotocol else ()
    response = web.WebSocketResponse(protocols=protocols, max_msg_size=0, compress=False, timeout=1.0)
    try:
        await response.prepare(request)
        both = [asyncio.create_task(_inward(response, upgraded)), asyncio.create_task(_outward(response, upgraded))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)
        await response.close()
    except web.HTTPException as refused:
        # What came was no WebSocket's greeting.
        return web.Response(status=refused.status, text=refused.text)
    finally:
        await upgraded.aclose()
    return response


async def _inward(response: web.WebSocketResponse, upgraded: Upgraded) -> None:
    async for message in response:
        if message.type is WSMsgType.BINARY:
            await upgraded.send(message.data)
        elif message.type is WSMsgType.TEXT:
            await upgraded.send(message.data.encode())


async def _outward(response: web.WebSocketResponse, upgraded: Upgraded) -> None:
    while (message := await upgraded.receive()) is not None:
        await response.send_bytes(message)

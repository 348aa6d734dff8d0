"""Lines out of chunks: how watches and logs are framed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kubewright.errors import ProtocolError

__all__ = ["lines_of"]

_LONGEST: Final = 256 << 20


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines in the chunks without their ends, empty ones left out, and what follows the last line's end."""
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            line = b"".join((*pending, part)) if pending else part
            pending, size = [], 0
            if line:
                yield line
        if rest:
            pending.append(rest)
            size += len(rest)
            if size > _LONGEST:
                raise ProtocolError(f"the server sent a line of more than {_LONGEST >> 20} MiB")
    if pending:
        yield b"".join(pending)

"""Lines out of chunks: how watches and logs are framed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kubewright.errors import ProtocolError

__all__ = ["line_batches_of", "lines_of"]

_LONGEST: Final = 256 << 20


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines in the chunks without their ends, empty ones left out, and what follows the last line's end."""
    async for lines in line_batches_of(chunks, whole=False):
        for line in lines:
            yield line


async def line_batches_of(chunks: AsyncIterator[bytes], *, whole: bool = True) -> AsyncIterator[list[bytes]]:
    """The same lines, in a list for each chunk in which some ended.

    *Raises* ``ProtocolError`` if the chunks stop in the middle of a line, unless lines need not be ``whole``.
    """
    pending: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        if complete:
            complete[0] = b"".join((*pending, complete[0]))
            pending, size = [], 0
            yield [line for line in complete if line]
        if rest:
            pending.append(rest)
            size += len(rest)
            if size > _LONGEST:
                raise ProtocolError(f"the server sent a line of more than {_LONGEST >> 20} MiB")
    if pending and whole:
        raise ProtocolError("the server stopped in the middle of a line")
    if pending:
        yield [b"".join(pending)]

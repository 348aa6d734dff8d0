"""Lines out of chunks: how watches and logs are framed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kubewright.errors import ProtocolError

__all__ = ["Lines", "lines_of"]

_LONGEST: Final = 256 << 20


class Lines:
    """Puts lines together from the chunks in which they come."""

    __slots__ = ("_pending", "_size")

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._size = 0

    def take(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk ends, without their ends; some may be empty.

        Raises ``ProtocolError`` for a line that does not end for too long.
        """
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines and self._pending:
            lines[0] = b"".join((*self._pending, lines[0]))
            self._pending, self._size = [], 0
        if rest:
            self._pending.append(rest)
            self._size += len(rest)
            if self._size > _LONGEST:
                raise ProtocolError(f"the server sent a line of more than {_LONGEST >> 20} MiB")
        return lines

    @property
    def rest(self) -> bytes:
        """What came after the last line's end."""
        return b"".join(self._pending)


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines in the chunks without their ends, empty ones left out, and what follows the last line's end."""
    lines = Lines()
    async for chunk in chunks:
        for line in filter(None, lines.take(chunk)):
            yield line
    if lines.rest:
        yield lines.rest

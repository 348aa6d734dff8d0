"""``Decoder``: messages of built-in types as the JSON that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright_apiserver.protobuf.canonical import CanonicalReader
from kubewright_apiserver.protobuf.exact import ExactReader
from kubewright_apiserver.protobuf.leaves import leaves

__all__ = ["Decoder"]

# Writing the functions that read a pod takes as long as reading a hundred pods without them.
_OFTEN: Final = 5


class Decoder:
    """Reads messages. ``read_quantity`` gives the canonical text of a quantity, or raises a ``ValueError``."""

    def __init__(self, read_quantity: Callable[[str], str]) -> None:
        self._exact = ExactReader(leaves(read_quantity))
        self._canonical = CanonicalReader(self._exact)
        self._seen: dict[str, int] = {}

    def decode(self, definition: str, data: bytes) -> dict[str, Any]:
        """The object in a message of a definition, without its kind and version.

        Values that Go leaves out when they are empty are left out.

        Raises ``ValueError`` in Go's words, ``KeyError`` for a definition that has no protobuf form.
        """
        seen = self._seen.get(definition, 0)
        if seen >= _OFTEN:
            try:
                return self._canonical.read(definition, data)
            except (IndexError, ValueError):
                return self._read_exactly(definition, data)
        found = self._read_exactly(definition, data)
        self._seen[definition] = seen + 1
        return found

    def _read_exactly(self, definition: str, data: bytes) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._exact.read(definition, found, data, 0, len(data))
        return found

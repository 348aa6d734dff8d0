"""Namespaces that end while something is made in them: no failure, for what would be made would end too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubewright.errors import Forbidden

__all__ = ["unless_terminating"]


@contextmanager
def unless_terminating() -> Iterator[None]:
    """Leave the block quietly if the server refuses to create in a namespace that is being deleted."""
    try:
        yield
    except Forbidden as error:
        if not any(cause.reason == "NamespaceTerminating" for cause in error.causes):
            raise

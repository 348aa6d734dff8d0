"""Acting as someone else: the ``as`` fields of a kubeconfig user, as request headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["Impersonation"]

_UNFIT_FOR_A_NAME: Final = re.compile(rb"[^!#$&'*+.^_`|~0-9A-Za-z-]")


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as; the API server checks that the credentials may."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self) -> list[tuple[str, str]]:
        """The request headers, of which some may occur several times."""
        found = [("Impersonate-User", self.user)]
        if self.uid:
            found.append(("Impersonate-Uid", self.uid))
        found += [("Impersonate-Group", group) for group in self.groups]
        for key, values in self.extra.items():
            found += [(f"Impersonate-Extra-{_escaped(key)}", value) for value in values]
        return found


def _escaped(key: str) -> str:
    """The key with percent signs and all that a header name cannot hold written as %XX, as the API server reads it."""
    return _UNFIT_FOR_A_NAME.sub(lambda found: b"%%%02X" % found.group()[0], key.encode()).decode("ascii")

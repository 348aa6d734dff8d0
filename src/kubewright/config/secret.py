"""Keeping secrets out of messages, logs and pickles; every part of the configuration that holds one builds on this."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NoReturn

__all__ = ["Secretive", "masked"]

_MASK: Final = "…"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_TOKEN: Final = re.compile(r"eyJ[\w-]{8,}(\.[\w-]*)*|k8s-aws-v1\.[\w-]+")
_NAMED: Final = re.compile(
    r"""((?:token|password|passwd|secret|credential|key)["']?\s*[:=]\s*["']?|bearer\s+|basic\s+)[^\s"',;]{8,}""",
    re.IGNORECASE,
)


class Secretive:
    """Something that holds a secret: its ``repr`` shows none, and it refuses to be pickled."""

    __slots__ = ()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds secrets and cannot be pickled; build it where it is used")


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """What another program said, with the given secrets and all that looks like one blotted out.

    Control characters go too: they could play tricks with a terminal.
    """
    text = _CONTROL.sub("", text)
    for secret in secrets:
        if secret:
            text = text.replace(secret, _MASK)
    return _NAMED.sub(rf"\g<1>{_MASK}", _TOKEN.sub(_MASK, text))

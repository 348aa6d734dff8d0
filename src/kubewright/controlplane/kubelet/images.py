"""Images: how a container runtime names them, and when it tries again to pull one that it cannot get."""

from __future__ import annotations

import hashlib
import zlib
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kubewright.controlplane.kubelet.behaviour import Behaviour

__all__ = ["Pull", "back_off", "image_id", "image_size", "pull_at", "reference"]

_FIRST: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(minutes=5)
_SHOWN: Final = timedelta(seconds=1)
_MOST_DOUBLINGS: Final = 5


def reference(image: str) -> str:
    """The full name of an image: ``nginx`` is ``docker.io/library/nginx:latest``."""
    name, at, digest = image.partition("@")
    first, slash, _ = name.partition("/")
    if not slash:
        name = f"docker.io/library/{name}"
    elif "." not in first and ":" not in first and first != "localhost":
        name = f"docker.io/{name}"
    if not digest and ":" not in name.rpartition("/")[2]:
        name = f"{name}:latest"
    return f"{name}{at}{digest}"


def image_id(image: str) -> str:
    """What a container runtime knows an image by: its repository and the digest of what it holds."""
    name = reference(image)
    if "@" in name:
        return name
    repository = name.rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(name.encode()).hexdigest()}"


def image_size(image: str) -> int:
    """How many bytes an image is said to have; always the same."""
    return 1_000_000 + zlib.crc32(reference(image).encode()) % 100_000_000


def back_off(failures: int) -> timedelta:
    """How long to wait after so many failures in a row: ten seconds, then twice as long, up to five minutes."""
    if failures <= 0:
        return timedelta(0)
    return min(_FIRST * (1 << min(failures - 1, _MOST_DOUBLINGS)), _LONGEST)


class Pull(NamedTuple):
    """A pull that fails: what is to be seen of it, and when that changes."""

    error: str
    is_trying: bool
    until: datetime


def pull_at(image: str, behaviour: Behaviour, begin: datetime, now: datetime) -> Pull | datetime:
    """How the pulling of an image stands now, begun then: still failing, or the moment when it succeeded."""
    if behaviour.image_pull_error is None:
        return begin
    attempt, failures = begin, 0
    while behaviour.image_pull_failures is None or failures < behaviour.image_pull_failures:
        failures += 1
        following = attempt + back_off(failures)
        if now < following:
            is_trying = now < attempt + _SHOWN
            until = attempt + _SHOWN if is_trying else following
            return Pull(_error(image, behaviour.image_pull_error), is_trying, until)
        attempt = following
    return attempt


def _error(image: str, text: str) -> str:
    if text not in ("true", ""):
        return text
    name = reference(image)
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{name}": '
        f'failed to resolve reference "{name}": {name}: not found'
    )

"""The parts of objects with addresses of their own: status, scale, binding, eviction, ephemeral containers, …"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kubewright_apiserver.registry import Subresource
from kubewright_apiserver.verbs.binding import bind_pod
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.connecting import connect, proxy, read_log
from kubewright_apiserver.verbs.eviction import evict_pod
from kubewright_apiserver.verbs.patching import patch_object
from kubewright_apiserver.verbs.reading import get_object
from kubewright_apiserver.verbs.scaling import get_scale, patch_scale, update_scale
from kubewright_apiserver.verbs.token import request_token
from kubewright_apiserver.verbs.updating import update_object

__all__ = ["subresource_verb"]

Verb = Callable[[Call], Awaitable[Reply]]

_CONNECTED: Final[Mapping[str, Verb]] = {"GET": connect, "POST": connect}
_PARTS: Final[Mapping[str, Mapping[str, Verb]]] = {
    "scale": {"GET": get_scale, "PUT": update_scale, "PATCH": patch_scale},
    "binding": {"POST": bind_pod},
    "eviction": {"POST": evict_pod},
    "token": {"POST": request_token},
    "log": {"GET": read_log},
    "exec": _CONNECTED,
    "attach": _CONNECTED,
    "portforward": _CONNECTED,
    "proxy": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), proxy),
}
_WHOLE: Final[Mapping[str, tuple[str, Verb]]] = {
    "GET": ("get", get_object),
    "PUT": ("update", update_object),
    "PATCH": ("patch", patch_object),
}


def subresource_verb(method: str, name: str, part: Subresource) -> Verb | None:
    """The verb that a method means on a part, or None if it has none such."""
    own = _PARTS.get(name)
    if own is not None:
        return own.get(method)
    found = _WHOLE.get(method)
    return found[1] if found is not None and found[0] in part.verbs else None

"""Whether an object already is what an intent states, told from the fields that its author owns.

Server-side apply of such an intent would change nothing, so it need not be sent.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.api import same

__all__ = ["is_fulfilled"]

_IDENTITY: Final = frozenset({"apiVersion", "kind"})
_NOT_OWNED: Final = frozenset({"name", "namespace", "uid", "resourceVersion"})
_ABSENT: Final = object()


def is_fulfilled(intent: dict[str, Any], live: dict[str, Any], manager: str) -> bool:
    """Whether ``manager`` owns by apply exactly the fields that ``intent`` states, and ``live`` has their values."""
    owned = _owned_by_apply(live, manager)
    if owned is None:
        return False
    stated = {key: value for key, value in intent.items() if key not in _IDENTITY}
    metadata = {key: value for key, value in (stated.get("metadata") or {}).items() if key not in _NOT_OWNED}
    stated.pop("metadata", None)
    if not stated.get("status", True) and "f:status" not in owned:
        # A typed object states an empty status; where that is a subresource the server drops it from an apply.
        del stated["status"]
    if metadata:
        stated["metadata"] = metadata
    return _matches(stated, live, owned)


def _owned_by_apply(live: dict[str, Any], manager: str) -> dict[str, Any] | None:
    for entry in live.get("metadata", {}).get("managedFields") or ():
        if entry.get("manager") == manager and entry.get("operation") == "Apply" and not entry.get("subresource"):
            fields: dict[str, Any] = entry.get("fieldsV1") or {}
            return fields
    return None


def _matches(stated: Any, live: Any, owned: dict[str, Any]) -> bool:
    if live is _ABSENT:
        return False
    if not owned or owned.keys() == {"."}:
        return same(stated, live)
    if isinstance(stated, dict):
        return isinstance(live, dict) and _map_matches(stated, live, owned)
    if isinstance(stated, list):
        return isinstance(live, list) and _list_matches(stated, live, owned)
    return False


def _map_matches(stated: dict[str, Any], live: dict[str, Any], owned: dict[str, Any]) -> bool:
    names = {name.removeprefix("f:") for name in owned if name != "."}
    if names != stated.keys():
        return False
    return all(_matches(value, live.get(name, _ABSENT), owned[f"f:{name}"]) for name, value in stated.items())


def _list_matches(stated: list[Any], live: list[Any], owned: dict[str, Any]) -> bool:
    """Lists whose items are owned one by one: by keys (``k:``) or by value (``v:``)."""
    paths = [path for path in owned if path != "."]
    if len(paths) != len(stated):
        return False
    for path in paths:
        mark, _, text = path.partition(":")
        wanted = msgspec.json.decode(text)
        if mark == "v":
            if wanted not in stated or wanted not in live:
                return False
            continue
        if mark != "k":
            return False
        mine, theirs = _item(stated, wanted), _item(live, wanted)
        if mine is _ABSENT or not _matches(mine, theirs, owned[path]):
            return False
    return True


def _item(items: list[Any], keys: dict[str, Any]) -> Any:
    """The one item with those keys; a key that the item leaves out is one that the server has defaulted."""
    found = [
        item
        for item in items
        if isinstance(item, dict) and all(item.get(key, value) == value for key, value in keys.items())
    ]
    return found[0] if len(found) == 1 else _ABSENT

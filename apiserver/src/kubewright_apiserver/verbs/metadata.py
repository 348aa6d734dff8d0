"""What the server does to the metadata of objects: stamps, names, owners."""

from __future__ import annotations

from typing import Any, Final

import orjson

from kubewright_apiserver.engine import Engine
from kubewright_apiserver.status import bad_request, internal_error
from kubewright_apiserver.verbs.call import Call

__all__ = ["check_name", "check_new", "check_place", "merge_owners", "name_generated", "read_version", "stamp", "wipe"]

_MOST_DIGITS: Final = 20

_LONGEST_PREFIX = 58


def check_name(name: str) -> None:
    """Refuse a name in an address that could never be one."""
    if name in (".", ".."):
        why = f"may not be '{name}'"
    elif "%" in name:
        why = "may not contain '%'"
    else:
        return
    raise bad_request(f'Name parameter invalid: "{name}": {why}')


def check_place(call: Call, obj: dict[str, Any], *, name: str) -> None:
    """Refuse an object whose name or namespace is not that of the address; an absent namespace is filled in."""
    metadata = obj["metadata"]
    if name:
        found = metadata.get("name", "")
        if not found:
            raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
        if found != name:
            raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")
    wanted = call.address.namespace
    if not call.served.namespaced:
        metadata.pop("namespace", None)
        return
    found = metadata.get("namespace", "")
    if found and found != wanted:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = wanted


def name_generated(engine: Engine, metadata: dict[str, Any]) -> bool:
    """Give an object that has only a prefix a name; tell whether it was needed."""
    prefix = metadata.get("generateName", "")
    if metadata.get("name") or not prefix:
        return False
    metadata["name"] = prefix[:_LONGEST_PREFIX] + engine.suffix()
    return True


def read_version(text: str) -> int:
    """The resourceVersion in an object as a number, 0 if there is none; refuses what is none, as the server's fault."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise internal_error(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    if int(text) >> 64:
        raise internal_error(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def stamp(engine: Engine, metadata: dict[str, Any], *, has_generation: bool) -> None:
    """Set what only the server sets on a new object."""
    metadata["uid"] = engine.new_uid()
    metadata["creationTimestamp"] = engine.timestamp()
    if has_generation:
        metadata["generation"] = 1


def wipe(metadata: dict[str, Any]) -> str:
    """Drop from a new object what only the server sets; the resourceVersion that it said it had, for ``check_new``."""
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid", "creationTimestamp"):
        metadata.pop(key, None)
    said: str = metadata.pop("resourceVersion", "") or ""
    return said


def check_new(version: str) -> None:
    """Refuse to store a new object that said it had a version; what is no number says nothing."""
    digits = version.lstrip("0") if version.isascii() and version.isdigit() else ""
    if digits and len(digits) <= _MOST_DIGITS and int(digits) < 2**64:
        raise internal_error("resourceVersion should not be set on objects to be created")


def merge_owners(call: Call, metadata: dict[str, Any]) -> None:
    """Keep one of each owner reference, and warn if there were more."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: dict[bytes, Any] = {}
    twice = ""
    for owner in owners:
        if kept.setdefault(orjson.dumps(owner, option=orjson.OPT_SORT_KEYS), owner) is not owner:
            twice = twice or owner["uid"]
    if len(kept) < len(owners):
        metadata["ownerReferences"] = list(kept.values())
        when = " after mutating admission happens" if call.method == "PATCH" else ""
        call.warnings.append(
            f".metadata.ownerReferences contains duplicate entries{when}; "
            "API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
            f"please fix your requests; duplicate UID(s) observed: {twice}"
        )

"""Queries and headers, right and wrong."""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any, Final
from urllib.parse import quote

__all__ = ["ACCEPTED", "TYPES", "query", "written"]

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
ACCEPTED: Final = (
    *(_JSON,) * 60,
    "",
    "*/*",
    "application/yaml",
    _PROTOBUF,
    f"{_PROTOBUF},{_JSON}",
    f"{_JSON};as=Table;v=v1;g=meta.k8s.io",
    f"{_JSON};as=Table;v=v1;g=meta.k8s.io,{_JSON}",
    f"{_JSON};as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    f"{_JSON};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    f"{_JSON};as=Table;v=v2;g=meta.k8s.io",
    f"{_JSON};q=0.5, text/html",
    "text/html",
    "application/cbor",
    ";;",
    "application/json;",
    'a/b;c="',
)
"""What a client may take."""

TYPES: Final = (
    _JSON,
    "application/yaml",
    _PROTOBUF,
    "text/plain",
    "application/cbor",
    f"{_JSON}; charset=utf-8",
    f"{_JSON};a=b;a=c",
    "application/JSON",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    ";",
    "",
    "multipart/form-data",
)
"""What a body may say that it is."""

# How often to ask for the future: the server waits three seconds for it.
_PATIENT: Final = 0.0005
_NUMBERS: Final = ("0", "1", "2", "-1", "5", "1.5", "", "x", "9223372036854775807", "9223372036854775808", "+1", "1_0")
_FLAGS: Final = ("true", "false", "1", "0", "", "x", "TRUE", "t")


def _token(dice: Random) -> str:
    start: Any = dice.choice(("fuzz/a\0", "/a\0", "a\0", "", "/", "../a", 5, None))
    revision: Any = dice.choice((-1, 0, 1, 5, 2**63, "1"))
    right = {"v": "meta.k8s.io/v1", "rv": revision, "start": start}
    document: Any = dice.choice((right, right, {}, [], None, "x"))
    text = base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
    return dice.choice((text, text, text[:-1], text + "=", "x", "***"))


_VALUES: Final[dict[str, tuple[str, ...]]] = {
    "pretty": _FLAGS,
    "dryRun": ("All", "All", "All", "all", "", "None", "x"),
    "fieldManager": ("m", "n", "", "x" * 128, "x" * 129, "ü" * 64, "ü" * 65, "a\tb", "a b", "\u200b"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "strict", "", "x"),
    "force": _FLAGS,
    "gracePeriodSeconds": _NUMBERS,
    "propagationPolicy": ("Orphan", "Background", "Foreground", "x", ""),
    "orphanDependents": _FLAGS,
    "ignoreStoreReadErrorWithClusterBreakingPotential": _FLAGS,
    "limit": _NUMBERS,
    "timeoutSeconds": ("1", "0", "-1", "x", "", "1.5"),
    "timeout": ("1s", "x", "1", "", "-1s", "1h", "1ns1"),
    "resourceVersion": ("0", "1", "5", "-1", "x", "", "18446744073709551616", "1.0"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "sendInitialEvents": _FLAGS,
    "allowWatchBookmarks": _FLAGS,
    "includeObject": ("None", "Metadata", "Object", "x", ""),
    "labelSelector": (
        "a=b",
        "a==b",
        "a!=b",
        "a",
        "!a",
        "a in (b,c)",
        "a notin (b)",
        "a in ()",
        "a in (b",
        "a>1",
        "a<x",
        "a=b,",
        ",",
        "a b",
        "a=b=c",
        "=",
        "ü=1",
        "a" * 64,
        "a/b/c=1",
        "(" * 50,
        "a in (" + "b," * 500 + "b)",
        "",
    ),
    "fieldSelector": (
        "metadata.name=a",
        "metadata.name!=a",
        "metadata.namespace=default",
        "status.phase=Running",
        "spec.nodeName=",
        "type=x",
        "a=b",
        "metadata.name",
        "metadata.name=a,metadata.name=b",
        "metadata.name=\\,",
        "metadata.name=a\\",
        "=",
        "",
    ),
    "container": ("a", "x", ""),
    "tailLines": _NUMBERS,
    "unknown": ("x",),
}
_WRITES: Final = ("dryRun", "fieldManager", "fieldValidation", "pretty", "timeout", "unknown")
_DELETES: Final = (
    "dryRun",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "resourceVersion",
    "labelSelector",
    "fieldSelector",
    "limit",
)
_LISTS: Final = (
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "labelSelector",
    "fieldSelector",
    "timeoutSeconds",
    "timeout",
    "pretty",
    "includeObject",
    "continue",
)
_WATCHES: Final = ("sendInitialEvents", "allowWatchBookmarks", *_LISTS)
_BY_VERB: Final = {
    "write": _WRITES,
    "apply": (*_WRITES, "force"),
    "delete": _DELETES,
    "get": ("resourceVersion", "pretty", "includeObject", "timeout", "container", "tailLines"),
    "list": _LISTS,
    "watch": _WATCHES,
}


def query(verb: str, dice: Random) -> dict[str, str]:
    """Some parameters such as a verb takes, seldom with a value that is right."""
    names = _BY_VERB[verb]
    chosen = dice.sample(names, dice.choice((0, 0, 1, 1, 2, 3)))
    if dice.random() < 0.03:
        chosen.append(dice.choice(list(_VALUES)))
    found = {name: _token(dice) if name == "continue" else dice.choice(_VALUES[name]) for name in chosen}
    if verb in ("get", "list") and dice.random() < _PATIENT:
        found["resourceVersion"] = "99999999"
    return found


def written(parameters: dict[str, str], dice: Random) -> str:
    """The parameters as a URL has them; sometimes with what does not belong there."""
    text = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
    if dice.random() < 0.03:
        text += dice.choice(("&", "&&", "&=", "&a;b", "&%zz=1", "&a=%", "&a=%00", "?", "&limit=1&limit=2"))
    return f"?{text}" if text else ""

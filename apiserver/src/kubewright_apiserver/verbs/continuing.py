"""Continue tokens: where the next page of a list begins."""

from __future__ import annotations

import base64
import json
import posixpath
import re
from typing import Final

from kubewright_apiserver.json_tree import MalformedJson, read_json, read_tree
from kubewright_apiserver.schema.go_types import GoField, GoType
from kubewright_apiserver.schema.mismatch import Undecodable, read_strictly
from kubewright_apiserver.status import Refusal, bad_request

__all__ = ["continue_token", "read_token"]

_VERSION: Final = "meta.k8s.io/v1"
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9_\r\n-]")


def _token_type() -> GoType:
    text, number = GoType("string", "string"), GoType("int", "int64")
    token = GoType("struct", "storage.continueToken", "continueToken")
    token.declare({name: GoField(type, False, "", ()) for name, type in (("v", text), ("rv", number), ("start", text))})
    return token


_TOKEN: Final = _token_type()


def continue_token(rev: int, last_key: str) -> str:
    """The token of the page after this key; the server's own notation."""
    document = json.dumps({"v": _VERSION, "rv": rev, "start": f"/{last_key}\x00"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).rstrip(b"=").decode()


def read_token(token: str) -> tuple[int, str]:
    """The revision that a token is of, negative for whatever is newest, and the key that its page follows.

    Raises ``Refusal`` (400) for what is no token.
    """
    try:
        data = _decoded(token)
        read_json(data)
        document = read_strictly(read_tree(data), _TOKEN)[0] or {}
    except (MalformedJson, Undecodable) as error:
        raise _no_token(f": {error}") from None
    version, rev, start = document.get("v", ""), document.get("rv", 0), document.get("start", "")
    if version != _VERSION:
        raise _no_token(f": server does not recognize this encoded version {version}")
    if rev == 0:
        raise _no_token(f": incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise _no_token(f": encoded start key empty (version {_VERSION})")
    key = f"/{start.removeprefix('/')}"
    if key.startswith("//") or posixpath.normpath(key) != key:
        raise _no_token(f": {start}")
    return rev, key.rstrip("\x00")


def _decoded(token: str) -> bytes:
    wrong = _NOT_BASE64.search(token)
    letters = token.replace("\r", "").replace("\n", "")
    if wrong is not None or len(letters) % 4 == 1:
        raise MalformedJson(f"illegal base64 data at input byte {wrong.start() if wrong else len(token) - 1}")
    return base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))


def _no_token(why: str) -> Refusal:
    return bad_request(f"invalid continue token: continue key is not valid{why}")

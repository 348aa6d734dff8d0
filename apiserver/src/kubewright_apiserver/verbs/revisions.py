"""resourceVersion, resourceVersionMatch, limit and continue: which state a read is of."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from typing import Any, Final, NamedTuple

from kubewright_apiserver.json_tree import MalformedJson, read_json
from kubewright_apiserver.status import (
    FieldError,
    Refusal,
    bad_request,
    expired,
    forbidden_field,
    internal_error,
    invalid,
    not_supported,
)
from kubewright_apiserver.verbs.call import Call

__all__ = ["Moment", "continue_token", "moment_of", "read_version", "wait_for"]

_PATIENCE: Final = 3.0
_NOT_BASE64: Final = re.compile(r"[^A-Za-z0-9_-]")
_TOO_OLD: Final = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class Moment(NamedTuple):
    """Which revision to read, from which key on, and how many."""

    rev: int | None
    after: str | None
    limit: int


def read_version(text: str) -> int:
    """The resourceVersion of a get or watch as a number; refuses what is none, as the server's own failure."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise internal_error(_no_version(text))


def _no_version(text: str) -> str:
    why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
    return FieldError("Invalid value", "resourceVersion", why, text).message


def _list_version(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise bad_request(f"invalid resource version: {_no_version(text)}")


def check_list_options(call: Call) -> None:
    """Refuse combinations that mean nothing."""
    match, version = call.parameter("resourceVersionMatch"), call.parameter("resourceVersion")
    where = "resourceVersionMatch"
    errors: list[FieldError] = []
    if match:
        if not version:
            errors.append(forbidden_field(where, f"{where} is forbidden unless resourceVersion is provided"))
        if call.parameter("continue"):
            errors.append(forbidden_field(where, f"{where} is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            errors.append(not_supported(where, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and version == "0":
            errors.append(forbidden_field(where, f'{where} "exact" is forbidden for resourceVersion "0"'))
    if call.parameter("sendInitialEvents"):
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


async def moment_of(call: Call) -> Moment:
    """What a list is to read; waits for a revision that is just to come."""
    check_list_options(call)
    version, match, token = (call.parameter(name) for name in ("resourceVersion", "resourceVersionMatch", "continue"))
    limit = max(0, call.number("limit"))
    if token:
        moment = _continued(call, token, limit)
        if version and version != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        return moment
    number = _list_version(version) if version else 0
    if number == 0:
        return Moment(None, None, 0 if version == "0" and match != "NotOlderThan" else limit)
    await wait_for(call, number)
    if match == "Exact" or (not match and limit):
        if number < call.engine.store.compacted:
            raise expired(_TOO_OLD)
        return Moment(number, None, limit)
    return Moment(None, None, limit)


async def wait_for(call: Call, number: int) -> None:
    """Wait a little for a revision from the future; refuse it if it does not come."""
    store = call.engine.store
    if number <= store.rev:
        return
    try:
        async with asyncio.timeout(_PATIENCE):
            await store.wait_for(number)
    except TimeoutError:
        message = f"Too large resource version: {number}, current: {store.rev}"
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        details: dict[str, Any] = {"causes": causes, "retryAfterSeconds": 1}
        text = f"Timeout: {message}"
        raise Refusal(504, "Timeout", text, details=details, headers=[("Retry-After", "1")]) from None


def continue_token(rev: int, last_key: str) -> str:
    """The token of the page after this key; the server's own notation."""
    document = json.dumps({"v": "meta.k8s.io/v1", "rv": rev, "start": f"/{last_key}\x00"}, separators=(",", ":"))
    return base64.urlsafe_b64encode(document.encode()).rstrip(b"=").decode()


def _continued(call: Call, token: str, limit: int) -> Moment:
    document = _token_content(token)
    rev, start = document["rv"], document["start"]
    after = start.rstrip("\x00")
    if rev == -1:
        return Moment(None, after, limit)
    if rev < call.engine.store.compacted:
        raise expired(_PAGE_TOO_OLD, continue_token=continue_token(-1, after))
    return Moment(rev, after, limit)


def _token_content(token: str) -> dict[str, Any]:
    wrong = _NOT_BASE64.search(token)
    if wrong is not None or len(token) % 4 == 1:
        raise _no_token(f": illegal base64 data at input byte {wrong.start() if wrong else len(token) - 1}")
    try:
        document = read_json(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except MalformedJson as error:
        raise _no_token(f": {error}") from None
    said = document.get("v", "") if isinstance(document, dict) else ""
    if said != "meta.k8s.io/v1":
        raise _no_token(f": server does not recognize this encoded version {said}")
    if not isinstance(document.get("rv"), int) or document["rv"] == 0:
        raise _no_token(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not document.get("start"):
        raise _no_token(": encoded start key empty (version meta.k8s.io/v1)")
    found: dict[str, Any] = document
    return found


def _no_token(why: str) -> Refusal:
    return bad_request(f"invalid continue token: continue key is not valid{why}")

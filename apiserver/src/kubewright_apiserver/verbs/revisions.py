"""resourceVersion, resourceVersionMatch, limit and continue: which state a read is of."""

from __future__ import annotations

import asyncio
from typing import Any, Final, NamedTuple

from kubewright_apiserver.selectors import field_terms, label_predicate
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
from kubewright_apiserver.verbs.continuing import continue_token, read_token

__all__ = ["Moment", "check_form", "check_list_options", "moment_of", "read_version", "wait_for"]

_PATIENCE: Final = 3.0
_MOST_DIGITS: Final = 20
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
    number = _number_in(text)
    if isinstance(number, str):
        raise internal_error(number)
    return number


def _list_version(text: str) -> int:
    number = _number_in(text)
    if isinstance(number, str):
        raise bad_request(f"invalid resource version: {number}")
    return number


def _number_in(text: str) -> int | str:
    """The number that a resourceVersion is, or why it is none."""
    is_number = text.isascii() and text.isdigit()
    if is_number and len(text.lstrip("0")) <= _MOST_DIGITS and int(text) < 2**64:
        return int(text)
    why = f'strconv.ParseUint: parsing "{text}": {"value out of range" if is_number else "invalid syntax"}'
    return FieldError("Invalid value", "resourceVersion", why, text).message


def check_form(call: Call) -> None:
    """Refuse options that are not even of the right form, before anything is made of them."""
    call.number("timeoutSeconds")
    call.number("limit")
    label_predicate(call.parameter("labelSelector"))
    field_terms(call.parameter("fieldSelector"))


def check_list_options(call: Call) -> None:
    """Refuse combinations that mean nothing."""
    check_form(call)
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
    if "sendInitialEvents" in call.query:
        errors.append(forbidden_field("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if errors:
        raise invalid("meta.k8s.io", "ListOptions", "", errors)


async def moment_of(call: Call) -> Moment:
    """What a list is to read; waits for a revision that is just to come."""
    version, match, token = (call.parameter(name) for name in ("resourceVersion", "resourceVersionMatch", "continue"))
    limit = max(0, call.number("limit"))
    if token:
        moment = _continued(call, token, limit)
        if version and version != "0":
            raise bad_request("specifying resource version is not allowed when using continue")
        await wait_for(call, moment.rev or 0)
        return moment
    number = _list_version(version) if version else 0
    if number == 0:
        return Moment(None, None, 0 if version == "0" else limit)
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


def _continued(call: Call, token: str, limit: int) -> Moment:
    rev, after = read_token(token)
    if rev < 0:
        return Moment(None, after, limit)
    if rev < call.engine.store.compacted:
        raise expired(_PAGE_TOO_OLD, continue_token=continue_token(-1, after.lstrip("/")))
    return Moment(rev, after, limit)

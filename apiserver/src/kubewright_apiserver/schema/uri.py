"""``parse_uri``: what Go's ``net/url`` takes for a URL, and what it says of the rest."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Final, NamedTuple

__all__ = ["Uri", "UriError", "parse_uri"]

_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)?:")
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PORT: Final = re.compile(r"(:[0-9]*)?")
_ESCAPE: Final = re.compile(r"%[0-9a-fA-F]{2}")
_NOT_IN_HOST: Final = frozenset(" #%/?@\\^`{|}")


class UriError(ValueError):
    """A text that is no URL, with Go's reason."""


class Uri(NamedTuple):
    """The parts of a URL."""

    scheme: str = ""
    host: str = ""
    user: str | None = None
    query: str = ""
    fragment: str = ""


def parse_uri(text: str, *, is_request: bool = False) -> Uri:
    """The parts of a URL; in a request it must be absolute, or an absolute path, and a ``#`` means nothing.

    Raises:
        UriError: it is none.
    """
    text, _, fragment = (text, "", "") if is_request else text.partition("#")
    try:
        uri = _parse(text, is_request)._replace(fragment=fragment)
        _check_escapes(fragment)
    except UriError as error:
        raise UriError(f"parse {json.dumps(text, ensure_ascii=False)}: {error}") from None
    return uri


def _parse(text: str, is_request: bool) -> Uri:
    if any(character < " " or character == "\x7f" for character in text):
        raise UriError("net/url: invalid control character in URL")
    if not text and is_request:
        raise UriError("empty url")
    if text == "*":
        return Uri()
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Uri(scheme, query=query)
        _check_relative(rest, is_request)
    has_authority = rest.startswith("//") and (scheme or (not is_request and not rest.startswith("///")))
    if not has_authority:
        _check_escapes(rest)
        return Uri(scheme, query=query)
    authority, slash, path = rest[2:].partition("/")
    user, host = _split_authority(scheme, authority)
    _check_escapes(slash + path)
    return Uri(scheme, host, user, query)


def _split_scheme(text: str) -> tuple[str, str]:
    found = _SCHEME.match(text)
    if found is None:
        return "", text
    if found[1] is None:
        raise UriError("missing protocol scheme")
    return found[1].lower(), text[found.end() :]


def _check_relative(rest: str, is_request: bool) -> None:
    if is_request:
        raise UriError("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise UriError("first path segment in URL cannot contain colon")


def _split_authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    _check_host(scheme, host)
    if not at:
        return None, host
    if not _USER.fullmatch(user):
        raise UriError("net/url: invalid userinfo")
    _check_escapes(user)
    return user, host


def _check_host(scheme: str, host: str) -> None:
    opening = host.rfind("[")
    if opening > 0:
        raise UriError("invalid IP-literal")
    if opening == 0:
        _check_literal(host)
        return
    if ":" in host:
        is_strict = scheme in ("http", "https")
        _check_port(host[host.find(":") if is_strict else host.rfind(":") :])
    _check_host_escapes(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise UriError(f"invalid port {json.dumps(port, ensure_ascii=False)} after host")


def _check_literal(host: str) -> None:
    closing = host.rfind("]")
    if closing < 0:
        raise UriError("missing ']' in host")
    _check_port(host[closing + 1 :])
    address, _, zone = host[1:closing].partition("%25")
    _check_host_escapes(address)
    _check_host_escapes(zone, is_zone=True)
    try:
        ipaddress.IPv6Address(address.replace("%", "?"))
    except ValueError:
        raise UriError(f"invalid host: ParseAddr({json.dumps(address)}): unable to parse IP") from None


def _check_host_escapes(host: str, *, is_zone: bool = False) -> None:
    at = 0
    while at < len(host):
        if host[at] == "%":
            escape = host[at : at + 3]
            if not _ESCAPE.fullmatch(escape) or not _may_escape(int(escape[1:], 16), is_zone):
                raise UriError(f"invalid URL escape {json.dumps(escape, ensure_ascii=False)}")
            at += 3
            continue
        if host[at] in _NOT_IN_HOST:
            raise UriError(f"invalid character {json.dumps(host[at])} in host name")
        at += 1


def _may_escape(code: int, is_zone: bool) -> bool:
    if is_zone:
        return code in (0x20, 0x25) or (0x20 < code < 0x7F and chr(code) not in _NOT_IN_HOST)
    return code >= 0x80 or code == 0x25


def _check_escapes(text: str) -> None:
    at = text.find("%")
    while at >= 0:
        escape = text[at : at + 3]
        if not _ESCAPE.fullmatch(escape):
            raise UriError(f"invalid URL escape {json.dumps(escape, ensure_ascii=False)}")
        at = text.find("%", at + 3)

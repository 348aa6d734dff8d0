"""Addresses as Go reads them: IP, CIDR, MAC and e-mail; for ``formats``."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

__all__ = ["is_cidr", "is_email", "is_ipv4", "is_ipv6", "is_mac"]

_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")
_MASK: Final = re.compile(r"[0-9]{1,7}")
_MAC: Final = re.compile(
    r"(?:[0-9a-fA-F]{2}(?:(:|-)[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2})*)|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+|[0-9a-fA-F]+)"
)
_SPECIALS: Final = frozenset('()<>[]:;@\\,"')


def is_ipv4(text: str) -> bool:
    """Whether it is an IPv4 address, leading zeros forgiven, perhaps mapped into IPv6."""
    return "." in text and _ip_bits(text) > 0


def is_ipv6(text: str) -> bool:
    """Whether it is an IPv6 address without a zone."""
    return ":" in text and "%" not in text and _is(ipaddress.IPv6Address, text)


def is_cidr(text: str) -> bool:
    """Whether it is an address, a slash, and the length of its prefix."""
    address, slash, mask = text.partition("/")
    bits = _ip_bits(address)
    return bool(slash and bits and _MASK.fullmatch(mask)) and int(mask) <= bits


def is_mac(text: str) -> bool:
    """Whether it is a MAC address of 6, 8 or 20 bytes in any of the usual ways to write it."""
    digits = len(text) - sum(map(text.count, ":-."))
    return len(text) >= 12 and digits in (12, 16, 40) and _MAC.fullmatch(text) is not None


def _ip_bits(text: str) -> int:
    if not text.isascii() or "%" in text or any(character.isspace() for character in text):
        return 0
    text = _LEADING_ZEROS.sub("", text)
    if _is(ipaddress.IPv4Address, text):
        return 32
    return 128 if _is(ipaddress.IPv6Address, text) else 0


def _is(kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address], text: str) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


def is_email(text: str) -> bool:
    """Whether it is one address as RFC 5322 writes it: ``a@b.c``, ``Name <a@b.c>``, ``Group: a@b.c;``."""
    try:
        return _Mail(text).is_single_address()
    except _NoAddress:
        return False


class _NoAddress(Exception):
    pass


class _Mail:
    """Reads an e-mail address from its start."""

    def __init__(self, text: str) -> None:
        self.text: str = text
        self.at: int = 0

    def is_single_address(self) -> bool:
        addresses = self._address(may_be_group=True)
        self._skip_comments()
        return addresses == 1 and self.at == len(self.text)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, character: str) -> bool:
        found = self._peek() == character
        self.at += found
        return found

    def _need(self, character: str) -> None:
        if not self._take(character):
            raise _NoAddress

    def _skip_space(self) -> None:
        while self._peek() in (" ", "\t"):
            self.at += 1

    def _skip_comments(self) -> None:
        self._skip_space()
        while self._take("("):
            self._comment()
            self._skip_space()

    def _comment(self) -> None:
        depth = 1
        while depth:
            character = self._peek()
            if not character:
                raise _NoAddress
            if character == "\\" and self.at + 1 < len(self.text):
                self.at += 1
            else:
                depth += (character == "(") - (character == ")")
            self.at += 1

    def _address(self, *, may_be_group: bool) -> int:
        self._skip_space()
        if not self._peek():
            raise _NoAddress
        start = self.at
        try:
            self._mailbox()
        except _NoAddress:
            self.at = start
        else:
            self._skip_space()
            if self._take("("):
                self._comment()
            return 1
        if self._peek() != "<":
            self._phrase()
        self._skip_space()
        if may_be_group and self._take(":"):
            return self._group()
        self._need("<")
        self._mailbox()
        self._need(">")
        return 1

    def _group(self) -> int:
        self._skip_space()
        if self._take(";"):
            return 0
        count = 0
        while True:
            count += self._address(may_be_group=False)
            self._skip_comments()
            if self._take(";"):
                return count
            self._need(",")

    def _mailbox(self) -> None:
        self._skip_space()
        if self._peek() == '"':
            if self._quoted() == 0:
                raise _NoAddress
        else:
            self._check_dots(self._atom())
        self._need("@")
        self._skip_space()
        if self._take("["):
            self._domain_literal()
        else:
            self._check_dots(self._atom())

    def _domain_literal(self) -> None:
        end = self.text.find("]", self.at)
        literal = self.text[self.at : max(end, 0)]
        is_address = _is(ipaddress.IPv4Address, literal) or _is(ipaddress.IPv6Address, literal)
        if end < 0 or "%" in literal or not is_address:
            raise _NoAddress
        self.at = end + 1

    def _phrase(self) -> None:
        words = 0
        while True:
            if words:
                self._skip_comments()
            self._skip_space()
            try:
                if self._peek() == '"':
                    self._quoted()
                else:
                    self._atom()
            except _NoAddress:
                if words or not self._peek():
                    return
                raise
            words += 1

    def _quoted(self) -> int:
        start = at = self.at + 1
        while True:
            character = self.text[at : at + 1]
            if character == "\\":
                at += 1
                character = self.text[at : at + 1]
            elif character == '"':
                break
            if not (_is_visible(character) or character in (" ", "\t")) or not character:
                raise _NoAddress
            at += 1
        self.at = at + 1
        return at - start

    def _atom(self) -> str:
        start = self.at
        while _is_visible(self._peek()) and self._peek() not in _SPECIALS:
            self.at += 1
        if start == self.at:
            raise _NoAddress
        return self.text[start : self.at]

    @staticmethod
    def _check_dots(atom: str) -> None:
        if atom.startswith(".") or atom.endswith(".") or ".." in atom:
            raise _NoAddress


def _is_visible(character: str) -> bool:
    return "!" <= character <= "~" or character >= "\x80"

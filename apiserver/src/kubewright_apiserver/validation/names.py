"""Which texts are names: DNS labels and subdomains, qualified names, ports, keys; each rule tells what is wrong.

Every rule takes a text and gives the messages of kube-apiserver, none if the text is as it should be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

__all__ = [
    "NameRule",
    "any_name",
    "between",
    "config_key",
    "dns1035_label",
    "dns_label",
    "dns_subdomain",
    "dns_subdomain_with_underscores",
    "environment_name",
    "generated",
    "generated_name",
    "http_header_name",
    "label_value",
    "long_name",
    "masked",
    "path_segment",
    "path_segment_prefix",
    "percent",
    "port_name",
    "port_number",
    "qualified_name",
    "wildcard_subdomain",
]

NameRule = Callable[[str], Sequence[str]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character"
)
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character"
)
_UNDERSCORED: Final = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORED_SUBDOMAIN: Final = rf"{_UNDERSCORED}(\.{_UNDERSCORED})*"
_UNDERSCORED_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
    " and end with an alphanumeric character"
)
_DNS1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_DNS1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character"
)
_WILDCARD: Final = rf"\*\.{_SUBDOMAIN}"
_WILDCARD_TEXT: Final = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower"
    " case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE: Final = f"({_KEY})?"
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character"
)
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_CONFIG_KEY_TEXT: Final = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_HEADER: Final = "[-A-Za-z0-9]+"
_HEADER_TEXT: Final = "a valid HTTP header must consist of alphanumeric characters or '-'"
_PERCENT: Final = "[0-9]+%"
_PERCENT_TEXT: Final = "a valid percent string must be a numeric string followed by an ending '%'"

_is_label: Final = re.compile(_LABEL).fullmatch
_is_subdomain: Final = re.compile(_SUBDOMAIN).fullmatch
_is_underscored: Final = re.compile(_UNDERSCORED_SUBDOMAIN).fullmatch
_is_dns1035: Final = re.compile(_DNS1035).fullmatch
_is_wildcard: Final = re.compile(_WILDCARD).fullmatch
_is_key: Final = re.compile(_KEY).fullmatch
_is_value: Final = re.compile(_VALUE).fullmatch
_is_config_key: Final = re.compile(_CONFIG_KEY).fullmatch
_is_header: Final = re.compile(_HEADER).fullmatch
_is_percent: Final = re.compile(_PERCENT).fullmatch
_is_port_name: Final = re.compile("[-a-z0-9]+").fullmatch
_has_letter: Final = re.compile("[a-z]").search
_is_printable_ascii: Final = re.compile("[ -<>-~]*").fullmatch

Messages = tuple[str, ...]


def _told(text: str, pattern: str, *examples: str) -> str:
    named = "',  or '".join(examples)
    return f"{text} (e.g. '{named}', regex used for validation is '{pattern}')"


def _length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _too_long(text: str, most: int, unit: str = "characters") -> list[str]:
    return [f"must be no more than {most} {unit}"] if _length(text) > most else []


@lru_cache(maxsize=8192)
def dns_label(text: str) -> Messages:
    """What keeps a text from being an RFC 1123 label."""
    messages = _too_long(text, 63)
    if not _is_label(text):
        messages.append(
            "must not contain dots" if _is_subdomain(text) else _told(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        )
    return tuple(messages)


@lru_cache(maxsize=8192)
def dns_subdomain(text: str) -> Messages:
    """What keeps a text from being an RFC 1123 subdomain."""
    messages = _too_long(text, 253)
    if not _is_subdomain(text):
        messages.append(_told(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return tuple(messages)


def long_name(text: str) -> Messages:
    """The same rule in the words of newer code, which counts bytes."""
    return tuple(message.replace("253 characters", "253 bytes") for message in dns_subdomain(text))


def dns_subdomain_with_underscores(text: str) -> Messages:
    """What keeps a text from being an RFC 1123 subdomain in which underscores are allowed."""
    messages = _too_long(text, 253)
    if not _is_underscored(text):
        messages.append(_told(_UNDERSCORED_TEXT, _UNDERSCORED_SUBDOMAIN, "example.com"))
    return tuple(messages)


def dns1035_label(text: str) -> Messages:
    """What keeps a text from being an RFC 1035 label."""
    messages = _too_long(text, 63)
    if not _is_dns1035(text):
        messages.append(_told(_DNS1035_TEXT, _DNS1035, "my-name", "abc-123"))
    return tuple(messages)


def wildcard_subdomain(text: str) -> Messages:
    """What keeps a text from being ``*.`` and an RFC 1123 subdomain."""
    messages = _too_long(text, 253)
    if not _is_wildcard(text):
        messages.append(_told(_WILDCARD_TEXT, _WILDCARD, "*.example.com"))
    return tuple(messages)


@lru_cache(maxsize=8192)
def qualified_name(text: str) -> Messages:
    """What keeps a text from being a name with an optional DNS prefix, as labels have them for keys."""
    parts = text.split("/")
    told = _told(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return (f"a valid label key {told} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    messages = _prefix_messages(parts[0]) if len(parts) == 2 else []
    name = parts[-1]
    if not name:
        messages.append("name part must be non-empty")
    messages += [f"name part {message}" for message in _too_long(name, 63, "bytes")]
    if not _is_key(name):
        messages.append(f"name part {told}")
    return tuple(messages)


def _prefix_messages(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    return [f"prefix part {message}" for message in long_name(prefix)]


@lru_cache(maxsize=8192)
def label_value(text: str) -> Messages:
    """What keeps a text from being the value of a label."""
    messages = _too_long(text, 63, "bytes")
    if not _is_value(text):
        messages.append(_told(_VALUE_TEXT, _VALUE, "MyValue", "my_value", "12345"))
    return tuple(messages)


def config_key(text: str) -> Messages:
    """What keeps a text from being a key in a ConfigMap or Secret."""
    messages = _too_long(text, 253)
    if not _is_config_key(text):
        messages.append(_told(_CONFIG_KEY_TEXT, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if text in (".", ".."):
        messages.append(f"must not be '{text}'")
    elif text.startswith(".."):
        messages.append("must not start with '..'")
    return tuple(messages)


def environment_name(text: str) -> Messages:
    """What keeps a text from naming an environment variable."""
    if not text:
        return ("environment variable name must be non-empty",)
    if _is_printable_ascii(text):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def http_header_name(text: str) -> Messages:
    """What keeps a text from naming an HTTP header."""
    return () if _is_header(text) else (_told(_HEADER_TEXT, _HEADER, "X-Header-Name"),)


def percent(text: str) -> Messages:
    """What keeps a text from being a whole percentage."""
    return () if _is_percent(text) else (_told(_PERCENT_TEXT, _PERCENT, "1%", "93%"),)


def port_name(text: str) -> Messages:
    """What keeps a text from naming a port."""
    messages = _too_long(text, 15)
    if not _is_port_name(text):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(text):
        messages.append("must contain at least one letter (a-z)")
    if "--" in text:
        messages.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        messages.append("must not begin or end with a hyphen")
    return tuple(messages)


def between(value: int, least: int, most: int) -> Messages:
    """What keeps a number from lying between two, both included."""
    return () if least <= value <= most else (f"must be between {least} and {most}, inclusive",)


def port_number(value: int) -> Messages:
    """What keeps a number from being that of a port."""
    return between(value, 1, 65535)


def path_segment(text: str) -> Messages:
    """What keeps a text from being one part of a URL's path."""
    return (f"may not be '{text}'",) if text in (".", "..") else path_segment_prefix(text)


def path_segment_prefix(text: str) -> Messages:
    """What keeps a text from beginning one part of a URL's path."""
    return tuple(f"may not contain '{letter}'" for letter in "/%" if letter in text)


def any_name(text: str) -> Messages:
    """Nothing: every text will do."""
    return ()


def masked(prefix: str) -> str:
    """A ``generateName`` as rules look at it: they let it end in a hyphen, since more follows."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def generated_name(prefix: str, suffix: str) -> str:
    """The name that a ``generateName`` and five letters make; a long prefix is cut, so that it stays a DNS label."""
    return prefix.encode()[:58].decode(errors="ignore") + suffix


def generated(rule: NameRule) -> NameRule:
    """The rule for a ``generateName``, from that for names."""
    if rule is path_segment:
        return path_segment_prefix
    return (lambda prefix: rule(masked(prefix))) if rule in (dns_label, dns_subdomain, dns1035_label) else rule

"""The string formats that kube-apiserver checks in custom resources, and how strictly: as its Go libraries do."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from kubewright_apiserver.schema.addresses import is_cidr, is_email, is_ipv4, is_ipv6, is_mac
from kubewright_apiserver.schema.regexp import compile_regexp
from kubewright_apiserver.schema.uri import UriError, parse_uri

__all__ = ["effective_format", "format_check", "is_recognised_format"]

_HOSTNAME: Final = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}]"
    r"(([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_DURATION: Final = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)")
_SPAN: Final = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-z\u00b5]+)")
_SPAN_UNITS: Final = re.compile(
    r"ns|nano.*|us|\u00b5s|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*", re.DOTALL
)
_CARD: Final = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_CHANNEL: Final = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"
_NAME: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_MOST_INT64: Final = 2**63 - 1
_LONGEST_REMEMBERED: Final = 100
_MOST_REMEMBERED: Final = 500


def _matching(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    fullmatch = re.compile(pattern, flags).fullmatch
    return lambda text: fullmatch(text) is not None


def _uuid(third: str, fourth: str) -> Callable[[str], bool]:
    hexadecimal = "[0-9a-fA-F]"
    return _matching(f"{hexadecimal}{{8}}-?{hexadecimal}{{4}}-?{third}-?{fourth}-?{hexadecimal}{{12}}")


_QUAD: Final = "[0-9a-fA-F]{4}"


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


def _is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    if _DURATION.fullmatch(text) and all(int(digits) <= _MOST_INT64 for digits in re.findall("[0-9]+", text)):
        return True
    spans = _SPAN.findall(text)
    if any(int(factor) > _MOST_INT64 for factor, _ in spans):
        return False
    return any(_SPAN_UNITS.fullmatch(unit.lower()) for _, unit in spans)


def _is_uri(text: str) -> bool:
    try:
        parse_uri(text, is_request=True)
    except UriError:
        return False
    return True


def _is_hostname(text: str) -> bool:
    size = len(text.encode())
    if size > 255 or any(len(part.encode()) > 63 for part in text.split(".")):
        return False
    return compile_regexp(_HOSTNAME).matches(text)


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return _CARD.fullmatch(digits) is not None and sum(value // 10 + value % 10 for value in doubled) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (1 + 2 * (place % 2)) for place, digit in enumerate(digits)) % 10 == 0


_is_social_security: Final = _matching(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")
_is_short_name: Final = _matching(_NAME)
_is_long_name: Final = _matching(rf"{_NAME}(?:\.{_NAME})*")

_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matching("[0-9a-fA-F]{24}"),
    "byte": _matching("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "cidr": is_cidr,
    "creditcard": _is_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": is_email,
    "hexcolor": _matching("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": is_mac,
    "password": lambda text: True,
    "rgbcolor": _matching(rf"rgb\({_CHANNEL},{_CHANNEL},{_CHANNEL}\)"),
    "ssn": lambda text: len(text) == 11 and _is_social_security(text),
    "uri": _is_uri,
    "uuid": _uuid(_QUAD, _QUAD),
    "uuid3": _uuid("3[0-9a-fA-F]{3}", _QUAD),
    "uuid4": _uuid("4[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
    "uuid5": _uuid("5[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
}
_NUMBERS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


def format_check(name: str) -> Callable[[str], bool] | None:
    """What tells whether a text has that format; None if the server does not know the format."""
    check = _CHECKS.get(name.replace("-", ""))
    return None if check is None else _remembering(check)


@cache
def _remembering(check: Callable[[str], bool]) -> Callable[[str], bool]:
    """The check with a memory for short texts: the same come again and again."""
    verdicts: dict[str, bool] = {}

    def remembered(text: str) -> bool:
        verdict = verdicts.get(text)
        if verdict is None:
            verdict = check(text)
            if len(text) <= _LONGEST_REMEMBERED:
                if len(verdicts) >= _MOST_REMEMBERED:
                    verdicts.clear()
                verdicts[text] = verdict
        return verdict

    return remembered


def is_recognised_format(declared_type: str, name: str) -> bool:
    """Whether the server checks that format on values of that type; it ignores other formats."""
    if declared_type in ("", "string"):
        return name.replace("-", "") in _CHECKS
    return name in _NUMBERS.get(declared_type, ())


def effective_format(schema: dict[str, Any]) -> str:
    """The format of a schema as far as the server checks it, else empty."""
    name: str = schema.get("format", "")
    declared = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    return name if name and is_recognised_format(declared, name) else ""

"""Label selectors as URLs write them, compiled to a predicate on labels.

Refusals carry kube-apiserver's own texts, which clients and people read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kubewright_apiserver.status import bad_request

__all__ = ["LabelPredicate", "label_predicate", "selector_text"]

LabelPredicate = Callable[[dict[str, str]], bool]
"""Whether labels match."""

_TOKEN: Final = re.compile(r"[ \t\r\n]*(?:([^ \t\r\n=!(),><\0]+)|(==|!=|[=!(),><])|(\0|\Z))")
_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"
_KEY: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_KEPT: Final = 1024
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_LETTERS: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_RULE: Final = (
    f"{_LETTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY.pattern}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE.pattern}')"
)
_PREFIX_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)


class _Wrong(Exception):
    """What is wrong with one requirement."""


class _Token(NamedTuple):
    text: str
    is_word: bool


_END: Final = _Token("", False)


def _tokens(selector: str) -> Iterator[_Token]:
    position = 0
    while found := _TOKEN.match(selector, position):
        word, symbol, _ = found.groups()
        if not word and not symbol:
            return
        yield _Token(word, True) if word else _Token(symbol, False)
        position = found.end()


def label_predicate(selector: str) -> LabelPredicate | None:
    """Whether labels match a selector such as ``app=web,tier in (a, b),!old,weight>3``; None if every label does.

    Raises ``Refusal`` (400) for what is no selector.
    """
    # Long ones are not kept: a thousand of them would be a gigabyte.
    return _kept_predicate(selector) if len(selector) <= _LONGEST_KEPT else _predicate(selector)


def _predicate(selector: str) -> LabelPredicate | None:
    requirements = _Parser(_tokens(selector)).requirements()
    if not requirements:
        return None
    if len(requirements) == 1:
        return requirements[0]
    return lambda labels: all(requirement(labels) for requirement in requirements)


_kept_predicate: Final = lru_cache(maxsize=1024)(_predicate)


class _Parser:
    def __init__(self, tokens: Iterator[_Token]) -> None:
        self._tokens = tokens
        self._next = next(tokens, _END)

    def requirements(self) -> list[LabelPredicate]:
        found: list[LabelPredicate] = []
        while self._next is not _END:
            if not (self._next.is_word or self._next.text == "!"):
                raise bad_request(f"found '{self._next.text}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except _Wrong as wrong:
                raise bad_request(f"unable to parse requirement: {wrong}") from None
            self._end_requirement()
        return found

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens, _END)
        return token

    def _end_requirement(self) -> None:
        token = self._take()
        if token is _END:
            return
        if token.text != "," or token.is_word:
            raise bad_request(f"found '{token.text}', expected: ',' or 'end of string'")
        if not (self._next.is_word or self._next.text == "!"):
            raise bad_request(f"found '{self._next.text}', expected: identifier after ','")

    def _requirement(self) -> LabelPredicate:
        is_absent = self._next.text == "!"
        if is_absent:
            self._take()
        key = self._take()
        if not key.is_word:
            raise _Wrong(f"found '{key.text}', expected: identifier")
        _check_key(key.text)
        if is_absent:
            return _absent(key.text)
        if self._next is _END or self._next.text == ",":
            return _present(key.text)
        return self._comparison(key.text)

    def _comparison(self, key: str) -> LabelPredicate:
        operator = self._take().text
        if operator in ("in", "notin"):
            values = self._values()
        elif operator in ("=", "==", "!=", ">", "<"):
            values = [self._value()]
        else:
            raise _Wrong(f"found '{operator}', expected: {_OPERATORS}")
        _check_values(key, operator, values)
        return _MAKERS[operator](key, values)

    def _value(self) -> str:
        if self._next is _END or self._next.text == ",":
            return ""
        token = self._take()
        if not token.is_word:
            raise _Wrong(f"found '{token.text}', expected: identifier")
        return token.text

    def _values(self) -> list[str]:
        token = self._take()
        if token.text != "(" or token.is_word:
            raise _Wrong(f"found '{token.text}' expected: '('")
        if not (self._next.is_word or self._next.text in (",", ")")) or self._next is _END:
            raise _Wrong(f"found '{self._next.text}', expected: ',', ')' or identifier")
        values: set[str] = set()
        if self._next.text == ")":
            values.add("")
        while self._next.text != ")":
            self._one_of(values)
        self._take()
        return sorted(values)

    def _one_of(self, values: set[str]) -> None:
        token = self._take()
        if token.is_word:
            values.add(token.text)
            if self._next.text not in (",", ")") or self._next is _END:
                raise _Wrong(f"found '{self._next.text}', expected: ',' or ')'")
        elif token.text == ",":
            if not values or self._next.text in (",", ")"):
                values.add("")
        else:
            raise _Wrong(f"found '{token.text}', expected: ',', or identifier")


def _check_key(key: str) -> None:
    wrong = _key_errors(key)
    if wrong:
        raise _Wrong(f"<nil>: Invalid value: {_quoted(key)}: {'; '.join(wrong)}")


def _key_errors(key: str) -> list[str]:
    *prefix, name = key.split("/")
    if len(prefix) > 1:
        return [
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = [f"prefix part {error}" for part in prefix for error in _prefix_errors(part)]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _KEY.fullmatch(name):
        errors.append(f"name part {_NAME_RULE}")
    return errors


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    errors = ["must be no more than 253 bytes"] if len(prefix.encode()) > 253 else []
    return errors if _SUBDOMAIN.fullmatch(prefix) else [*errors, _PREFIX_RULE]


def _check_values(key: str, operator: str, values: list[str]) -> None:
    errors = []
    if operator in (">", "<") and not _is_int64(values[0]):
        detail = "for 'Gt', 'Lt' operators, the value must be an integer"
        errors.append(f"values[0]: Invalid value: {_quoted(values[0])}: {detail}")
    for index, value in enumerate(values):
        wrong = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
        if not _VALUE.fullmatch(value):
            wrong.append(_VALUE_RULE)
        if wrong:
            errors.append(f"values[{index}][{key}]: Invalid value: {_quoted(value)}: {'; '.join(wrong)}")
    if errors:
        raise _Wrong(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


def _present(key: str) -> LabelPredicate:
    return lambda labels: key in labels


def _absent(key: str) -> LabelPredicate:
    return lambda labels: key not in labels


def _one(key: str, values: list[str]) -> LabelPredicate:
    if len(values) == 1:
        value = values[0]
        return lambda labels: labels.get(key) == value
    chosen = frozenset(values)
    return lambda labels: labels.get(key) in chosen


def _none(key: str, values: list[str]) -> LabelPredicate:
    chosen = frozenset(values)
    return lambda labels: labels.get(key) not in chosen


def _greater(key: str, values: list[str]) -> LabelPredicate:
    least = int(values[0])
    return lambda labels: _is_int64(labels.get(key, "")) and int(labels[key]) > least


def _less(key: str, values: list[str]) -> LabelPredicate:
    most = int(values[0])
    return lambda labels: _is_int64(labels.get(key, "")) and int(labels[key]) < most


_MAKERS: Final[dict[str, Callable[[str, list[str]], LabelPredicate]]] = {
    "=": _one,
    "==": _one,
    "in": _one,
    "!=": _none,
    "notin": _none,
    ">": _greater,
    "<": _less,
}


def selector_text(selector: dict[str, Any] | None) -> str:
    """A selector in an object, of labels alone or with expressions, as URLs write it; empty if there is none."""
    if not selector:
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    parts += [(one["key"], _expression(one)) for one in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


def _expression(one: dict[str, Any]) -> str:
    values = ",".join(sorted(one.get("values") or ()))
    forms = {"In": f"{one['key']} in ({values})", "NotIn": f"{one['key']} notin ({values})"}
    forms |= {"Exists": one["key"], "DoesNotExist": f"!{one['key']}"}
    return forms[one["operator"]]

"""Label and field selectors: reading, printing and matching them as the API server does.

The client sends their text with a list or watch; the cache matches objects with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from kubewright.api.model import Model, omit_empty

__all__ = [
    "FieldSelector",
    "FieldTerm",
    "LabelSelector",
    "LabelSelectorRequirement",
    "field_selector_text",
    "label_selector_text",
]

_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_TOKEN: Final = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
_SYMBOLS: Final = frozenset({"==", "!=", "=", "!", "(", ")", ",", "<", ">", ""})
_OPERATORS: Final = {"=": "In", "==": "In", "!=": "NotIn", "in": "In", "notin": "NotIn", ">": "Gt", "<": "Lt"}

_SPECIAL: Final = re.compile(r"[\\,=]")
_ESCAPED: Final = re.compile(r"\\(.)")
_BACKSLASH_IT: Final = r"\\\g<0>"
_TERM: Final = re.compile(r"(?:\\.|\\\Z|[^\\,])+", re.DOTALL)
_PARTS: Final = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_PATH: Final = re.compile(r"[^\s\\,=!]+")
_VALUE: Final = re.compile(r"(?:[^\\,=]|\\[\\,=])*")


class LabelSelectorRequirement(Model):
    """What one label must be: ``operator`` is In, NotIn, Exists or DoesNotExist.

    Gt and Lt, which compare whole numbers, can be sent with a list or watch but not inside an object.
    """

    key: str
    operator: str
    values: list[str] = omit_empty(list)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil it; an absent label fulfils NotIn and DoesNotExist.

        *Raises* ``ValueError`` for an operator that Kubernetes does not have.
        """
        found = labels.get(self.key)
        match self.operator:
            case "In":
                return found is not None and found in self.values
            case "NotIn":
                return found is None or found not in self.values
            case "Exists":
                return found is not None
            case "DoesNotExist":
                return found is None
            case "Gt" | "Lt":
                return found is not None and self._compares(found)
        raise ValueError(f"label selector: {_operator_problem(self)}")

    def _compares(self, found: str) -> bool:
        number, limit = _int64(found), _int64(self.values[0] if len(self.values) == 1 else "")
        if number is None or limit is None:
            return False
        return number > limit if self.operator == "Gt" else number < limit

    def __str__(self) -> str:
        match self.operator:
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
            case "Gt" | "Lt":
                return f"{self.key}{'>' if self.operator == 'Gt' else '<'}{','.join(self.values)}"
        return f"{self.key} {self.operator.lower()} ({','.join(sorted(self.values))})"


class LabelSelector(Model):
    """Chooses objects by their labels: all of ``match_labels`` and ``match_expressions`` must hold.

    >>> selector = LabelSelector.parse("app=web,tier in (front,back),!canary")
    >>> selector.matches({"app": "web", "tier": "back"})
    True
    >>> str(selector)
    'app=web,!canary,tier in (back,front)'

    *Guarantees*: an empty selector matches everything.
    """

    match_labels: dict[str, str] = omit_empty(dict)
    match_expressions: list[LabelSelectorRequirement] = omit_empty(list)

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """The selector in kubectl's syntax: ``=``, ``==``, ``!=``, ``in``, ``notin``, ``key``, ``!key``, ``>``, ``<``.

        *Raises* ``ValueError`` naming what is wrong and where.
        """
        selector = cls()
        for word, key, values in _LabelReader(text).requirements():
            if word in ("=", "==") and selector.match_labels.get(key, values[0]) == values[0]:
                selector.match_labels[key] = values[0]
            else:
                requirement = LabelSelectorRequirement(key=key, operator=_OPERATORS.get(word, word), values=values)
                selector.match_expressions.append(requirement)
        return selector

    @property
    def text(self) -> str:
        """The selector in kubectl's syntax, sorted by key."""
        terms = [(key, f"{key}={value}") for key, value in self.match_labels.items()]
        terms += [(requirement.key, str(requirement)) for requirement in self.match_expressions]
        return ",".join(term for _, term in sorted(terms, key=lambda term: term[0]))

    def __str__(self) -> str:
        return self.text

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is chosen."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )


def label_selector_text(value: str | Mapping[str, str] | LabelSelector) -> str:
    """What to send as ``labelSelector``, for a text, the labels that objects must have, or a selector.

    *Guarantees*: selectors that differ only in order, spaces or ``==`` for ``=`` give the same text.

    *Raises* ``ValueError`` for a selector that the API server would refuse.
    """
    if isinstance(value, str):
        return LabelSelector.parse(value).text
    selector = value if isinstance(value, LabelSelector) else LabelSelector(match_labels=dict(value))
    for problem in _problems(selector):
        raise ValueError(f"label selector: {problem}")
    return selector.text


def _problems(selector: LabelSelector) -> Iterator[str]:
    for key, value in selector.match_labels.items():
        yield from filter(None, (_key_problem(key), _value_problem(value)))
    for requirement in selector.match_expressions:
        yield from filter(None, (_key_problem(requirement.key), _operator_problem(requirement)))
        yield from filter(None, map(_value_problem, requirement.values))


def _key_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return f"the prefix of label key {key[:320]!r} must be a DNS name in lower case of at most 253 characters"
    if len(name) > 63 or not _NAME.fullmatch(name):
        return (
            f"label key {key[:320]!r} must be 1 to 63 letters, digits, '-', '_' or '.', beginning and ending with a "
            "letter or digit, optionally after a DNS name and '/'"
        )
    return ""


def _value_problem(value: str) -> str:
    if value == "" or (len(value) <= 63 and _NAME.fullmatch(value)):
        return ""
    return (
        f"label value {value[:80]!r} must be empty or at most 63 letters, digits, '-', '_' or '.', beginning and "
        "ending with a letter or digit"
    )


def _operator_problem(requirement: LabelSelectorRequirement) -> str:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    match operator:
        case "In" | "NotIn":
            return "" if values else f"operator {operator} on label {key!r} needs at least one value"
        case "Exists" | "DoesNotExist":
            return f"operator {operator} on label {key!r} takes no values" if values else ""
        case "Gt" | "Lt":
            fits = len(values) == 1 and _int64(values[0]) is not None
            return "" if fits else f"operator {operator} on label {key!r} needs one whole number of 64 bits"
    return f"operator {operator!r} on label {key!r} must be In, NotIn, Exists, DoesNotExist, Gt or Lt"


def _int64(text: str) -> int | None:
    if len(text) > 63 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


class _LabelReader:
    """Goes through the text of a label selector, one token after the other."""

    def __init__(self, text: str) -> None:
        self.text: Final = text
        self.tokens: Final = [*((match.group(), match.start()) for match in _TOKEN.finditer(text)), ("", len(text))]
        self.index = 0

    def requirements(self) -> Iterator[tuple[str, str, list[str]]]:
        """Operator as written (or Exists, DoesNotExist), key and values of each requirement."""
        while self._peek():
            yield self._requirement()
            if self._peek():
                self._expect(",", "',' or the end")
                if not self._peek():
                    raise self._unexpected("a label key after ','")

    def _requirement(self) -> tuple[str, str, list[str]]:
        if self._peek() == "!":
            self._take()
            return "DoesNotExist", self._key(), []
        key = self._key()
        if self._peek() in ("", ","):
            return "Exists", key, []
        if self._peek() not in _OPERATORS:
            raise self._unexpected("one of = == != in notin > <")
        at = self.index
        word = self._take()
        values = self._values() if word in ("in", "notin") else [self._value()]
        if word in (">", "<") and _int64(values[0]) is None:
            raise self._refused(f"{word!r} on label {key!r} needs a whole number of 64 bits after it", at)
        return word, key, values

    def _key(self) -> str:
        if self._peek() in _SYMBOLS:
            raise self._unexpected("a label key")
        if problem := _key_problem(self._peek()):
            raise self._refused(problem, self.index)
        return self._take()

    def _values(self) -> list[str]:
        self._expect("(", "'('")
        found = {self._value()}
        while self._peek() == ",":
            self._take()
            found.add(self._value())
        self._expect(")", "',' or ')'")
        return sorted(found)

    def _value(self) -> str:
        if self._peek() in _SYMBOLS:
            return ""
        if problem := _value_problem(self._peek()):
            raise self._refused(problem, self.index)
        return self._take()

    def _peek(self) -> str:
        return self.tokens[self.index][0]

    def _take(self) -> str:
        self.index += 1
        return self.tokens[self.index - 1][0]

    def _expect(self, token: str, expected: str) -> None:
        if self._take() != token:
            self.index -= 1
            raise self._unexpected(expected)

    def _unexpected(self, expected: str) -> ValueError:
        found = repr(self._peek()[:80]) if self._peek() else "the end"
        return self._refused(f"expected {expected}, found {found}", self.index)

    def _refused(self, problem: str, index: int) -> ValueError:
        return ValueError(f"label selector {self.text[:320]!r}, character {self.tokens[index][1] + 1}: {problem}")


class FieldTerm(msgspec.Struct, frozen=True):
    """One condition of a field selector: the field at a path is (or, negated, is not) a value."""

    field: str
    value: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{_SPECIAL.sub(_BACKSLASH_IT, self.value)}"


class FieldSelector(msgspec.Struct, frozen=True):
    """Chooses objects by a few of their fields, as text: all terms must hold.

    >>> selector = FieldSelector.parse("status.phase!=Running,spec.nodeName=a")
    >>> selector.matches({"status.phase": "Failed", "spec.nodeName": "a"})
    True

    *Guarantees*: an empty selector matches everything.
    """

    terms: tuple[FieldTerm, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""The selector in a text such as ``path=value,path!=value``, where ``\`` escapes ``\``, ``,`` and ``=``.

        *Raises* ``ValueError`` naming the term and what is wrong with it.
        """
        return cls(tuple(sorted((_field_term(text, match) for match in _TERM.finditer(text)), key=str)))

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> FieldSelector:
        """The selector that wants each of these fields to have its value."""
        return cls(tuple(sorted((FieldTerm(field, value) for field, value in fields.items()), key=str)))

    @property
    def text(self) -> str:
        """The selector as Kubernetes reads it, sorted."""
        return ",".join(sorted(map(str, self.terms)))

    def __str__(self) -> str:
        return self.text

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is chosen; an absent field counts as empty."""
        return all((fields.get(term.field, "") == term.value) is not term.negated for term in self.terms)


def field_selector_text(value: str | Mapping[str, str] | FieldSelector) -> str:
    """What to send as ``fieldSelector``, for a text, the fields that objects must have, or a selector.

    *Raises* ``ValueError`` for a selector that the API server could not read.
    """
    if isinstance(value, str):
        return FieldSelector.parse(value).text
    selector = value if isinstance(value, FieldSelector) else FieldSelector.of(value)
    for term in selector.terms:
        if not _PATH.fullmatch(term.field):
            raise ValueError(
                f"field selector: {term.field[:320]!r} is not the path of a field, such as 'metadata.name'"
            )
    return selector.text


def _field_term(text: str, match: re.Match[str]) -> FieldTerm:
    where = f"field selector {text[:320]!r}, character {match.start() + 1}"
    parts = _PARTS.fullmatch(match.group())
    if parts is None:
        raise ValueError(f"{where}: expected path=value or path!=value, found {match.group()[:80]!r}")
    path, operator, value = parts.groups()
    if not _PATH.fullmatch(path):
        raise ValueError(f"{where}: {path[:320]!r} is not the path of a field, such as 'metadata.name'")
    if not _VALUE.fullmatch(value):
        raise ValueError(rf"{where}: write '=', ',' and '\' in the value {value[:80]!r} as '\=', '\,' and '\\'")
    return FieldTerm(path, _ESCAPED.sub(r"\1", value), operator == "!=")

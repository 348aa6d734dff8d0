"""YAML as kube-apiserver reads it: YAML 1.1 with Go's ideas of numbers, and only what JSON can say as its outcome.

PyYAML scans and parses; what its events mean is decided here, because its own constructors know dates, sexagesimal
numbers and no ``y`` or ``0o17``.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from typing import Any, Final

import yaml

from kubewright_apiserver.json_tree import has_duplicates, read_whole

__all__ = ["MalformedYaml", "read_yaml"]

_Parser: Any = getattr(yaml, "CLoader", yaml.Loader)
_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_INTEGER: Final = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TAGGED: Final = {bool: "!!bool", int: "!!int", float: "!!float", str: "!!str", type(None): "!!null"}
_RESOLVABLE: Final = frozenset(_TAGGED.values())
_TOO_DEEP: Final = "exceeded max depth of 10000"
# The time that libyaml takes grows with the square of the depth, and more than this could not be stored.
_DEEPEST: Final = 250
_MOST_DIGITS: Final = 20
_UNESCAPABLE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\/")
# What is in JSON and not in YAML: the escapes of a slash and of half a character, and letters that nobody can see.
_UNLIKE: Final = re.compile(rb"\\(?:/|u[dD][89a-fA-F])|\x7f|\xc2[\x80-\x84\x86-\x9f]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])")


class MalformedYaml(ValueError):
    """A text that is no YAML, or nothing that JSON could say; the message is that of kube-apiserver."""


def read_yaml(data: bytes) -> tuple[Any, list[str]]:
    """The first document of a text as JSON would say it, and a message for each key that comes twice in a map.

    Maps are sorted by key, as they are on their way through Go. Later documents are not looked at.

    Raises ``MalformedYaml``.
    """
    value = _as_json(data)
    return (value, []) if value is not None else _read_yaml(data)


def _as_json(data: bytes) -> Any:
    """The outcome for a text that is JSON, as most clients send it; None if it is not or if YAML might read it else."""
    if data[:1] != b"{" or _UNLIKE.search(data) or not _is_unicode(data):
        return None
    try:
        value = read_whole(data)
    except ValueError:
        return None
    return None if has_duplicates(data, value) else value


def _is_unicode(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _read_yaml(data: bytes) -> tuple[Any, list[str]]:
    try:
        parser = _Parser(data)
        try:
            document = _Composer(parser, data).document()
        finally:
            parser.dispose()
        reader = _Reader()
        return reader.value(document), reader.duplicates
    except yaml.MarkedYAMLError as error:
        raise MalformedYaml(f"yaml: {_where(error)}{error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise MalformedYaml(f"yaml: {_reader_problem(error)}") from None
    except RecursionError:
        raise MalformedYaml(f"yaml: {_TOO_DEEP}") from None


def _where(error: yaml.MarkedYAMLError) -> str:
    # Go counts lines from 0, adds one for errors of the scanner only, and is silent about line 0.
    if error.problem_mark is not None and error.problem_mark.line:
        return f"line {error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)}: "
    if error.context_mark is not None and error.context_mark.line:
        return f"line {error.context_mark.line}: "
    return ""


def _reader_problem(error: yaml.reader.ReaderError) -> str:
    return "control characters are not allowed" if "not allowed" in error.reason else str(error.reason)


class _Node:
    __slots__ = ("children", "implicit", "kind", "line", "tag", "text")

    def __init__(self, kind: str, event: Any) -> None:
        self.kind: str = kind
        self.line = event.start_mark.line + 1
        self.tag: str = (getattr(event, "tag", None) or "").replace(_TAG, "!!")
        self.text: str = ""
        self.implicit: bool = False
        self.children: list[_Node] = []


class _Composer:
    """Makes a tree of nodes from the parser's events, without recursion; an alias is the node that it stands for."""

    def __init__(self, parser: Any, data: bytes) -> None:
        self._parser = parser
        self._anchors: dict[str, _Node] = {}
        self._text = data.decode(errors="replace") if b"\\/" in data else ""

    def document(self) -> _Node | None:
        parser = self._parser
        parser.get_event()
        start = parser.get_event()
        if not isinstance(start, yaml.DocumentStartEvent):
            return None
        if start.version not in (None, (1, 1)):
            raise MalformedYaml("yaml: found incompatible YAML document")
        root = self._node(parser.get_event())
        open_nodes = [root] if root.kind in ("map", "list") else []
        while open_nodes:
            event = parser.get_event()
            if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                open_nodes.pop()
                continue
            node = self._node(event)
            open_nodes[-1].children.append(node)
            if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                open_nodes.append(node)
                if len(open_nodes) > _DEEPEST:
                    raise MalformedYaml(f"yaml: {f'line {node.line}: ' if node.line > 1 else ''}{_TOO_DEEP}")
        return root

    def _node(self, event: Any) -> _Node:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.ScalarEvent):
            node = _Node("scalar", event)
            node.text = event.value
            node.implicit = event.implicit[0]
            if self._text and event.style == '"':
                self._check_escapes(event)
        else:
            node = _Node("map" if isinstance(event, yaml.MappingStartEvent) else "list", event)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _check_escapes(self, event: Any) -> None:
        """Newer libraries know the escape of a slash, which is JSON's; Go's does not."""
        written = self._text[event.start_mark.index : event.end_mark.index]
        found = _UNESCAPABLE.search(written)
        if found is not None:
            line = event.start_mark.line + written.count("\n", 0, found.start())
            raise MalformedYaml(f"yaml: {f'line {line + 1}: ' if line else ''}found unknown escape character")

    def _alias(self, event: Any) -> _Node:
        target = self._anchors.get(event.anchor)
        if target is None:
            raise MalformedYaml(f"yaml: unknown anchor '{event.anchor}' referenced")
        node = _Node("alias", event)
        node.text = event.anchor
        node.children = [target]
        return node


class _Reader:
    """Makes values of nodes, counting, so that a few aliases cannot stand for millions of values."""

    def __init__(self) -> None:
        self.duplicates: list[str] = []
        self._count = 0
        self._aliased = 0
        self._inside: list[_Node] = []

    def value(self, node: _Node | None) -> Any:
        if node is None:
            return None
        self._count_one()
        if node.kind == "scalar":
            return _jsonable(_scalar(node))
        if node.kind == "list":
            return [self.value(child) for child in node.children]
        if node.kind == "alias":
            return self._alias(node)
        values: dict[Any, Any] = {}
        self._fill(values, node)
        return {name: values[name] for name in sorted(values)}

    def _count_one(self) -> None:
        self._count += 1
        if not self._inside:
            return
        self._aliased += 1
        most = 0.99 - 0.89 * min(1, max(0, (self._count - 400_000) / 3_600_000))
        if self._aliased > 100 and self._count > 1000 and self._aliased / self._count > most:
            raise MalformedYaml("yaml: document contains excessive aliasing")

    def _alias(self, node: _Node) -> Any:
        self._enter(node)
        value = self.value(node.children[0])
        self._inside.pop()
        return value

    def _enter(self, node: _Node) -> None:
        if node in self._inside:
            raise MalformedYaml(f"yaml: anchor '{node.text}' value contains itself")
        self._inside.append(node)

    def _fill(self, values: dict[Any, Any], node: _Node) -> None:
        pairs = iter(node.children)
        for key, child in zip(pairs, pairs, strict=True):
            if key.kind == "scalar" and key.text == "<<" and (key.implicit or key.tag == "!!merge"):
                self._merge(values, child)
                continue
            said = self._key(key)
            value = self.value(child)
            name = _key_text(said, value)
            if name in values:
                self.duplicates.append(f"line {child.line}: key {_syntax(said)} already set in map")
            values[name] = value

    def _key(self, key: _Node) -> Any:
        if key.kind == "scalar":
            self._count_one()
            return _scalar(key)
        said = self.value(key)
        if isinstance(said, list | dict):
            raise MalformedYaml(f"yaml: invalid map key: {_syntax(said)}")
        return said

    def _merge(self, values: dict[Any, Any], node: _Node) -> None:
        if node.kind == "list":
            for child in reversed(node.children):
                self._merge_map(values, child)
        else:
            self._merge_map(values, node)

    def _merge_map(self, values: dict[Any, Any], node: _Node) -> None:
        target = node.children[0] if node.kind == "alias" else node
        if target.kind != "map":
            raise MalformedYaml("yaml: map merge requires map or sequence of maps as the value")
        self._count_one()
        if target is node:
            self._fill(values, target)
            return
        self._enter(node)
        self._count_one()
        self._fill(values, target)
        self._inside.pop()


def _scalar(node: _Node) -> Any:
    tag, text = node.tag, node.text
    if tag == "!!binary":
        return _binary(text)
    if tag == "!!str" or tag == "!" or (not tag and not node.implicit) or (tag and tag not in _RESOLVABLE):
        return text
    value = _plain(text)
    if not tag or _TAGGED[type(value)] == tag:
        return value
    if tag == "!!float" and type(value) is int:
        return float(value)
    raise MalformedYaml(f"yaml: cannot decode {_TAGGED[type(value)]} `{text}` as a {tag}")


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode(errors="replace")
    except binascii.Error:
        raise MalformedYaml("yaml: !!binary value contains invalid base64 data") from None


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    digits = text if text[0] == "." else text.replace("_", "")
    found = _INTEGER.fullmatch(digits)
    # More decimal digits than 64 bits hold are not even counted: Python limits them.
    if found is not None and len(found[5] or "") <= _MOST_DIGITS:
        integer = _integer(found)
        if -(2**63) <= integer < 2**64:
            return integer
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def _integer(found: re.Match[str]) -> int:
    sign, hexadecimal, octal, binary, decimal = found.groups()
    if hexadecimal:
        magnitude = int(hexadecimal, 16)
    elif octal:
        magnitude = int(octal, 8)
    else:
        magnitude = int(binary, 2) if binary else int(decimal)
    return -magnitude if sign == "-" else magnitude


def _jsonable(value: Any) -> Any:
    """What a number is after Go has written it as JSON and read it again."""
    if type(value) is float:
        if not math.isfinite(value):
            raise MalformedYaml(f"json: unsupported value: {_float_text(value)}")
        return int(value) if value.is_integer() and abs(value) < 2**63 else value
    if type(value) is int and value >= 2**63:
        return float(value)
    return value


def _float_text(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _key_text(said: Any, value: Any) -> str:
    if said is None:
        raise MalformedYaml(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {_syntax(value)}")
    if type(said) is bool:
        return "true" if said else "false"
    return f"{said:g}" if type(said) is float else str(said)


def _syntax(value: Any) -> str:
    """A value as Go source would say it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_syntax, value))}}}"
    if isinstance(value, dict):
        inner = ", ".join(f"{_syntax(key)}:{_syntax(item)}" for key, item in value.items())
        return f"map[interface {{}}]interface {{}}{{{inner}}}"
    return "<nil>" if value is None else str(value).lower()

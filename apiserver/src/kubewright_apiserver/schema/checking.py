"""``compile_check``: a schema as closures that tell whether a value is valid, fast; ``validation`` tells why not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Final

from kubewright_apiserver.schema.formats import effective_format, format_check
from kubewright_apiserver.schema.numbers import as_int64, fits, is_int64, is_multiple, is_whole, matches_enum
from kubewright_apiserver.schema.regexp import compile_regexp
from kubewright_apiserver.schema.structural import is_int_or_string
from kubewright_apiserver.schema.validation import declared_types

__all__ = ["Check", "Checks", "compile_check", "is_valid"]

Check = Callable[[Any], bool]
"""Whether a value of one Python type is valid."""

Checks = Mapping[type, Check | None]
"""The check for each Python type that may be there; None where all of that type are valid."""

_NAMES: Final[dict[type, str]] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
_BEYOND_RANGE: Final = frozenset(("allOf", "anyOf", "enum", "multipleOf", "not", "oneOf"))
_NOTHING: Final[dict[str, Any]] = {}


def _never(_: Any) -> bool:
    return False


def is_valid(checks: Checks, value: Any) -> bool:
    """Whether a value passes."""
    check = checks.get(type(value), _never)
    return check is None or check(value)


def compile_check(schema: dict[str, Any]) -> Checks:
    """The checks of a schema for values of each type."""
    checks: dict[type, Check | None] = {kind: _of_kind(schema, kind) for kind in _NAMES if _accepts(schema, kind)}
    floats = checks.get(float, _never)
    if int in checks:
        checks[int] = _plain_range(schema) or _integer_check(checks[int], floats)
    if (not declared_types(schema) or schema.get("nullable")) and not schema.get("enum"):
        checks[NoneType] = None
    return checks


def _integer_check(integers: Check | None, floats: Check | None) -> Check:
    """The check of integers; Go holds those that do not fit an int64 as floats."""

    def check(value: int) -> bool:
        if is_int64(value):
            return integers is None or integers(value)
        return floats is None or floats(float(value))

    return check


def _plain_range(schema: dict[str, Any]) -> Check | None:
    """The check of integers of which nothing but a range is asked, as most are; None for others."""
    if declared_types(schema) != ("integer",) or schema.keys() & _BEYOND_RANGE:
        return None
    is_short = effective_format(schema) == "int32"
    least, most = (-(2**31), 2**31 - 1) if is_short else (-(2**63), 2**63 - 1)
    bounds = [schema[name] for name in ("minimum", "maximum") if schema.get(name) is not None]
    if any(not fits(float(bound), "integer", "int32" if is_short else "") for bound in bounds):
        return _never
    if schema.get("minimum") is not None:
        least = max(least, int(schema["minimum"]) + bool(schema.get("exclusiveMinimum")))
    if schema.get("maximum") is not None:
        most = min(most, int(schema["maximum"]) - bool(schema.get("exclusiveMaximum")))
    return lambda value: least <= value <= most


def _accepts(schema: dict[str, Any], kind: type) -> bool:
    types, wanted_format = declared_types(schema), effective_format(schema)
    if not types and not wanted_format:
        return True
    if _NAMES[kind] in types or (kind is int and "number" in types) or (kind is float and "integer" in types):
        return True
    # Texts and lists get past a declared format, whatever the type.
    return kind in (str, list) and bool(wanted_format) and not {"number", "integer"} & {*types}


def _of_kind(schema: dict[str, Any], kind: type) -> Check | None:
    found: list[Check] = []
    if kind is str:
        found += _text_checks(schema)
    elif kind in (int, float):
        found += _number_checks(schema, kind)
    elif kind is list:
        found += _list_checks(schema)
    elif kind is dict:
        found += _object_checks(schema)
    found += _combined_checks(schema)
    if choices := schema.get("enum"):
        found.append(_enum_check(choices))
    return _all_of(found)


def _all_of(checks: list[Check]) -> Check | None:
    if len(checks) < 2:
        return checks[0] if checks else None
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _enum_check(choices: list[Any]) -> Check:
    texts = frozenset(choice for choice in choices if isinstance(choice, str))

    def check(value: Any) -> bool:
        if type(value) is str:
            return value in texts
        return any(matches_enum(value, choice) for choice in choices)

    return check


def _text_checks(schema: dict[str, Any]) -> list[Check]:
    found: list[Check] = []
    least, most = schema.get("minLength"), schema.get("maxLength")
    if least is not None:
        found.append(lambda value: len(value) >= least)
    if most is not None:
        found.append(lambda value: len(value) <= most)
    if pattern := schema.get("pattern"):
        found.append(compile_regexp(pattern).matches)
    check = format_check(effective_format(schema))
    return found if check is None else [*found, check]


def _number_checks(schema: dict[str, Any], kind: type) -> list[Check]:
    types = declared_types(schema)
    declared = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    number_format = effective_format(schema) if declared else ""
    bounds = [schema[name] for name in ("multipleOf", "minimum", "maximum") if schema.get(name) is not None]
    if any(not fits(float(bound), declared, number_format) for bound in bounds):
        return [_never]
    convert = as_int64 if kind is int else float
    found: list[Check] = []
    if kind is float and "integer" in types and "number" not in types:
        found.append(is_whole)
    if number_format in ("int32", "float") or (kind is float and declared == "integer"):
        found.append(lambda value: fits(value, declared, number_format))
    if (factor := schema.get("multipleOf")) is not None:
        found.append(_multiple_check(convert(factor)))
    if (least := schema.get("minimum")) is not None:
        found.append(_least_check(convert(least), schema.get("exclusiveMinimum", False)))
    if (most := schema.get("maximum")) is not None:
        found.append(_most_check(convert(most), schema.get("exclusiveMaximum", False)))
    return found


def _multiple_check(factor: float) -> Check:
    if factor <= 0:
        return _never
    if isinstance(factor, int):
        return lambda value: value % factor == 0
    return lambda value: is_multiple(value, factor)


def _least_check(least: float, is_exclusive: bool) -> Check:
    return (lambda value: value > least) if is_exclusive else (lambda value: value >= least)


def _most_check(most: float, is_exclusive: bool) -> Check:
    return (lambda value: value < most) if is_exclusive else (lambda value: value <= most)


def _list_checks(schema: dict[str, Any]) -> list[Check]:
    found: list[Check] = []
    least, most, items = schema.get("minItems"), schema.get("maxItems"), schema.get("items")
    if least is not None:
        found.append(lambda value: len(value) >= least)
    if most is not None:
        found.append(lambda value: len(value) <= most)
    if isinstance(items, dict):
        found.append(_items_check(compile_check(items)))
    return found


def _items_check(checks: Checks) -> Check:
    get = checks.get

    def check(value: list[Any]) -> bool:
        for item in value:
            inner = get(type(item), _never)
            if inner is not None and not inner(item):
                return False
        return True

    return check


def _object_checks(schema: dict[str, Any]) -> list[Check]:
    found: list[Check] = []
    least, most, needed = schema.get("minProperties"), schema.get("maxProperties"), schema.get("required")
    if least is not None:
        found.append(lambda value: len(value) >= least)
    if most is not None:
        found.append(lambda value: len(value) <= most)
    if needed:
        keys = frozenset(needed)
        found.append(lambda value: keys <= value.keys())
    fields = {name: compile_check(inner) for name, inner in (schema.get("properties") or _NOTHING).items()}
    others = schema.get("additionalProperties")
    if others is False:
        found.append(lambda value: value.keys() <= fields.keys())
    if isinstance(others, dict):
        found.append(_map_check(fields, compile_check(others)))
    elif fields:
        found.append(_fields_check(fields))
    return found


def _fields_check(fields: dict[str, Checks]) -> Check:
    get = fields.get

    def check(value: dict[str, Any]) -> bool:
        for key, inner in value.items():
            checks = get(key)
            if checks is not None:
                test = checks.get(type(inner), _never)
                if test is not None and not test(inner):
                    return False
        return True

    return check


def _map_check(fields: dict[str, Checks], others: Checks) -> Check:
    get = fields.get

    def check(value: dict[str, Any]) -> bool:
        for key, inner in value.items():
            test = get(key, others).get(type(inner), _never)
            if test is not None and not test(inner):
                return False
        return True

    return check


def _combined_checks(schema: dict[str, Any]) -> list[Check]:
    found: list[Check] = []
    says_types_twice = bool(schema.get("x-kubernetes-int-or-string")) and is_int_or_string(schema)
    choices = [compile_check(choice) for choice in schema.get("anyOf") or () if not says_types_twice]
    if choices:
        found.append(lambda value: any(is_valid(choice, value) for choice in choices))
    if options := [compile_check(choice) for choice in schema.get("oneOf") or ()]:
        found.append(lambda value: sum(is_valid(option, value) for option in options) == 1)
    found += [_valid_by(compile_check(part)) for part in schema.get("allOf") or ()]
    if schema.get("not") is not None:
        excluded = compile_check(schema["not"])
        found.append(lambda value: not is_valid(excluded, value))
    return found


def _valid_by(checks: Checks) -> Check:
    return lambda value: is_valid(checks, value)

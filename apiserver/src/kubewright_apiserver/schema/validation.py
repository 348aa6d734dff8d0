"""``schema_errors``: what is wrong with a value by an OpenAPI schema, in kube-apiserver's words and order.

This is the slow half of validation, walked only for values that ``checking`` has found to be invalid.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubewright_apiserver.golang import go_json, go_number, go_quoted
from kubewright_apiserver.schema.correlation import Correlated
from kubewright_apiserver.schema.formats import effective_format, format_check
from kubewright_apiserver.schema.numbers import as_int64, fits, is_int64, is_multiple, is_whole, matches_enum
from kubewright_apiserver.schema.regexp import RegexpError, compile_regexp
from kubewright_apiserver.status import (
    FieldError,
    invalid_field,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)

__all__ = ["declared_types", "schema_errors"]

_KINDS: Final[dict[type, tuple[str, str]]] = {
    bool: ("boolean", ""),
    str: ("string", ""),
    int: ("integer", "int64"),
    float: ("number", "float64"),
    list: ("array", ""),
    dict: ("object", ""),
}
_META: Final = ("kind", "apiVersion")


def schema_errors(
    schema: dict[str, Any], value: Any, prefix: str = "", old: Correlated | None = None
) -> list[FieldError]:
    """The errors of a value; on an update, unchanged values that were invalid before are left alone."""
    result = _ratcheted(schema, value, "", old)
    return [_placed(error, prefix) for error in result.errors.values()]


def declared_types(schema: dict[str, Any]) -> tuple[str, ...]:
    """The types that a schema allows; none means any."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _placed(error: FieldError, prefix: str) -> FieldError:
    name = error.field.removeprefix(".")
    return error._replace(field=(f"{prefix}.{name}" if prefix and name else prefix or name) or "<nil>")


class _Result:
    """Errors by their text, for the same text is told once, and how much of the value was as it should be."""

    __slots__ = ("errors", "matched")

    def __init__(self, matched: int = 0) -> None:
        self.errors: dict[str, FieldError] = {}
        self.matched: int = matched

    def add(self, text: str, error: FieldError) -> None:
        self.errors.setdefault(text, error)

    def tell(self, text: str) -> None:
        """Add an error that is about no field in particular."""
        self.add(text, invalid_field("", "", text))

    def wrong(self, path: str, value: Any, text: str) -> None:
        text = f"{path} in body {text}"
        self.add(text, invalid_field(path, value, text))

    def merge(self, other: _Result) -> None:
        for text, error in other.errors.items():
            self.errors.setdefault(text, error)
        self.matched += other.matched


def _ratcheted(schema: dict[str, Any], value: Any, path: str, old: Correlated | None) -> _Result:
    result = _validated(schema, value, path, old)
    if result.errors and old is not None and old.is_unchanged():
        result.errors = {}
    return result


def _validated(schema: dict[str, Any], value: Any, path: str, old: Correlated | None = None) -> _Result:
    result = _Result()
    if isinstance(value, int) and not isinstance(value, bool) and not is_int64(value):
        value = float(value)
    if value is None:
        _check_null(schema, path, result)
        return result
    parts = [_type_result(schema, value, path)] if declared_types(schema) or effective_format(schema) else []
    parts.append(_combined_result(schema, value, path))
    if isinstance(value, str):
        parts += _text_results(schema, value, path)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        parts.append(_number_result(schema, value, path))
    elif isinstance(value, list):
        parts.append(_list_result(schema, value, path, old))
    parts.append(_enum_result(schema, value, path))
    if isinstance(value, dict):
        parts.append(_object_result(schema, value, path, old))
    for part in parts:
        result.merge(part)
    result.matched += len(parts) + 1
    return result


def _check_null(schema: dict[str, Any], path: str, result: _Result) -> None:
    types = declared_types(schema)
    if types and not schema.get("nullable"):
        _mistype(result, path, ",".join(types), "null")
    else:
        result.matched += 1
    result.merge(_enum_result(schema, None, path))


def _mistype(result: _Result, path: str, wanted: str, found: str) -> None:
    text = f"{path} in body must be of type {wanted}: {go_quoted(found)}"
    result.add(text, type_invalid(path, found, text))


def _type_result(schema: dict[str, Any], value: Any, path: str) -> _Result:
    result = _Result()
    types, wanted_format = declared_types(schema), effective_format(schema)
    kind, number_format = _KINDS[type(value)]
    is_accepted = (
        kind in types
        or (kind == "number" and "integer" in types and is_whole(value))
        or (kind == "integer" and "number" in types)
    )
    is_text_or_list = isinstance(value, str | list)
    if not is_text_or_list and wanted_format and not is_accepted and number_format != wanted_format:
        _mistype(result, path, wanted_format, number_format)
    elif is_text_or_list and wanted_format and not {"number", "integer"} & {*types}:
        result.matched = 1
    elif not is_accepted:
        _mistype(result, path, ",".join(types), kind)
    else:
        result.matched = 1
    return result


def _combined_result(schema: dict[str, Any], value: Any, path: str) -> _Result:
    result = _Result(matched=1)
    if schema.get("anyOf"):
        _check_any(schema["anyOf"], value, path, result)
    if schema.get("oneOf"):
        _check_one(schema["oneOf"], value, path, result)
    if schema.get("allOf"):
        _check_all(schema["allOf"], value, path, result)
    if schema.get("not") is not None and not _validated(schema["not"], value, path).errors:
        result.tell(f"{go_quoted(path)} must not validate the schema (not)")
    return result


def _check_any(choices: list[dict[str, Any]], value: Any, path: str, result: _Result) -> None:
    best: _Result | None = None
    for choice in choices:
        tried = _validated(choice, value, path)
        if not tried.errors:
            result.merge(tried)
            return
        if best is None or tried.matched > best.matched:
            best = tried
    result.tell(f"{go_quoted(path)} must validate at least one schema (anyOf)")
    if best is not None:
        result.merge(best)


def _check_one(choices: list[dict[str, Any]], value: Any, path: str, result: _Result) -> None:
    best: _Result | None = None
    valid: list[_Result] = []
    for choice in choices:
        tried = _validated(choice, value, path)
        if not tried.errors:
            valid.append(tried)
        elif best is None or tried.matched > best.matched:
            best = tried
    if len(valid) == 1:
        result.merge(valid[0])
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.tell(f"{go_quoted(path)} must validate one and only one schema (oneOf). {found}")
    if not valid and best is not None:
        result.merge(best)


def _check_all(parts: list[dict[str, Any]], value: Any, path: str, result: _Result) -> None:
    tried = [_validated(part, value, path) for part in parts]
    for one in tried:
        result.merge(one)
    invalid = sum(bool(one.errors) for one in tried)
    if invalid:
        none = ". None validated" if invalid == len(parts) else ""
        result.tell(f"{go_quoted(path)} must validate all the schemas (allOf){none}")


def _text_results(schema: dict[str, Any], value: str, path: str) -> list[_Result]:
    result = _Result()
    most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
    if most is not None and len(value) > most:
        result.add(f"{path} in body should be at most {most} chars long", too_long(path, most))
    elif least is not None and len(value) < least:
        result.wrong(path, value, f"should be at least {least} chars long")
    elif pattern:
        _check_pattern(pattern, value, path, result)
    check = format_check(effective_format(schema))
    if check is None:
        return [result]
    formatted = _Result()
    if not check(value):
        text = f"{path} in body must be of type {schema['format']}: {go_quoted(value)}"
        formatted.add(text, type_invalid(path, value, text))
    return [result, formatted]


def _check_pattern(pattern: str, value: str, path: str, result: _Result) -> None:
    try:
        is_matched = compile_regexp(pattern).matches(value)
    except RegexpError as error:
        result.wrong(path, value, f"should match '{pattern}, but pattern is invalid: {error}'")
        return
    if not is_matched:
        result.wrong(path, value, f"should match '{pattern}'")


def _number_result(schema: dict[str, Any], value: float, path: str) -> _Result:
    result = _Result(matched=1)
    types = declared_types(schema)
    declared = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    number_format = effective_format(schema) if declared else ""

    def has_fitting(number: float, what: str) -> bool:
        if fits(number, declared, number_format):
            return True
        known = f"with format {number_format}" if number_format else "(default format)"
        result.tell(f"{what} value must be of type {declared} {known} in {path}")
        return False

    has_fitting(value, "Checked")
    if (factor := schema.get("multipleOf")) is not None:
        _check_multiple(value if has_fitting(float(factor), "MultipleOf") else float(value), factor, path, result)
    if (least := schema.get("minimum")) is not None:
        exact = has_fitting(float(least), "Minimum boundary")
        least = _Bound(float(least), schema.get("exclusiveMinimum", False), "greater")
        _check_bound(value if exact else float(value), least, path, result)
    if (most := schema.get("maximum")) is not None:
        exact = has_fitting(float(most), "Maximum boundary")
        most = _Bound(float(most), schema.get("exclusiveMaximum", False), "less")
        _check_bound(value if exact else float(value), most, path, result)
    return result


def _check_multiple(value: float, factor: float, path: str, result: _Result) -> None:
    factor = as_int64(factor) if isinstance(value, int) else float(factor)
    if factor <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {go_number(factor)}"
        result.add(text, invalid_field(path, factor, text))
    elif value % factor != 0 if isinstance(value, int) else not is_multiple(value, factor):
        result.wrong(path, value, f"should be a multiple of {go_number(factor)}")


class _Bound(NamedTuple):
    limit: float
    is_exclusive: bool
    way: str


def _check_bound(value: float, bound: _Bound, path: str, result: _Result) -> None:
    limit = as_int64(bound.limit) if isinstance(value, int) else bound.limit
    is_beyond = value > limit if bound.way == "less" else value < limit
    if is_beyond or (bound.is_exclusive and value == limit):
        than = "than" if bound.is_exclusive else "than or equal to"
        result.wrong(path, value, f"should be {bound.way} {than} {go_number(limit)}")


def _list_result(schema: dict[str, Any], value: list[Any], path: str, old: Correlated | None) -> _Result:
    result = _Result(matched=1)
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            result.merge(_ratcheted(items, item, f"{path}[{index}]", old and old.at(index)))
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        result.wrong(path, len(value), f"should have at least {least} items")
    if most is not None and len(value) > most:
        result.add(f"{path} in body should have at most {most} items", too_many(path, len(value), most))
    return result


def _enum_result(schema: dict[str, Any], value: Any, path: str) -> _Result:
    result = _Result()
    choices = schema.get("enum")
    if choices and not any(matches_enum(value, choice) for choice in choices):
        told = [choice if isinstance(choice, str) else go_json(choice) for choice in choices]
        result.add(f"{path} in body should be one of {told}", not_supported(path, value, told))
    return result


def _object_result(schema: dict[str, Any], value: dict[str, Any], path: str, old: Correlated | None) -> _Result:
    result = _Result()
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        result.wrong(path, len(value), f"should have at least {least} properties")
    if most is not None and len(value) > most:
        result.add(f"{path} in body should have at most {most} properties", too_many(path, len(value), most))
    _check_others(schema, value, path, result, old)
    for key, inner in (schema.get("properties") or {}).items():
        if key in value:
            place = f"{path}.{key}" if path else key
            known = None if old is None or (not path and key in _META) else old.key(key)
            result.merge(_ratcheted(inner, value[key], place, known))
    for key in schema.get("required") or ():
        if key not in value:
            result.add(f"{path}.{key} in body is required", required(f"{path}.{key}"))
    return result


def _check_others(
    schema: dict[str, Any], value: dict[str, Any], path: str, result: _Result, old: Correlated | None
) -> None:
    others = schema.get("additionalProperties")
    for key in value:
        if key in (schema.get("properties") or {}):
            continue
        if others is False:
            text = f"{path}.{key} in body is a forbidden property"
            result.add(text, invalid_field(path, key, text))
        elif isinstance(others, dict):
            result.merge(_ratcheted(others, value[key], f"{path}.{key}", old and old.key(key)))

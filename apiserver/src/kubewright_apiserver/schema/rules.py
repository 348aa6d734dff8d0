"""``rule_errors``: what is wrong with the validation rules (``x-kubernetes-validations``) of a schema, rules unread.

The expressions themselves are neither compiled nor run here; this is the place where their errors will be added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.schema.fieldpath import FieldPathError, find_field
from kubewright_apiserver.status import FieldError, Printed, invalid_field, not_supported, required

__all__ = ["has_rules", "rule_errors"]

_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_NOTHING: Final[dict[str, Any]] = {}


def has_rules(schema: dict[str, Any]) -> bool:
    """Whether the schema has rules at any depth outside of anyOf and its kin."""
    inner = [*(schema.get("properties") or _NOTHING).values(), schema.get("items"), schema.get("additionalProperties")]
    return bool(schema.get("x-kubernetes-validations")) or any(has_rules(one) for one in inner if isinstance(one, dict))


def rule_errors(schema: dict[str, Any], path: str) -> list[FieldError]:
    """The errors in the rules of one schema, not of those inside of it."""
    errors: list[FieldError] = []
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        errors += _shape_errors(rule, schema, f"{path}.x-kubernetes-validations[{index}]")
    return errors


def _shape_errors(rule: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    yield from _message_errors(rule, path)
    expression, reason = rule.get("messageExpression", ""), rule.get("reason")
    if expression and not expression.strip():
        yield required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{path}.reason", Printed(go_json(reason)), _REASONS)
    yield from _field_path_errors(rule.get("fieldPath", ""), schema, f"{path}.fieldPath")


def _message_errors(rule: dict[str, Any], path: str) -> Iterator[FieldError]:
    written, message = rule.get("rule", "").strip(), rule.get("message", "")
    if not written:
        yield required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid_field(f"{path}.message", message, "must be non-empty if specified")
    elif re.search("[\n\r]", message.strip()):
        yield invalid_field(f"{path}.message", message, "must not contain line breaks")
    elif re.search("[\n\r]", written) and not message.strip():
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")


def _field_path_errors(field_path: str, schema: dict[str, Any], path: str) -> Iterator[FieldError]:
    if not field_path:
        return
    if not field_path.strip():
        yield invalid_field(path, field_path, "must be non-empty if specified")
    if re.search("[\n\r]", field_path):
        yield invalid_field(path, field_path, "must not contain line breaks")
    try:
        find_field(field_path, schema)
    except FieldPathError:
        yield invalid_field(path, field_path, "must be a valid path")

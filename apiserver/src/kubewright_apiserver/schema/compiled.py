"""``CompiledSchema``: the schema of one version of a custom resource, ready to prune, default and validate objects."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.schema.checking import compile_check, is_valid
from kubewright_apiserver.schema.correlation import Correlated
from kubewright_apiserver.schema.defaulting import compile_defaulter
from kubewright_apiserver.schema.embedded import MetadataRule, compile_coercer, compile_embedded_checker
from kubewright_apiserver.schema.listtypes import compile_list_checker
from kubewright_apiserver.schema.pruning import compile_pruner
from kubewright_apiserver.schema.validation import schema_errors
from kubewright_apiserver.status import FieldError

__all__ = ["CompiledSchema"]


def _no_rule(_: dict[str, Any]) -> list[FieldError]:
    return []


class CompiledSchema:
    """An ``openAPIV3Schema`` as closures. ``metadata_rule`` validates the metadata of embedded resources."""

    def __init__(self, schema: dict[str, Any], *, metadata_rule: MetadataRule = _no_rule) -> None:
        self.schema: dict[str, Any] = schema
        self._prune = compile_pruner(schema, is_root=True)
        self._coerce = compile_coercer(schema)
        self._coerce_stored = compile_coercer(schema, is_lenient=True)
        self._default = compile_defaulter(schema)
        self._checks = compile_check(schema)
        self._list_errors = compile_list_checker(schema)
        self._embedded_errors = compile_embedded_checker(schema, metadata_rule)
        status = (schema.get("properties") or {}).get("status")
        self._status = status if isinstance(status, dict) else None
        self._status_checks = compile_check(self._status) if self._status is not None else None

    def prune(self, obj: dict[str, Any]) -> list[str]:
        """Drop what the schema does not name, and nulls that it has no use for; the paths of unknown fields, sorted.

        Metadata of embedded resources is read and written as the server does, its unknown fields come last.

        Raises:
            CoercionError: an embedded resource cannot be read.
        """
        dropped = sorted(self._prune(obj) or ())
        return dropped if self._coerce is None else dropped + sorted(self._coerce(obj, ""))

    def prune_stored(self, obj: dict[str, Any]) -> None:
        """Drop from an object that comes from the store what the schema does not name, which may be newer than it.

        Metadata of embedded resources that cannot be read is dropped too.
        """
        self._prune(obj)
        if self._coerce_stored is not None:
            self._coerce_stored(obj, "")

    def default(self, obj: dict[str, Any]) -> None:
        """Fill in the defaults, for what comes in a request as for what comes from the store."""
        if self._default is not None:
            self._default(obj)

    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        """The errors of an object by the schema alone: without its metadata, lists and embedded resources.

        Given the object before an update, values that were invalid and did not change are let pass.
        """
        if is_valid(self._checks, obj):
            return []
        return schema_errors(self.schema, obj, "", Correlated(self.schema, obj, old) if old is not None else None)

    def validate_status(self, obj: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
        """The errors of an object's status, which is all that an update of the status is checked for."""
        if self._status is None or self._status_checks is None or "status" not in obj:
            return []
        if is_valid(self._status_checks, obj["status"]):
            return []
        correlated = Correlated(self.schema, obj, old).key("status")
        return schema_errors(self._status, obj["status"], "status", correlated)

    def embedded_errors(self, obj: dict[str, Any]) -> list[FieldError]:
        """The errors of resources inside of the object."""
        return [] if self._embedded_errors is None else self._embedded_errors(obj, "")

    def list_errors(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        """What is twice in lists of type set or map; none if that was wrong before an update too."""
        if self._list_errors is None:
            return []
        errors = self._list_errors(obj)
        return [] if errors and old is not None and self._list_errors(old) else errors

"""What ``msgspec.Meta`` says of a value, in the words of a schema."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.kinds.apiextensions_v1 import JSONSchemaProps

__all__ = ["constrain"]

_LENGTHS: Final = {"string": "Length", "array": "Items", "object": "Properties"}


def constrain(schema: dict[str, Any], meta: msgspec.Meta, where: str) -> None:
    """Add to the schema what the annotation says; ``extra_json_schema`` goes over everything else.

    *Raises* ``TypeError`` for a key that Kubernetes' schemas do not have.
    """
    said: dict[str, Any] = {
        "minimum": meta.ge if meta.ge is not None else meta.gt,
        "exclusiveMinimum": True if meta.gt is not None else None,
        "maximum": meta.le if meta.le is not None else meta.lt,
        "exclusiveMaximum": True if meta.lt is not None else None,
        "multipleOf": meta.multiple_of,
        "pattern": meta.pattern,
        "title": meta.title,
        "description": meta.description,
    }
    length = _LENGTHS.get(schema.get("type", ""))
    if length:
        said |= {f"min{length}": meta.min_length, f"max{length}": meta.max_length}
    schema |= {key: value for key, value in said.items() if value is not None}
    extra = meta.extra_json_schema or {}
    unknown = [key for key in extra if key not in JSONSchemaProps.__struct_encode_fields__]
    if unknown:
        raise TypeError(f"{where}: extra_json_schema has {unknown[0]!r}, which schemas of Kubernetes do not have")
    schema |= extra

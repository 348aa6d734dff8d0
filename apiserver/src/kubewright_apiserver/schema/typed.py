"""Built-in types as msgspec Structs: one C-speed pass checks an object, and one writes it as Go would.

What msgspec refuses is not yet wrong: nulls and unknown fields are legal in a request. ``mismatch`` looks at that more
slowly and either tells what is wrong or hands back an object that passes here.
"""

from __future__ import annotations

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final

import msgspec

from kubewright_apiserver.schema.go_time import canonical_microtime, canonical_time
from kubewright_apiserver.schema.go_types import GoField, GoType, go_type_of
from kubewright_apiserver.schema.quantity import canonical_quantity

__all__ = ["convert", "written"]

_INT32: Final = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_INT64: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class _Opaque:
    """A value of a type that reads and writes its own JSON."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        raise ValueError

    def write(self) -> Any:
        return self.value


class _Quantity(_Opaque):
    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        return cls(canonical_quantity(value if type(value) is str else _number_text(value)))


class _Time(_Opaque):
    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        return cls(canonical_time(_text(value)))


class _MicroTime(_Opaque):
    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        return cls(canonical_microtime(_text(value)))


class _Float(_Opaque):
    """Go writes whole numbers without a fraction."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        if type(value) is float and value.is_integer() and abs(value) < 2**63:
            return cls(int(value))
        if type(value) in (int, float):
            return cls(value)
        raise ValueError


class _Raw(_Opaque):
    """Anything, kept as it is."""

    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        return cls(value)


class _Fields(_Raw):
    """Who owns which fields; its order is not that of other maps, so it is put in its place at the end."""

    __slots__ = ()

    def write(self) -> Any:
        return None


class _Schema(_Opaque):
    """A JSON schema, which is inside of itself; in some places something simpler may stand for it."""

    __slots__ = ()
    simpler: type | tuple[type, ...] = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        if isinstance(value, cls.simpler):
            return cls([_Schema.read(item) for item in value] if isinstance(value, list) else value)
        return cls(convert(value, go_type_of(_PROPS)))


class _SchemaOrBool(_Schema):
    __slots__ = ()
    simpler = bool


class _SchemaOrArray(_Schema):
    __slots__ = ()
    simpler = list


class _SchemaOrStrings(_Opaque):
    __slots__ = ()

    @classmethod
    def read(cls, value: Any) -> _Opaque:
        if isinstance(value, list) and value and all(type(item) is str for item in value):
            return cls(value)
        return _Schema.read(value)


_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_TYPES: Final[dict[str, Any]] = {
    "string": str,
    "bool": bool,
    "bytes": bytes,
    "interface": Any,
    "float": _Float,
    "quantity": _Quantity,
    "time": _Time,
    "microtime": _MicroTime,
    "int-or-string": _INT32 | str,
    "raw": _Raw,
    "schema-or-array": _SchemaOrArray,
    "schema-or-bool": _SchemaOrBool,
    "schema-or-strings": _SchemaOrStrings,
}
_ZEROS: Final[dict[str, Any]] = {
    "string": "", "bool": False, "int": 0, "bytes": b"", "float": 0, "int-or-string": 0
}  # fmt: skip


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _number_text(value: Any) -> str:
    if type(value) is not int:
        raise ValueError
    return str(value)


def convert(value: Any, go_type: GoType) -> Any:
    """The object as a Struct.

    Raises ``msgspec.ValidationError`` or ``ValueError`` unless it is exactly of the type: no null where Go has no
    pointer, no unknown field.
    """
    return msgspec.convert(value, _struct(go_type), dec_hook=_read)


def written(struct: Any) -> dict[str, Any]:
    """A Struct as Go writes it: fields in its order, maps sorted, empty ones left out or not as each says."""
    if type(struct).__name__ in _RAW_INSIDE:
        plain: dict[str, Any] = msgspec.to_builtins(struct, enc_hook=_write)
    else:
        plain = msgspec.to_builtins(struct, enc_hook=_write, order="deterministic")
    metadata = plain.get("metadata")
    if metadata is not None and "managedFields" in metadata:
        _put_fields(struct, metadata["managedFields"])
    return plain


def _put_fields(struct: Any, entries: list[dict[str, Any]]) -> None:
    for entry, written_entry in zip(_get(_get(struct, "metadata"), "managedFields"), entries, strict=True):
        fields = _get(entry, "fieldsV1")
        if fields is not None:
            written_entry["fieldsV1"] = fields.value


def _get(struct: Any, name: str) -> Any:
    return getattr(struct, struct.__struct_fields__[struct.__struct_encode_fields__.index(name)])


# Sorting would reach into their raw data, whose order clients compare.
_RAW_INSIDE: Final = frozenset(("ControllerRevision", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate"))


def _read(opaque: type[_Opaque], value: Any) -> _Opaque:
    return opaque.read(value)


def _write(opaque: _Opaque) -> Any:
    return opaque.write()


@cache
def _struct(go_type: GoType) -> type[msgspec.Struct]:
    fields = [(f"field{index}", *_declared(name, field)) for index, (name, field) in enumerate(go_type.fields.items())]
    return msgspec.defstruct(
        go_type.struct_name, fields, omit_defaults=True, forbid_unknown_fields=True, gc=False, eq=False
    )


def _declared(name: str, field: GoField) -> tuple[Any, Any]:
    kind = field.type.kind
    if field.is_pointer:
        default = {"default": None} if field.omit else {"default_factory": _null}
        return _python_type(field.type) | None, msgspec.field(name=name, **default)
    if kind in ("slice", "map"):
        return _declared_collection(name, field)
    if kind == "struct":
        struct = _struct(field.type)
        return struct, msgspec.field(name=name, default_factory=struct)
    if kind in _ZEROS and field.omit and kind != "int-or-string":
        return _python_type(field.type), msgspec.field(name=name, default=_ZEROS[kind])
    return _declared_opaque(name, field)


def _declared_collection(name: str, field: GoField) -> tuple[Any, Any]:
    inner = _python_type(field.type)
    if field.omit:
        return inner, msgspec.field(name=name, default_factory=list if field.type.kind == "slice" else dict)
    return inner | None, msgspec.field(name=name, default_factory=_null)


def _declared_opaque(name: str, field: GoField) -> tuple[Any, Any]:
    kind, inner = field.type.kind, _python_type(field.type)
    if kind in ("time", "microtime", "raw"):
        default = {"default": None} if field.omit == "zero" else {"default_factory": _null}
        return inner | None, msgspec.field(name=name, **default)
    if kind == "quantity":
        return inner, msgspec.field(name=name, default_factory=_no_quantity)
    zero = _ZEROS[kind]
    return inner, msgspec.field(name=name, default_factory=lambda: zero)


def _python_type(go_type: GoType) -> Any:
    kind, item = go_type.kind, go_type.item
    if kind == "struct":
        return _Schema if go_type.definition == _PROPS else _struct(go_type)
    if go_type.definition == f"{_META}FieldsV1":
        return _Fields
    if kind == "int":
        return _INT32 if go_type.name == "int32" else _INT64
    if item is None:
        return _TYPES[kind]
    # A time that is null is one that nobody has set, in a map too.
    inner = _python_type(item) | None if item.kind in ("time", "microtime", "raw") else _python_type(item)
    return GenericAlias(list, (inner,)) if kind == "slice" else GenericAlias(dict, (str, inner))


def _null() -> None:
    return None


def _no_quantity() -> _Quantity:
    return _Quantity("0")

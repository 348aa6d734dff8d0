"""The messages of the built-in API: which fields each has, under which number, of which type."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from kubewright_apiserver.data import described_kinds, messages

__all__ = ["ENVELOPE", "LISTS", "Field", "Message", "definition_of", "message_of"]

ENVELOPE: Final = "io.k8s.apimachinery.pkg.runtime.Unknown"
"""The message around an object, which tells what it is."""
_TYPE: Final = "io.k8s.apimachinery.pkg.runtime.TypeMeta"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_UNDESCRIBED: Final = {
    ("", "APIVersions"): f"{_META}APIVersions",
    ("v1", "APIVersions"): f"{_META}APIVersions",
    ("", "APIResourceList"): f"{_META}APIResourceList",
    ("meta.k8s.io/v1", "PartialObjectMetadata"): f"{_META}PartialObjectMetadata",
    ("meta.k8s.io/v1", "PartialObjectMetadataList"): f"{_META}PartialObjectMetadataList",
    ("meta.k8s.io/v1beta1", "PartialObjectMetadata"): f"{_META}PartialObjectMetadata",
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"): (
        "io.k8s.apimachinery.pkg.apis.meta.v1beta1.PartialObjectMetadataList"
    ),
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"): "io.k8s.api.apidiscovery.v2.APIGroupDiscoveryList",
}
# What is around objects, and types that write their own form: message, number, Go's name, type.
_OWN_FORM: Final = {
    ENVELOPE: (
        "Unknown",
        ((1, "TypeMeta", _TYPE), (2, "Raw", "bytes"), (3, "ContentEncoding", "string"), (4, "ContentType", "string")),
    ),
    _TYPE: ("TypeMeta", ((1, "APIVersion", "string"), (2, "Kind", "string"))),
    f"{_META}Time": ("Timestamp", ((1, "Seconds", "*int64"), (2, "Nanos", "int32"))),
    f"{_META}MicroTime": ("Timestamp", ((1, "Seconds", "*int64"), (2, "Nanos", "int32"))),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("Quantity", ((1, "String_", "*string"),)),
}
LISTS: Final = "Items"
"""What Go calls the only field of a message that is a list in JSON."""


class Field(NamedTuple):
    """One field of a message."""

    number: int
    name: str
    """Its name in JSON; empty for a message whose fields are those of the outer one there."""
    go_name: str
    label: str
    """``""``, ``*`` for a pointer, ``[]`` for a list, ``{}`` for a map from text."""
    kind: str
    """``string``, ``bytes``, ``bool``, ``int32``, ``int64``, ``float64``, or the definition of a message."""


class Message(NamedTuple):
    """One type of messages."""

    definition: str
    go_name: str
    fields: tuple[Field, ...]
    """In the order of their numbers, which is that on the wire."""


@cache
def message_of(definition: str) -> Message:
    """The message of a definition.

    Raises ``KeyError`` if it has none.
    """
    if definition in _OWN_FORM:
        go_name, parts = _OWN_FORM[definition]
        own = (Field(number, name, name, *_split(kind)) for number, name, kind in parts)
        return Message(definition, go_name, tuple(own))
    package, _, go_name = definition.rpartition(".")
    fields = []
    for number, (name, kind, *names) in messages()[definition].items():
        label, kind = _split(kind)
        kind = package + kind if kind.startswith(".") else kind
        fields.append(Field(int(number), name, names[0] if names else name[0].upper() + name[1:], label, kind))
    return Message(definition, go_name, tuple(fields))


def _split(labelled: str) -> tuple[str, str]:
    kind = labelled.lstrip("*[]{}")
    return labelled[: len(labelled) - len(kind)], kind


@cache
def _definitions() -> dict[tuple[str, str], str]:
    found = {
        (f"{kind['group']}/{kind['version']}".removeprefix("/"), kind["kind"]): definition
        for definition, kinds in described_kinds().items()
        for kind in kinds
    }
    return found | _UNDESCRIBED


def definition_of(api_version: str, kind: str) -> str:
    """The definition of an object that says what it is.

    Raises ``KeyError`` for what is no built-in kind.
    """
    return _definitions()[api_version, kind]

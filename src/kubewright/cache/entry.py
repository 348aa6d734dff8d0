"""``Entry``: one object as the cache holds it: its JSON as bytes, and as much metadata as choosing it needs.

On the path of one change the reflector makes entries of what the watch brings, by an ``Intake``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kubewright.api import Key, Resource, decode
from kubewright.errors import Undecodable

__all__ = ["Entry", "Intake", "Owner", "Transform", "TransformFailed", "is_newer", "is_older", "number_of"]

R = TypeVar("R", bound=Resource)

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Gets an object as JSON has it and gives it as the cache shall hold it; name, namespace, uid and version must stay."""

_MANAGED: Final = b'"managedFields":['
_MOST_SHARED: Final = 1000
_NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An owner reference, shared by all entries that have the same."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _More(msgspec.Struct):
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class _WithMore(msgspec.Struct):
    metadata: _More


_with_more = msgspec.json.Decoder(_WithMore).decode


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One object: its bytes, and the metadata that is read without decoding them.

    *Guarantees*: nothing of it can be changed. ``annotations`` and ``finalizers`` are decoded at each touch, for they
    may be large.
    """

    key: Key
    uid: str
    resource_version: str
    generation: int
    is_deleting: bool
    labels: Mapping[str, str]
    owner_references: tuple[Owner, ...]
    data: bytes
    """The object as JSON; empty if the transform failed on it."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.key.name

    @property
    def namespace(self) -> str:
        """Its namespace, empty if it is cluster-scoped."""
        return self.key.namespace

    @property
    def annotations(self) -> dict[str, str]:
        """Its annotations."""
        return self._more().annotations or {}

    @property
    def finalizers(self) -> list[str]:
        """What must be done before it can be gone."""
        return self._more().finalizers or []

    @property
    def is_gone(self) -> bool:
        """Whether nothing keeps it any more: in the answer to a write this says that the object is deleted."""
        if not self.is_deleting:
            return False
        document = msgspec.json.decode(self.data)
        metadata, spec = document["metadata"], document.get("spec")
        # Namespaces keep theirs in the spec.
        finalizers = spec.get("finalizers") if isinstance(spec, dict) else None
        return not (metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or finalizers)

    def decode(self, kind: type[R]) -> R:
        """The object, a new one each time; raises ``Undecodable`` if it does not fit its type."""
        if not self.data:
            raise Undecodable(f'{kind.__name__} "{self.key}" could not be transformed; the log says why')
        return decode(kind, self.data)

    def _more(self) -> _More:
        return _with_more(self.data).metadata if self.data else _More()


def number_of(revision: str) -> int | None:
    """The revision as a number, by which revisions can be compared; None if it is none."""
    return int(revision) if revision.isascii() and revision.isdigit() else None


def is_older(revision: str, other: str) -> bool:
    """Whether a revision is known to be earlier than another."""
    mine, others = number_of(revision), number_of(other)
    return mine is not None and others is not None and mine < others


def is_newer(revision: str, other: str) -> bool:
    """Whether a revision is later than another; where that cannot be known, whether it is another."""
    mine, others = number_of(revision), number_of(other)
    return revision != other if mine is None or others is None else mine > others


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = msgspec.Raw()
    owner_references: msgspec.Raw = msgspec.Raw()
    managed_fields: msgspec.Raw = msgspec.Raw()


class _Object(msgspec.Struct):
    metadata: _Metadata


class _Manager(msgspec.Struct):
    manager: str = ""


class _MetadataAlone(msgspec.Struct):
    metadata: msgspec.Raw


_object = msgspec.json.Decoder(_Object).decode
_labels = msgspec.json.Decoder(dict[str, str] | None).decode
_owners = msgspec.json.Decoder(tuple[Owner, ...] | None).decode
_managers = msgspec.json.Decoder(list[_Manager]).decode
_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
_pieces = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_metadata_alone = msgspec.json.Decoder(_MetadataAlone).decode


class Intake:
    """Makes entries of one kind's objects as the server sent them.

    ``keep_managed_fields`` keeps all of them, none, or those of managers whose name begins with a text.
    """

    def __init__(
        self,
        kind: str,
        *,
        keep_managed_fields: bool | str = False,
        transform: Transform | None = None,
        metadata_only: bool = False,
    ) -> None:
        self._kind = kind
        self._keep = keep_managed_fields
        self._mark = b'"manager":%s' % msgspec.json.encode(keep_managed_fields)[:-1]
        self._transform = transform
        self._metadata_only = metadata_only
        self._shared_labels: dict[bytes, Mapping[str, str]] = {}
        self._shared_owners: dict[bytes, tuple[Owner, ...]] = {}
        self._shared_namespaces: dict[str, str] = {}

    def read(self, raw: bytes) -> Entry:
        """The entry of an object; raises ``Undecodable`` if its metadata cannot be read."""
        try:
            found = _object(raw).metadata
            if self._keep is not True and len(found.managed_fields) > 4:
                raw = _cut(raw, found.managed_fields, self._kept(found.managed_fields))
            if self._metadata_only:
                raw = b'{"metadata":%s}' % bytes(_metadata_alone(raw).metadata)
            if self._transform is None:
                return self._entry(found, raw)
        except msgspec.DecodeError as error:
            raise Undecodable(f"{self._kind}: the metadata of an object cannot be read: {error}") from None
        return self._transformed(found, raw, self._transform)

    def _entry(self, found: _Metadata, data: bytes) -> Entry:
        namespace = self._shared_namespaces.setdefault(found.namespace, found.namespace)
        return Entry(
            Key(namespace, found.name),
            found.uid,
            found.resource_version,
            found.generation,
            found.deletion_timestamp is not None,
            self._labels(found.labels) if found.labels else _NO_LABELS,
            self._owners(found.owner_references) if found.owner_references else (),
            data,
        )

    def _transformed(self, found: _Metadata, raw: bytes, transform: Transform) -> Entry:
        whole = self._entry(found, raw)
        try:
            data = msgspec.json.encode(transform(msgspec.json.decode(raw)))
            entry = self._entry(_object(data).metadata, data)
        except Exception as error:
            raise TransformFailed(
                msgspec.structs.replace(whole, data=b""),
                f'{self._kind} "{whole.key}": its transform failed ({type(error).__name__}: {error})',
            ) from error
        if entry.key != whole.key or entry.resource_version != whole.resource_version or entry.uid != whole.uid:
            raise TransformFailed(
                msgspec.structs.replace(whole, data=b""),
                f'{self._kind} "{whole.key}": its transform changed name, namespace, uid or resourceVersion',
            )
        return entry

    def _labels(self, raw: msgspec.Raw) -> Mapping[str, str]:
        text = bytes(raw)
        found = self._shared_labels.get(text)
        if found is None:
            _make_room(self._shared_labels)
            found = self._shared_labels[text] = MappingProxyType(_labels(raw) or {})
        return found

    def _owners(self, raw: msgspec.Raw) -> tuple[Owner, ...]:
        text = bytes(raw)
        found = self._shared_owners.get(text)
        if found is None:
            _make_room(self._shared_owners)
            found = self._shared_owners[text] = _owners(raw) or ()
        return found

    def _kept(self, managed: msgspec.Raw) -> bytes:
        """What stays of the managed fields, as JSON; empty if nothing does."""
        if not isinstance(self._keep, str):
            return b""
        text = bytes(managed)
        if self._mark not in text and b'"manager":"' in text:
            return b""
        entries = zip(_items(managed), _managers(managed), strict=True)
        kept = [bytes(raw) for raw, entry in entries if entry.manager.startswith(self._keep)]
        return b"[%s]" % b",".join(kept) if kept else b""


class TransformFailed(Undecodable):
    """A transform failed on an object; ``entry`` holds its metadata, so that the cache knows that it exists."""

    def __init__(self, entry: Entry, message: str) -> None:
        super().__init__(message)
        self.entry: Entry = entry


def _make_room(shared: dict[bytes, Any]) -> None:
    """Forget what is shared when there is much of it: labels that come once each would pile up for ever."""
    if len(shared) >= _MOST_SHARED:
        shared.clear()


def _cut(raw: bytes, managed: msgspec.Raw, kept: bytes) -> bytes:
    """The object with ``kept`` in place of its managed fields, the rest byte by byte as it was."""
    at = raw.find(_MANAGED)
    begin = at + len(_MANAGED) - 1
    end = begin + len(managed)
    if at < 0 or raw.find(_MANAGED, end) >= 0 or not raw.startswith(managed, begin):
        return _cut_by_pieces(raw, kept)
    if kept:
        return raw[:begin] + kept + raw[end:]
    if raw[end] == ord(","):
        end += 1
    elif raw[at - 1] == ord(","):
        at -= 1
    return raw[:at] + raw[end:]


def _cut_by_pieces(raw: bytes, kept: bytes) -> bytes:
    """The same where it is not plain which bytes to cut: the words occur elsewhere too, or there are spaces."""
    pieces = _pieces(raw)
    metadata = _pieces(pieces["metadata"])
    metadata.pop("managedFields", None)
    if kept:
        metadata["managedFields"] = msgspec.Raw(kept)
    pieces["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode(pieces)

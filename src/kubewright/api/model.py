"""``Model``, the class of every typed part of an object: a msgspec Struct that speaks Kubernetes' JSON.

It is the ground of the ``api`` room; ``Resource`` and all generated kinds stand on it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, dataclass_transform

import msgspec
from msgspec import UNSET, UnsetType, field

if sys.version_info >= (3, 14):
    import annotationlib

__all__ = ["UNSET", "ListMap", "ListSet", "Model", "ModelMeta", "UnsetType", "field", "omit_empty"]

T = TypeVar("T")


class ListMap:
    """Marks a list whose items are told apart by keys, as Kubernetes' ``x-kubernetes-list-type: map``.

    >>> from typing import Annotated
    >>> class Component(Model):
    ...     name: str
    >>> class Spec(Model):
    ...     components: Annotated[list[Component], ListMap("name")]
    """

    __slots__ = ("keys",)

    def __init__(self, *keys: str) -> None:
        if not keys:
            raise TypeError("ListMap needs at least one key: the wire name of the field that tells the items apart")
        self.keys: Final = keys

    def __repr__(self) -> str:
        return f"ListMap({', '.join(map(repr, self.keys))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListMap) and other.keys == self.keys

    def __hash__(self) -> int:
        return hash(self.keys)


class ListSet:
    """Marks a list of scalars without duplicates, as Kubernetes' ``x-kubernetes-list-type: set``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ListSet()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListSet)

    def __hash__(self) -> int:
        return hash(ListSet)


class _Always:
    """A default that msgspec cannot recognise as one, so that it is written: apply must own what the user means."""

    __slots__ = ("make",)

    def __init__(self, value: object) -> None:
        immutable = isinstance(value, str | int | float | bool | bytes | tuple | frozenset)
        self.make: Any = (lambda: value) if immutable else (lambda: copy.deepcopy(value))

    def __call__(self) -> object:
        return self.make()


class _OmitEmpty:
    """What ``omit_empty`` leaves in a class body until the class is made."""

    __slots__ = ("kind", "name")

    def __init__(self, kind: type, name: str | None) -> None:
        self.kind = kind
        self.name = name


def omit_empty(kind: type[T], *, name: str | None = None) -> T:
    """A default of the type's empty value that is left out on the wire, for fields whose absence means empty.

    Any other default is always written, except None and UNSET. ``kind`` is one of list, dict, str, int, float, bool;
    ``name`` is the wire name where camelCase of the Python name is not it.
    """
    return cast("T", _OmitEmpty(kind, name))


def _annotated_names(namespace: dict[str, Any]) -> Iterable[str]:
    if sys.version_info >= (3, 14) and "__annotations__" not in namespace:
        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is None:
            return ()
        return list(annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF))
    return list(namespace.get("__annotations__", ()))


def _written(default: Any) -> Any:
    """The default as msgspec must see it so that only None, UNSET and ``omit_empty`` are left out."""
    if default is None or default is UNSET or callable(getattr(default, "__get__", None)):
        return default
    if isinstance(default, _OmitEmpty):
        empty = default.kind()
        if isinstance(empty, list | dict):
            return field(default_factory=default.kind, name=default.name)
        return field(default=empty, name=default.name)
    if type(default) is type(field()):
        return _written_field(default)
    return field(default_factory=_Always(default))


def _written_field(declared: Any) -> Any:
    name = declared.name
    if declared.default is not msgspec.NODEFAULT:
        inner = _written(declared.default)
        if type(inner) is type(declared):
            return field(default_factory=inner.default_factory, name=name)
        return field(default=inner, name=name)
    if declared.default_factory is not msgspec.NODEFAULT:
        factory = declared.default_factory
        return field(default_factory=lambda: factory(), name=name)
    return declared


class ModelMeta(msgspec.StructMeta):
    """Makes Structs with keyword arguments, camelCase wire names, and defaults that are written."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> ModelMeta:
        """Make the class; see ``msgspec.Struct`` for ``config``."""
        for annotated in _annotated_names(namespace):
            if annotated in namespace:
                namespace[annotated] = _written(namespace[annotated])
        settings = {"kw_only": True, "omit_defaults": True, "repr_omit_defaults": True, "rename": "camel", **config}
        return super().__new__(mcs, name, bases, namespace, **settings)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Model(msgspec.Struct, metaclass=ModelMeta):
    """A typed part of an object: snake_case in Python, camelCase on the wire.

    Only ``None``, ``UNSET`` and what ``omit_empty`` declares are left out when written; every other value is sent,
    also when it equals the field's default, so that server-side apply owns what you mean. A field typed
    ``X | UnsetType | None = UNSET`` tells absent (UNSET) from null (None).

    >>> class Spec(Model):
    ...     node_count: int = 1
    ...     zone: str | None = None
    >>> Spec()
    Spec(node_count=1)
    """

    if TYPE_CHECKING:

        def __init_subclass__(cls, **config: Any) -> None:
            """Take msgspec's own class options."""

"""``Resource``: an object with a kind, a name and a version; typed, untyped or metadata alone."""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from kubewright.api.column import Column, ScalePaths
from kubewright.api.key import Key
from kubewright.api.metadata import Metadata, OwnerReference
from kubewright.api.model import Model, ModelMeta, field

__all__ = ["ApiResource", "MetadataOnly", "Resource", "ResourceMeta", "Unstructured"]

R = TypeVar("R", bound="Resource")

_BASE = "_kubewright_base"


class ApiResource(msgspec.Struct, frozen=True, kw_only=True):
    """Where the API server serves a kind: its group, version, plural and scope."""

    group: str
    version: str
    kind: str
    plural: str = ""
    """Lower-case plural as in URLs; empty when only discovery can tell."""
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    """Columns of ``kubectl get``, for a custom kind's definition."""
    scale: ScalePaths | None = None
    """Where its number of replicas is, if it has one that others may set."""

    @property
    def api_version(self) -> str:
        """``group/version``, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """``plural.group``, as a CRD is named and messages say it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """URL path of the collection, of one object, or of one of its subresources."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name is not None:
            parts.append(name)
        if subresource is not None:
            parts.append(subresource)
        return "/" + "/".join(parts)


def plural_of(kind: str) -> str:
    """The plural that Kubernetes guesses for a kind: ``Policy`` → ``policies``, ``Ingress`` → ``ingresses``."""
    word = kind.lower()
    if word.endswith("s"):
        return word + "es"
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + "s"


_OPTIONS = (
    "group",
    "version",
    "kind",
    "plural",
    "namespaced",
    "singular",
    "short_names",
    "categories",
    "columns",
    "scale",
)


class ResourceMeta(ModelMeta):
    """Takes ``group=``, ``version=`` and the other class options of ``Resource``."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any) -> ResourceMeta:
        """Make the class and its ``api_resource``."""
        options = {key: config.pop(key) for key in _OPTIONS if key in config}
        cls = super().__new__(mcs, name, bases, namespace, **config)
        if options:
            cls.api_resource = _api_resource(name, options)  # type: ignore[attr-defined]
            cls.api_version = cls.api_resource.api_version  # type: ignore[attr-defined]
            cls.kind = cls.api_resource.kind  # type: ignore[attr-defined]
        return cls  # type: ignore[return-value]


def _api_resource(class_name: str, options: dict[str, Any]) -> ApiResource:
    if "version" not in options or "group" not in options:
        raise TypeError(
            f"class {class_name}: a Resource needs both group= and version=, for example "
            f'class {class_name}(Resource, group="demo.example.com", version="v1")'
        )
    kind = options.get("kind", class_name)
    if not kind[:1].isupper():
        raise TypeError(f"class {class_name}: the kind {kind!r} must begin with a capital letter")
    return ApiResource(
        group=options["group"],
        version=options["version"],
        kind=kind,
        plural=options.get("plural", plural_of(kind)),
        namespaced=options.get("namespaced", True),
        singular=options.get("singular", kind.lower()),
        short_names=tuple(options.get("short_names", ())),
        categories=tuple(options.get("categories", ())),
        columns=tuple(options.get("columns", ())),
        scale=options.get("scale"),
    )


class Resource(Model, metaclass=ResourceMeta, dict=True):
    """An object of the API. Derive from it with the group and version of your kind.

    >>> class GreetingSpec(Model):
    ...     text: str
    >>> class Greeting(Resource, group="demo.example.com", version="v1"):
    ...     spec: GreetingSpec
    >>> Greeting.api_version, Greeting.kind, Greeting.api_resource.plural
    ('demo.example.com/v1', 'Greeting', 'greetings')
    >>> Greeting(metadata=Metadata(name="hello"), spec=GreetingSpec(text="hi")).name
    'hello'

    *Guarantees*: an object that was read keeps what the server sent; writing it sends only what you changed, and
    fields that its class does not know survive.
    """

    api_resource: ClassVar[ApiResource]
    api_version: ClassVar[str]
    kind: ClassVar[str]

    metadata: Metadata = field(default_factory=Metadata)

    if TYPE_CHECKING:

        def __init_subclass__(
            cls,
            *,
            group: str = "",
            version: str = "",
            kind: str = "",
            plural: str = "",
            namespaced: bool = True,
            singular: str = "",
            short_names: tuple[str, ...] = (),
            categories: tuple[str, ...] = (),
            columns: Sequence[Column] = (),
            scale: ScalePaths | None = None,
            **config: Any,
        ) -> None:
            """Take where the kind is served."""

    if not TYPE_CHECKING:  # With a __setattr__, type checkers would let any name pass.

        def __setattr__(self, name: str, value: object) -> None:
            # Resources have a __dict__ for the bytes they were read from; a misspelt field must not vanish in it.
            if name not in self.__struct_fields__ and not hasattr(type(self), name):
                raise AttributeError(f"{type(self).__name__} has no field {name!r}")
            super().__setattr__(name, value)

    def __copy__(self: R) -> R:
        twin = msgspec.structs.replace(self)
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self: R, memo: dict[int, object]) -> R:
        parts = {name: copy.deepcopy(getattr(self, name), memo) for name in self.__struct_fields__}
        twin = type(self)(**parts)
        twin.__dict__.update(self.__dict__)
        return twin

    @property
    def name(self) -> str:
        """The object's name, empty when it has none yet."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """The object's namespace, empty when it is cluster-scoped or not yet placed."""
        return self.metadata.namespace

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def owner_reference(self) -> OwnerReference:
        """A controlling reference to this object, to be put into an object that it owns."""
        return OwnerReference(
            api_version=self.api_version,
            kind=self.kind,
            name=self.metadata.name,
            uid=self.metadata.uid,
            controller=True,
            block_owner_deletion=True,
        )

    @property
    def controller_reference(self) -> OwnerReference | None:
        """The owner that controls this object, or None."""
        return next((owner for owner in self.metadata.owner_references if owner.controller), None)

    def is_controlled_by(self, owner: Resource) -> bool:
        """Whether ``owner`` (that very object, by uid) controls this one."""
        reference = self.controller_reference
        return reference is not None and bool(owner.metadata.uid) and reference.uid == owner.metadata.uid


class Unstructured(Resource):
    """An object of any kind without a Python type: metadata typed, the rest in ``content`` as JSON has it.

    >>> Widget = Unstructured.of("example.com/v1", "Widget")
    >>> widget = Widget(metadata=Metadata(name="a"), content={"spec": {"size": 3}})
    >>> widget["spec"]["size"]
    3
    """

    content: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(api_version: str, kind: str, *, plural: str = "", namespaced: bool = True) -> type[Unstructured]:
        """The untyped class of a kind; without ``plural`` the client asks discovery where it is served."""
        return _untyped(api_version, kind, plural, namespaced)

    @staticmethod
    def from_dict(document: dict[str, Any]) -> Unstructured:
        """An object from a JSON or YAML document that says its ``apiVersion`` and ``kind``."""
        missing = [key for key in ("apiVersion", "kind") if not isinstance(document.get(key), str)]
        if missing:
            raise ValueError(f"a Kubernetes object needs {' and '.join(missing)}; found only {sorted(document)[:8]}")
        rest = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
        metadata = msgspec.json.decode(msgspec.json.encode(document.get("metadata") or {}), type=Metadata)
        return Unstructured.of(document["apiVersion"], document["kind"])(metadata=metadata, content=rest)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]

    def __setitem__(self, key: str, value: object) -> None:
        self.content[key] = value

    def __delitem__(self, key: str) -> None:
        del self.content[key]

    def __contains__(self, key: object) -> bool:
        return key in self.content

    def get(self, key: str, default: Any = None) -> Any:
        """``content[key]``, or the default when it is absent."""
        return self.content.get(key, default)


class MetadataOnly(Resource):
    """The metadata of an object, without the rest: cheap to list, watch and label.

    >>> from kubewright.kinds.core_v1 import Secret
    >>> MetadataOnly.of(Secret).kind
    'Secret'
    """

    @staticmethod
    def of(kind: type[Resource]) -> type[MetadataOnly]:
        """The metadata-only class of a kind."""
        return _metadata_only(kind.api_resource)


@functools.cache
def _untyped(api_version: str, kind: str, plural: str, namespaced: bool) -> type[Unstructured]:
    group, _, version = api_version.rpartition("/")
    return ResourceMeta(
        kind,
        (Unstructured,),
        {"__module__": __name__},
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=namespaced,
    )  # type: ignore[return-value]


@functools.cache
def _metadata_only(resource: ApiResource) -> type[MetadataOnly]:
    options = {key: getattr(resource, key) for key in _OPTIONS}
    return ResourceMeta(resource.kind, (MetadataOnly,), {"__module__": __name__}, **options)  # type: ignore[return-value]

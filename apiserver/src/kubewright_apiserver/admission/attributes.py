"""``Attributes``: a request as admission plug-ins see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from kubewright_apiserver.status import Refusal, forbidden

__all__ = ["Act", "Attributes", "Cluster", "Object", "Rule"]

Object = dict[str, Any]


class Cluster(Protocol):
    """What plug-ins know of everything else that is stored. Objects that it gives are not to be changed."""

    def find(self, table: str, key: str) -> Object | None:
        """The object stored under a key of a table such as ``/pods``."""

    def listed(self, table: str, prefix: str = "") -> Sequence[Object]:
        """The objects of a table whose keys have the prefix."""

    def suffix(self) -> str:
        """Five letters that finish a generated name."""


class Attributes:
    """One write: what is written, over what, where, and by whom."""

    __slots__ = (
        "allows",
        "cluster",
        "name",
        "namespace",
        "obj",
        "old",
        "operation",
        "resource",
        "subresource",
        "warnings",
    )

    def __init__(
        self,
        cluster: Cluster,
        operation: str,
        resource: str,
        obj: Object,
        *,
        subresource: str = "",
        namespace: str = "",
        name: str = "",
        old: Object | None = None,
    ) -> None:
        self.cluster: Cluster = cluster
        self.operation: str = operation
        """CREATE, UPDATE or DELETE."""
        self.resource: str = resource
        """Group and plural, as in ``apps/deployments`` and ``/pods``."""
        self.subresource: str = subresource
        self.namespace: str = namespace
        self.name: str = name
        """The name in the address; empty on creating."""
        self.obj: Object = obj
        """What is written, to be changed in place; of a deletion what is there."""
        self.old: Object | None = old
        self.warnings: list[str] = []
        """What the client is told; plug-ins add to it."""
        self.allows: Callable[[str, str, str], bool] = _everything
        """Whether the user may do something: a verb, a resource as above, a name."""

    @property
    def known_as(self) -> str:
        """What refusals call the object."""
        metadata = self.obj.get("metadata") or {}
        return self.name or metadata.get("name") or metadata.get("generateName") or "Unknown"

    def refusal(self, why: str, causes: Sequence[Mapping[str, str]] = ()) -> Refusal:
        """403, in the words of a plug-in."""
        group, _, plural = self.resource.rpartition("/")
        refused = forbidden(group, plural, self.known_as, why)
        if not causes:
            return refused
        details = {**(refused.details or {}), "causes": [dict(cause) for cause in causes]}
        return Refusal(refused.code, refused.reason, refused.message, details=details)


def _everything(verb: str, resource: str, name: str) -> bool:
    return True


Act = Callable[[Attributes], None]


class Rule(NamedTuple):
    """When a plug-in acts, and what it does then."""

    plugin: str
    operations: tuple[str, ...]
    resource: str
    """A group and plural, or ``*`` for everything."""
    act: Act
    subresource: str = ""
    """The subresource that it is about, empty for none, or ``*`` for all and none."""
    validates: bool = False
    """Whether it only looks at what is about to be stored, after everything else was filled in and checked."""

    def is_about(self, operation: str, resource: str, subresource: str, *, validates: bool) -> bool:
        """Whether the plug-in acts on that."""
        return (
            self.validates is validates
            and operation in self.operations
            and self.resource in ("*", resource)
            and self.subresource in ("*", subresource)
        )

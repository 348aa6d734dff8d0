"""``Behaviour``: how the objects of a resource are read, filled in, checked and stored; built-in or custom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Protocol

from kubewright_apiserver.body import Body
from kubewright_apiserver.patch import Endpoint, FieldSet, Versions
from kubewright_apiserver.registry.served import Served
from kubewright_apiserver.schema.decoding import Decoded
from kubewright_apiserver.status import FieldError
from kubewright_apiserver.validation import Strategy

__all__ = ["Behaviour", "Request"]


class Request(Protocol):
    """What behaviours need to know of a request."""

    warnings: list[str]

    @property
    def field_validation(self) -> str:
        """Strict, Warn or Ignore."""


class Behaviour(ABC):
    """How the objects of one resource at one version behave."""

    served: Served
    strategy: Strategy
    is_stored_as_served: bool
    """Whether stored bytes can be answered as they are."""

    @abstractmethod
    def decode(self, body: Body, request: Request) -> dict[str, Any]:
        """The object in a body: of the right kind and types, known fields only, defaults filled in."""

    @abstractmethod
    def decode_patched(self, document: dict[str, Any], request: Request, is_strategic: bool = False) -> Decoded:
        """The object that a patch made, read as a body would be, and what strict clients want to hear of it."""

    @abstractmethod
    def finished(self, document: dict[str, Any]) -> dict[str, Any]:
        """The object that an apply made, read as a body would be."""

    @property
    @abstractmethod
    def versions(self) -> Versions:
        """The versions that server-side apply can see the objects in."""

    @property
    def reset_versions(self) -> tuple[str, ...]:
        """The versions in which an endpoint resets what cannot be written there."""
        return (self.served.api_version,)

    def endpoint(self, subresource: str) -> Endpoint:
        """What server-side apply must know of an endpoint."""
        found = self._endpoints.get(subresource)
        if found is None:
            resets = self.strategy.resets.get(subresource, ())
            version = self.served.api_version
            found = self._endpoints[subresource] = Endpoint(
                versions=self.versions,
                api_version=version,
                kind=self.served.kind,
                subresource=subresource,
                reset={version: FieldSet.of_paths(*resets) for version in self.reset_versions} if resets else {},
            )
        return found

    @cached_property
    def _endpoints(self) -> dict[str, Endpoint]:
        return {}

    def internal(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as strategies and rules know it; most are the same."""
        return obj

    def viewed(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object of this version as it would be answered in it, for those who own its fields."""
        return obj

    def internal_from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object as strategies and rules know it."""
        return self.from_storage(obj)

    @abstractmethod
    def from_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A stored object at this version."""

    @abstractmethod
    def to_storage(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object that strategies are done with, as it is stored."""

    @abstractmethod
    def prepare_create(self, obj: dict[str, Any], call: Any) -> None:
        """Do to a new object what its strategy does."""

    @abstractmethod
    def prepare_update(self, obj: dict[str, Any], live: dict[str, Any], call: Any) -> None:
        """Do to a changed object what its strategy does; its generation too."""

    @abstractmethod
    def validate_create(self, obj: dict[str, Any]) -> list[FieldError]:
        """What is wrong with a new object."""

    @abstractmethod
    def validate_update(self, obj: dict[str, Any], live: dict[str, Any], subresource: str) -> list[FieldError]:
        """What is wrong with a change."""

    @property
    def deprecations(self) -> list[str]:
        """What every client of this version is told."""
        return []

    def begin_deletion(self, obj: dict[str, Any], now: str) -> bool:
        """Do to an object that is to be deleted what its kind does; whether it must wait for others to end it."""
        return False

    def warnings(self, obj: dict[str, Any], live: dict[str, Any] | None, subresource: str = "") -> list[str]:
        """What clients should be told of an object that is accepted."""
        return []

    def grace_for(self, obj: dict[str, Any], wanted: int | None) -> int | None:
        """The seconds that an object is given to end, or None if it has no such thing."""
        return None

    @contextmanager
    def allocating(self, obj: dict[str, Any], live: dict[str, Any] | None, call: Any) -> Iterator[None]:
        """Give an object what only the server can give, for as long as the block does not fail."""
        yield

    has_consequences: bool = False
    """Whether other objects change with those of this resource."""

    async def follow(self, obj: dict[str, Any] | None, live: dict[str, Any] | None, call: Any) -> None:
        """Change what must change with an object that was stored, or is gone."""
        return

    def forget(self, obj: dict[str, Any], call: Any) -> None:
        """Give back what an object that is gone had; most have nothing."""
        return

"""``Call``: one request to a resource, with its parameters read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright_apiserver.defaulting import Context
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.path import Address
from kubewright_apiserver.registry import Served
from kubewright_apiserver.status import FieldError, Refusal, invalid, invalid_field, not_supported

__all__ = ["Call", "Reply"]

_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")


class Reply:
    """What is answered: a status, an object or bytes of JSON, or a stream of bytes."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self, status: int, body: Any = None, *, stream: Any = None, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.status: int = status
        self.body: Any = body
        self.stream: Any = stream
        self.headers: list[tuple[str, str]] = list(headers)


class Call:
    """One request to a resource."""

    def __init__(
        self,
        engine: Engine,
        served: Served,
        address: Address,
        *,
        method: str,
        query: Mapping[str, list[str]],
        headers: Mapping[str, str],
        body: bytes,
        user: str,
    ) -> None:
        self.engine: Engine = engine
        self.served: Served = served
        self.address: Address = address
        self.method: str = method
        self.query: Mapping[str, list[str]] = query
        self.headers: Mapping[str, str] = headers
        self.body: bytes = body
        self.user: str = user
        self.warnings: list[str] = []
        self.accept: str = ""
        """``""`` for whole objects, ``metadata`` for PartialObjectMetadata."""

    @property
    def key(self) -> str:
        """The key of the object in its table."""
        return f"{self.address.namespace}/{self.address.name}" if self.served.namespaced else self.address.name

    def parameter(self, name: str) -> str:
        """The first value of a query parameter, or an empty text."""
        values = self.query.get(name)
        return values[0] if values else ""

    def flag(self, name: str) -> bool:
        """A query parameter that is true or false."""
        return self.parameter(name).lower() in ("true", "1", "t")

    def number(self, name: str) -> int:
        """A query parameter that is a whole number, 0 if absent."""
        text = self.parameter(name)
        try:
            return int(text) if text else 0
        except ValueError:
            why = f'strconv.ParseInt: parsing "{text}": invalid syntax'
            raise Refusal(400, "BadRequest", why) from None

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be stored."""
        return bool(self.query.get("dryRun"))

    @property
    def manager(self) -> str:
        """Who owns what this call writes: as it says, or the first word of its User-Agent."""
        return self.parameter("fieldManager") or self.headers.get("user-agent", "").split("/")[0][:128]

    def check_write_options(self, kind: str) -> None:
        """Refuse unknown values of dryRun, fieldValidation and fieldManager; ``kind`` is CreateOptions and the like."""
        errors: list[FieldError] = []
        dry_run = self.query.get("dryRun", [])
        if any(value != "All" for value in dry_run):
            errors.append(not_supported("dryRun", list(dry_run), ["All"]))
        errors += _manager_errors(self.parameter("fieldManager"))
        validation = self.parameter("fieldValidation")
        if validation and validation not in _VALIDATIONS:
            errors.append(not_supported("fieldValidation", validation, ["", *_VALIDATIONS]))
        if errors:
            raise invalid("meta.k8s.io", kind, "", errors)

    @property
    def field_validation(self) -> str:
        """What to do with unknown and duplicate fields: Strict, Warn or Ignore."""
        return self.parameter("fieldValidation") or "Warn"

    def without_subresource(self) -> Call:
        """The same call to the object as a whole."""
        return self.at(self.address._replace(subresource=""))

    def at(self, address: Address) -> Call:
        """The same call to another address; warnings are told together."""
        call = Call(
            self.engine,
            self.served,
            address,
            method=self.method,
            query=self.query,
            headers=self.headers,
            body=self.body,
            user=self.user,
        )
        call.warnings = self.warnings
        return call

    def context(self) -> Context:
        """What strategies know of this request."""
        return Context(now=self.engine.timestamp(), new_uid=self.engine.new_uid, username=self.user)

    def conflict_name(self) -> tuple[str, str, str]:
        """Group, plural and name, as refusals take them."""
        return self.served.group, self.served.plural, self.address.name


def _manager_errors(manager: str) -> list[FieldError]:
    if len(manager.encode()) > 128:
        return [FieldError("Too long", "fieldManager", "may not be more than 128 bytes")]
    bad = next((index for index, letter in enumerate(manager) if not letter.isprintable()), None)
    if bad is None:
        return []
    return [invalid_field("fieldManager", manager, f"invalid character U+{ord(manager[bad]):04X} (at position {bad})")]

"""``Call``: one request to a resource, with its parameters read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright_apiserver.access import User
from kubewright_apiserver.defaulting import Context
from kubewright_apiserver.engine import Engine
from kubewright_apiserver.path import Address, is_true
from kubewright_apiserver.registry import Served
from kubewright_apiserver.status import FieldError, bad_request, invalid, invalid_field, not_supported

__all__ = ["Call", "Reply"]

_VALIDATIONS: Final = ("Ignore", "Strict", "Warn")
_LONGEST_MANAGER: Final = 128
_NUMBER: Final = re.compile("[+-]?[0-9]+")
_MOST_DIGITS: Final = 1000
_BEYOND: Final = 2**64


class Reply:
    """What is answered: a status, an object or bytes of JSON, or a stream of bytes.

    ``as_it_is`` says that the headers tell what the stream is, whatever the client would like.
    """

    __slots__ = ("as_it_is", "body", "headers", "status", "stream")

    def __init__(
        self,
        status: int,
        body: Any = None,
        *,
        stream: Any = None,
        headers: Sequence[tuple[str, str]] = (),
        as_it_is: bool = False,
    ) -> None:
        self.status: int = status
        self.as_it_is: bool = as_it_is
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
        user: User,
    ) -> None:
        self.engine: Engine = engine
        self.served: Served = served
        self.address: Address = address
        self.method: str = method
        self.query: Mapping[str, list[str]] = query
        self.headers: Mapping[str, str] = headers
        self.body: bytes = body
        self.user: User = user
        """Who asks, or whom they act as."""
        self.warnings: list[str] = []
        self.admitted_as: str = address.subresource
        """The subresource that admission is asked about."""
        self.accept: str = ""
        """``""`` for whole objects, else the version of PartialObjectMetadata that is shown of them."""
        self.table: str = ""
        """The version of the table that is shown of objects, empty if none is asked for."""
        self.is_protobuf: bool = False
        """Whether what is read is answered in protobuf; what is written is turned into that later."""

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
        values = self.query.get(name)
        return is_true(values[0]) if values else False

    def number(self, name: str) -> int:
        """A query parameter that is a whole number of 64 bits, 0 if absent."""
        values = self.query.get(name)
        if not values:
            return 0
        is_number = _NUMBER.fullmatch(values[0])
        number = int(values[0]) if is_number and len(values[0]) < _MOST_DIGITS else _BEYOND
        if is_number and -(2**63) <= number < 2**63:
            return number
        why = "value out of range" if is_number else "invalid syntax"
        raise bad_request(f'strconv.ParseInt: parsing "{values[0]}": {why}')

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be stored."""
        return bool(self.query.get("dryRun"))

    @property
    def manager(self) -> str:
        """Who owns what this call writes: as it says, or the first word of its User-Agent."""
        return self.parameter("fieldManager") or _manager_in(self.headers.get("user-agent", ""))

    def check_write_options(self, kind: str, others: Sequence[FieldError] = ()) -> None:
        """Refuse unknown values of dryRun, fieldValidation and fieldManager; ``kind`` is CreateOptions and the like.

        Other errors that were found in the options are told first.
        """
        errors = [*others, *_manager_errors(self.parameter("fieldManager"))]
        dry_run = self.query.get("dryRun", [])
        if any(value != "All" for value in dry_run):
            errors.append(not_supported("dryRun", list(dry_run), ["All"]))
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
        user = self.user
        return Context(
            now=self.engine.timestamp(),
            new_uid=self.engine.new_uid,
            username=user.name,
            user_uid=user.uid,
            groups=user.groups,
            extra=user.extra,
            warnings=self.warnings,
        )

    def conflict_name(self) -> tuple[str, str, str]:
        """Group, plural and name, as refusals take them."""
        return self.served.group, self.served.plural, self.address.name


def _manager_in(agent: str) -> str:
    """What comes before the first slash of a User-Agent: its printable letters, as many as fit into 128 bytes."""
    name = agent.partition("/")[0]
    if name.isascii() and name.isprintable():
        return name[:_LONGEST_MANAGER]
    # Headers come with bytes that are no UTF-8 as surrogates.
    text = name.encode(errors="surrogateescape").decode(errors="replace")
    printable = "".join(filter(str.isprintable, text))
    return printable.encode()[:_LONGEST_MANAGER].decode(errors="ignore")


def _manager_errors(manager: str) -> list[FieldError]:
    if len(manager.encode()) > _LONGEST_MANAGER:
        return [FieldError("Too long", "fieldManager", "may not be more than 128 bytes")]
    bad = [(letter, len(manager[:at].encode())) for at, letter in enumerate(manager) if not letter.isprintable()]
    return [
        invalid_field("fieldManager", manager, f"invalid character U+{ord(letter):04X} (at position {at})")
        for letter, at in bad
    ]

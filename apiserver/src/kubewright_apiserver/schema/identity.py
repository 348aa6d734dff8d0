"""What a body says it is, and whether that can become what is asked for."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, NamedTuple

from kubewright_apiserver.data import described_kinds
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.schema.go_values import go_name, tree_of
from kubewright_apiserver.schema.mismatch import Undecodable
from kubewright_apiserver.status import Refusal, bad_request

__all__ = ["Identity", "check_version", "definition_of", "identity_in", "unconvertible", "with_defaults"]

_STRUCT: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SCHEME: Final = 'in scheme "pkg/runtime/scheme.go:111"'
# Groups with a scheme of their own, in which no other group's kinds are known.
_SEPARATE: Final = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))
_PACKAGES: Final = {"": "core", "events.k8s.io": "core", "internal.apiserver.k8s.io": "apiserverinternal"}
_BEFORE: Final = re.compile(r"v\d+(alpha|beta)\d+")


class Identity(NamedTuple):
    """Group, version and kind."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        """``group/version``, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


def identity_in(value: Any) -> Identity:
    """What an object says that it is; empty where it says nothing. Names of fields are taken in any case here.

    Raises ``Undecodable``.
    """
    if value is not None and not isinstance(value, dict):
        what = go_name(tree_of(value))
        raise _unknowable(f"json: cannot unmarshal {what} into Go value of type {_STRUCT}")
    said = {"kind": "", "apiversion": ""}
    for name, inner in (value or {}).items():
        folded = name if name == "kind" else name.casefold()
        if folded in said and inner is not None:
            if not isinstance(inner, str):
                field = "kind" if folded == "kind" else "apiVersion"
                what = go_name(tree_of(inner))
                raise _unknowable(f"json: cannot unmarshal {what} into Go struct field .{field} of type string")
            said[folded] = inner
    group, slash, version = said["apiversion"].partition("/")
    if "/" in version:
        raise Undecodable(f"unexpected GroupVersion string: {said['apiversion']}")
    return Identity(group if slash else "", version if slash else group, said["kind"])


def _unknowable(why: str) -> Undecodable:
    return Undecodable(f"couldn't get version/kind; json parse error: {why}")


def with_defaults(said: Identity, expected: Identity) -> Identity:
    """What a body is where it leaves out what the address tells."""
    kind = said.kind or expected.kind
    if not said.version and said.group in ("", expected.group):
        return Identity(expected.group, expected.version, kind)
    return Identity(said.group, said.version, kind)


def definition_of(identity: Identity, expected: Identity) -> str | None:
    """The name of the schema of a kind as the scheme of the expected one knows it; None for older versions.

    Raises ``Undecodable`` for a kind that is not known there.
    """
    definition = _definitions().get(identity)
    if definition is not None and (identity.group == expected.group or expected.group not in _SEPARATE):
        return definition
    is_before = identity.group in (expected.group, "extensions") and bool(identity.group)
    if is_before and identity.kind == expected.kind and _BEFORE.fullmatch(identity.version):
        return None
    of = f"no kind {go_quoted(identity.kind)} is registered for version {go_quoted(identity.group_version)}"
    raise Undecodable(f"{of} {_SCHEME}")


@cache
def _definitions() -> dict[Identity, str]:
    found = {
        Identity(kind["group"], kind["version"], kind["kind"]): name
        for name, kinds in described_kinds().items()
        for kind in kinds
        if kind["kind"] not in ("DeleteOptions", "WatchEvent") or kind["group"] != "meta.k8s.io"
    }
    found[Identity("", "v1", "List")] = ""
    return found


def unconvertible(identity: Identity, expected: Identity) -> Undecodable | None:
    """The error for a kind that cannot become another; None for another version of the same."""
    if identity.kind == expected.kind and _package(identity.group) == _package(expected.group):
        return None
    if identity.kind == expected.kind and identity.group == "extensions":
        return None
    target = f"{_package(expected.group)}.{expected.kind}"
    return Undecodable(f"converting ({identity.version}.{identity.kind}) to ({target}): unknown conversion")


def _package(group: str) -> str:
    return _PACKAGES.get(group) or group.partition(".")[0]


def check_version(identity: Identity, expected: Identity) -> None:
    """Refuse (400) an object of another version than the address has."""
    if identity[:2] != expected[:2]:
        raise _other_version(identity, expected)


def _other_version(identity: Identity, expected: Identity) -> Refusal:
    data, wanted = identity.group_version, expected.group_version
    return bad_request(f"the API version in the data ({data}) does not match the expected API version ({wanted})")

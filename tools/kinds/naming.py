"""Python's names for Kubernetes' types and fields."""

from __future__ import annotations

import functools
import keyword
import re
from typing import Final

import msgspec

from kubewright.api import Resource

__all__ = ["class_name", "field_name", "module_name", "wire_name"]

_WORD: Final = re.compile(
    r"""
    [A-Z]{2,}s(?![a-z])        # the plural of an acronym: clusterIPs
    | V\d+(?:beta\d+)?         # a version: openAPIV3Schema, fieldsV1
    | [A-Z]+(?=V\d)            # the acronym before a version
    | [A-Z]+(?![a-z])\d*       # an acronym: hostPID, insecureSkipTLSVerify
    | [A-Z]?[a-z][a-z0-9]*
    | \d+
    """,
    re.VERBOSE,
)

# Inside a class these would hide the builtins that annotations need: resource.k8s.io has fields called int and bool.
_BUILTINS: Final = frozenset({"bool", "dict", "float", "int", "list", "str"})

_RESOURCE: Final = frozenset(dir(Resource))


def module_name(schema: str) -> str:
    """``io.k8s.api.apps.v1.Deployment`` → ``apps_v1``; what belongs to no group is in ``meta_v1``."""
    group, version = schema.split(".")[-3:-1]
    return f"{group}_{version}" if re.fullmatch(r"v\d+(beta\d+)?", version) else "meta_v1"


def class_name(schema: str) -> str:
    """``io.k8s.api.apps.v1.Deployment`` → ``Deployment``."""
    package, _, name = schema.rpartition(".")
    return f"Version{name}" if package.endswith(".version") else name


def field_name(wire: str, *, of_resource: bool = False) -> str:
    """``clusterIPs`` → ``cluster_ips``; with an underscore behind names that Python or ``Resource`` needs itself."""
    name = "_".join(word.lower() for part in wire.lstrip("$").split("-") for word in _WORD.findall(part))
    taken = keyword.iskeyword(name) or name in _BUILTINS or (of_resource and name in _RESOURCE)
    return f"{name}_" if taken else name


@functools.cache
def wire_name(name: str) -> str:
    """The name on the wire that a ``Model`` gives a field of this Python name, as msgspec itself makes it."""
    probe = msgspec.defstruct("Probe", [(name, int)], rename="camel")
    return probe.__struct_encode_fields__[0]

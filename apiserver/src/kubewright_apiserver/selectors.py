"""Selectors: which objects of a resource a list, watch or deletion of many is about.

``selection_of`` is where every request with ``labelSelector`` or ``fieldSelector`` passes; the store only ever sees the
predicate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

from kubewright_apiserver.label_selectors import LabelPredicate, label_predicate
from kubewright_apiserver.status import bad_request

__all__ = [
    "EVERYTHING",
    "FieldTerm",
    "Resource",
    "Selection",
    "field_terms",
    "label_predicate",
    "requires_single_name",
    "selectable_fields",
    "selection_of",
]

Read = Callable[[dict[str, Any]], str]
"""The value of a field of an object, as selectors compare it."""

_LONGEST_KEPT: Final = 1024
_PART: Final = re.compile(r"((?:[^,\\]++|\\(?s:.)|\\\Z)*+)(?:,|\Z)")
_OPERATOR: Final = re.compile("!=|==?")


class Resource(Protocol):
    """What a selection needs to know of the resource it selects from."""

    @property
    def group(self) -> str:
        """API group, empty for the core."""

    @property
    def version(self) -> str:
        """API version."""

    @property
    def plural(self) -> str:
        """Name of the resource."""

    @property
    def kind(self) -> str:
        """Kind of its objects."""

    @property
    def namespaced(self) -> bool:
        """Whether its objects are in namespaces."""

    @property
    def crd(self) -> dict[str, Any] | None:
        """The CustomResourceDefinition, or None for what is built in."""


class FieldTerm(NamedTuple):
    """One comparison of a field selector."""

    field: str
    value: str
    is_equal: bool
    """Whether the field must have the value, or must have another."""


class Selection(NamedTuple):
    """What a request selects."""

    labels: LabelPredicate | None
    fields: tuple[tuple[Read, str, bool], ...]
    name: str | None = None
    """The one name that can match, or None if several can."""

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.labels is None and not self.fields

    def matches(self, obj: dict[str, Any]) -> bool:
        """Whether an object is selected."""
        if self.labels is not None and not self.labels(obj["metadata"].get("labels") or {}):
            return False
        return all((read(obj) == value) is is_equal for read, value, is_equal in self.fields)


EVERYTHING: Final = Selection(None, ())
"""The selection of a request without selectors."""


def selection_of(resource: Resource, *, labels: str = "", fields: str = "", name: str = "") -> Selection:
    """What a request selects by its label selector, its field selector, and a name in its path.

    Raises ``Refusal`` (400) with kube-apiserver's text for a bad selector, and for a field that cannot be selected by.
    """
    if not (labels or fields or name):
        return EVERYTHING
    predicate = label_predicate(labels)
    terms = field_terms(fields)
    readers = _readers_of(resource)
    compiled = tuple((_reader(resource, readers, term.field), term.value, term.is_equal) for term in terms)
    single = requires_single_name(terms)
    if not name:
        return Selection(predicate, compiled, single)
    if not terms:
        return Selection(predicate, ((_name, name, True),), name)
    if single != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return Selection(predicate, compiled, name)


def requires_single_name(terms: tuple[FieldTerm, ...]) -> str | None:
    """The name that a field selector demands, or None."""
    return next((term.value for term in terms if term.is_equal and term.field == "metadata.name"), None)


def field_terms(selector: str) -> tuple[FieldTerm, ...]:
    r"""The comparisons of a selector such as ``metadata.name=a,spec.nodeName!=b``; ``\,`` and ``\=`` are data.

    Raises ``Refusal`` (400) for what is no field selector.
    """
    # Long ones are not kept: a thousand of them would be a gigabyte.
    return _kept_terms(selector) if len(selector) <= _LONGEST_KEPT else _terms(selector)


def _terms(selector: str) -> tuple[FieldTerm, ...]:
    parts = sorted(found[1] for found in _PART.finditer(selector))
    terms = (_term(part, selector) for part in parts if part)
    return tuple(term for term in terms if term.field or term.value)


_kept_terms: Final = lru_cache(maxsize=1024)(_terms)


def _term(part: str, selector: str) -> FieldTerm:
    found = _OPERATOR.search(part)
    if found is None:
        raise bad_request(f"invalid selector: '{selector}'; can't understand '{part}'")
    return FieldTerm(part[: found.start()], _unescaped(part[found.end() :]), found[0] != "!=")


def _unescaped(value: str) -> str:
    plain: list[str] = []
    is_escaped = False
    for letter in value:
        if is_escaped and letter not in "\\,=":
            raise bad_request(f"invalid field selector: invalid escape sequence: \\{letter}")
        if not is_escaped and letter in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(letter)}")
        is_escaped = letter == "\\" and not is_escaped
        if not is_escaped:
            plain.append(letter)
    if is_escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return "".join(plain)


def selectable_fields(group: str, plural: str, obj: dict[str, Any]) -> dict[str, str]:
    """The fields of an object of a built-in kind that selectors may name, with their values."""
    return {label: read(obj) for label, read in _BUILTIN.get((group, plural), _METADATA).items()}


def _readers_of(resource: Resource) -> Mapping[str, Read]:
    if resource.crd is None:
        return _BUILTIN.get((resource.group, resource.plural), _METADATA)
    readers = dict(_METADATA if resource.namespaced else _NAME)
    for version in resource.crd["spec"]["versions"]:
        if version["name"] == resource.version:
            for selectable in version.get("selectableFields") or ():
                label = selectable["jsonPath"].removeprefix(".")
                readers[label] = _at(*label.split("."))
    return readers


def _reader(resource: Resource, readers: Mapping[str, Read], label: str) -> Read:
    read = readers.get(label)
    if read is None:
        raise bad_request(_unknown(resource, label))
    return read


def _unknown(resource: Resource, label: str) -> str:
    key = (resource.group, resource.plural)
    if resource.crd is None and key not in _BUILTIN:
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    if key == ("batch", "jobs"):
        return f'field label "{label}" not supported for Job'
    if key == ("resource.k8s.io", "resourceslices"):
        return f"field label not supported for {resource.group}/{resource.version}, Kind={resource.kind}: {label}"
    return f"field label not supported: {label}"


def _printed(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _at(*path: str, absent: str = "") -> Read:
    def read(obj: dict[str, Any]) -> str:
        value: Any = obj
        for name in path:
            if not isinstance(value, dict):
                return absent
            value = value.get(name)
        return absent if value is None else _printed(value)

    return read


def _either(first: Read, second: Read) -> Read:
    return lambda obj: first(obj) or second(obj)


def _nothing(obj: dict[str, Any]) -> str:
    return ""


def _name(obj: dict[str, Any]) -> str:
    name: str = obj["metadata"].get("name") or ""
    return name


def _pod_ip(obj: dict[str, Any]) -> str:
    addresses = obj.get("status", {}).get("podIPs")
    return str(addresses[0].get("ip") or "") if addresses else ""


_NAME: Final[Mapping[str, Read]] = {"metadata.name": _name}
_METADATA: Final[Mapping[str, Read]] = {**_NAME, "metadata.namespace": _at("metadata", "namespace")}
_SIGNER: Final[Mapping[str, Read]] = {**_NAME, "spec.signerName": _at("spec", "signerName")}
_NODE_NAME: Final = _at("spec", "nodeName")
# An Event is one object in two groups; whichever form is stored, both groups' names of its fields find them.
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REPORTER: Final = _either(_at("reportingComponent"), _at("reportingController"))
_EVENT: Final[Mapping[str, Read]] = {**_METADATA, "reason": _at("reason"), "type": _at("type")}


def _involved(prefix: str) -> Mapping[str, Read]:
    return {f"{prefix}.{name}": _either(_at("involvedObject", name), _at("regarding", name)) for name in _INVOLVED}


_BUILTIN: Final[Mapping[tuple[str, str], Mapping[str, Read]]] = {
    ("", "pods"): {
        **_METADATA,
        "spec.nodeName": _NODE_NAME,
        "spec.host": _NODE_NAME,
        "spec.restartPolicy": _at("spec", "restartPolicy"),
        "spec.schedulerName": _at("spec", "schedulerName"),
        "spec.serviceAccountName": _at("spec", "serviceAccountName"),
        "spec.hostNetwork": _at("spec", "hostNetwork", absent="false"),
        "status.phase": _at("status", "phase"),
        "status.podIP": _pod_ip,
        "status.podIPs": _nothing,
        "status.nominatedNodeName": _at("status", "nominatedNodeName"),
    },
    ("", "nodes"): {**_NAME, "spec.unschedulable": _at("spec", "unschedulable", absent="false")},
    ("", "namespaces"): {**_NAME, "status.phase": _at("status", "phase")},
    ("", "secrets"): {**_METADATA, "type": _at("type")},
    ("", "services"): {**_METADATA, "spec.clusterIP": _at("spec", "clusterIP"), "spec.type": _at("spec", "type")},
    ("", "replicationcontrollers"): {**_METADATA, "status.replicas": _at("status", "replicas", absent="0")},
    ("", "events"): {
        **_EVENT,
        **_involved("involvedObject"),
        "reportingComponent": _REPORTER,
        "source": _either(_either(_at("source", "component"), _at("deprecatedSource", "component")), _REPORTER),
    },
    ("events.k8s.io", "events"): {**_EVENT, **_involved("regarding"), "reportingController": _REPORTER},
    ("batch", "jobs"): {**_METADATA, "status.successful": _at("status", "succeeded", absent="0")},
    ("certificates.k8s.io", "certificatesigningrequests"): _SIGNER,
    ("certificates.k8s.io", "clustertrustbundles"): _SIGNER,
    ("certificates.k8s.io", "podcertificaterequests"): {
        **_SIGNER,
        "spec.podName": _at("spec", "podName"),
        "spec.nodeName": _NODE_NAME,
    },
    ("resource.k8s.io", "resourceslices"): {
        **_NAME,
        "spec.nodeName": _NODE_NAME,
        "spec.driver": _at("spec", "driver"),
    },
}

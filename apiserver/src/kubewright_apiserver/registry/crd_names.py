"""The names that a CRD asks for and those that it is given, and whether it is served: what its status tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.registry.crd_approval import approval_of
from kubewright_apiserver.registry.crd_conversion import has_invalid_ca
from kubewright_apiserver.status import FieldError, invalid_field
from kubewright_apiserver.validation.names import dns1035_label

__all__ = ["CLEANUP", "establish", "is_true", "name_errors", "terminating"]

CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer of a CRD that is being deleted while its objects are."""

_MIXED: Final = "may have mixed case, but should otherwise match: "
_TERMINATING: Final = {
    "InstanceDeletionPending": (
        "True",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    ),
    "InstanceDeletionInProgress": ("True", "CustomResource deletion is in progress"),
    "InstanceDeletionCompleted": ("False", "removed all instances"),
    "NeverEstablished": ("False", "resource was never established"),
}


def name_errors(names: dict[str, Any], path: str) -> Iterator[FieldError]:
    """The errors of names, of those that are told."""
    for name in ("plural", "singular"):
        if names.get(name) and (wrong := dns1035_label(names[name])):
            yield invalid_field(f"{path}.{name}", names[name], ",".join(wrong))
    for name in ("kind", "listKind"):
        if names.get(name) and (wrong := dns1035_label(names[name].lower())):
            yield invalid_field(f"{path}.{name}", names[name], _MIXED + ",".join(wrong))
    yield from _each_errors(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid_field(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    yield from _each_errors(names.get("categories"), f"{path}.categories")


def _each_errors(texts: list[str] | None, path: str) -> Iterator[FieldError]:
    for index, text in enumerate(texts or ()):
        if wrong := dns1035_label(text):
            yield invalid_field(f"{path}[{index}]", text, ",".join(wrong))


def is_true(crd: dict[str, Any], kind: str) -> bool:
    """Whether a condition of a CRD is there and true."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == kind and condition["status"] == "True" for condition in conditions)


def establish(crd: dict[str, Any], others: Iterable[dict[str, Any]], now: str) -> dict[str, Any]:
    """The status that a CRD gets in the end: the names that are free, and whether it is served.

    ``others`` are all CRDs, itself among them or not; only those of its group count. Nothing is changed. When the names
    of a CRD change or it goes, those of its group that lack a name must be established again.
    """
    status: dict[str, Any] = crd.get("status") or {}
    wanted, accepted = crd["spec"].get("names") or {}, status.get("acceptedNames") or {}
    given, conflict = _decided(wanted, accepted, _taken(crd, others))
    conditions = _copied_conditions(crd)
    if conflict is None:
        _set(conditions, now, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
    else:
        _set(conditions, now, "NamesAccepted", "False", *conflict)
    if not is_true(crd, "Established"):
        _set(conditions, now, "Established", *_established(crd, conflict is None))
    state, reason = approval_of(crd)
    if state:
        approved = "True" if state == "Approved" else "False"
        _set(conditions, now, "KubernetesAPIApprovalPolicyConformant", approved, f"{state}Annotation", reason)
    told = {"conditions": conditions, "acceptedNames": given, "storedVersions": status.get("storedVersions") or []}
    return {**told, **{key: value for key, value in status.items() if key not in told}}


def terminating(crd: dict[str, Any], reason: str, now: str) -> dict[str, Any]:
    """The status of a CRD that is being deleted; its condition ``Terminating`` has one of four reasons.

    They are ``InstanceDeletionPending``, ``InstanceDeletionInProgress``, ``InstanceDeletionCompleted`` and
    ``NeverEstablished``.
    """
    conditions = _copied_conditions(crd)
    status, message = _TERMINATING[reason]
    _set(conditions, now, "Terminating", status, reason, message)
    return {**(crd.get("status") or {}), "conditions": conditions}


def _copied_conditions(crd: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(condition) for condition in (crd.get("status") or {}).get("conditions") or ()]


def _set(conditions: list[dict[str, Any]], now: str, kind: str, status: str, reason: str, message: str) -> None:
    """Put a condition in place of the one of its type, or at the end; its time changes only with its status."""
    condition = {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    for existing in conditions:
        if existing["type"] == kind:
            if existing["status"] == status:
                condition["lastTransitionTime"] = existing.get("lastTransitionTime") or now
            existing.update(condition)
            return
    conditions.append(condition)


def _established(crd: dict[str, Any], has_names: bool) -> tuple[str, str, str]:
    if not has_names:
        return "False", "NotAccepted", "not all names are accepted"
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    if has_invalid_ca(webhook.get("clientConfig") or {}):
        return "False", "InvalidCABundle", "The conversion webhook CABundle is invalid"
    return "True", "InitialNamesAccepted", "the initial names have been accepted"


class _Taken:
    """The names that CRDs of a group have been given."""

    def __init__(self) -> None:
        self.resources: set[str] = set()
        self.kinds: set[str] = set()


def _taken(crd: dict[str, Any], others: Iterable[dict[str, Any]]) -> _Taken:
    taken = _Taken()
    for other in (crd, *others):
        if other["spec"].get("group") != crd["spec"].get("group"):
            continue
        names = (other.get("status") or {}).get("acceptedNames") or {}
        taken.resources.update((names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())))
        taken.kinds.update((names.get("kind", ""), names.get("listKind", "")))
    return taken


def _decided(
    wanted: dict[str, Any], accepted: dict[str, Any], taken: _Taken
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """The names that are given, and the reason and message of the last conflict."""
    given: dict[str, Any] = {"plural": "", "kind": "", **accepted}
    conflict: tuple[str, str] | None = None
    for name in ("plural", "singular", "shortNames", "kind", "listKind"):
        used = taken.kinds if name in ("kind", "listKind") else taken.resources
        refused = [f"{go_quoted(one)} is already in use" for one in _asked(name, wanted, accepted) if one in used]
        if refused:
            told = refused[0] if len(refused) == 1 else f"[{', '.join(dict.fromkeys(refused))}]"
            conflict = (f"{name[0].upper()}{name[1:]}Conflict", told)
        else:
            given[name] = wanted.get(name)
    given["categories"] = wanted.get("categories")
    order = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
    return {name: given[name] for name in order if given.get(name) or name in ("plural", "kind")}, conflict


def _asked(name: str, wanted: dict[str, Any], accepted: dict[str, Any]) -> list[str]:
    """The names of one sort that a CRD wants and has not been given yet."""
    if name == "shortNames":
        return [short for short in wanted.get(name) or () if short not in (accepted.get(name) or ())]
    return [] if wanted.get(name, "") == accepted.get(name, "") else [wanted.get(name, "")]

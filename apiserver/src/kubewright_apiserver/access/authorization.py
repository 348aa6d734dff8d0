"""``Authorizer``: who may do what, by the modes that a server was started with; and the words of a no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.access.attributes import Attributes
from kubewright_apiserver.access.rbac import Decision, Rbac, Rules
from kubewright_apiserver.access.rules import FULL_AUTHORITY
from kubewright_apiserver.access.user import User
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.status import Refusal, forbidden
from kubewright_apiserver.store import Store

__all__ = ["MODES", "Authorizer", "Decision", "read_modes", "refused_request"]

MODES: Final = ("AlwaysAllow", "AlwaysDeny", "Node", "RBAC")
"""The modes of authorization that there are."""

_ALLOWED: Final = Decision(True)
_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def read_modes(modes: str | Sequence[str]) -> tuple[str, ...]:
    """The modes in a list, or in a text with commas as kube-apiserver's flag takes it; ``ValueError`` for others."""
    names = modes.split(",") if isinstance(modes, str) else modes
    found = tuple(name.strip() for name in names)
    unknown = [name for name in found if name not in MODES]
    if unknown or not found:
        told = ", ".join(map(repr, unknown)) or "none"
        raise ValueError(f"authorization_mode must be of {', '.join(MODES)}, not {told}")
    return found


class Authorizer:
    """Decides by one mode after the other; the first that allows something has allowed it.

    Members of ``system:masters`` may do everything in every mode. ``Node`` has no opinion on anybody: nodes get their
    rights as all others do, by roles.
    """

    def __init__(self, store: Store, modes: Sequence[str] = ("RBAC",)) -> None:
        self.modes: tuple[str, ...] = tuple(modes)
        self.rbac: Rbac = Rbac(store)
        """What roles say, whatever the modes."""

    def decide(self, user: User, attributes: Attributes) -> Decision:
        """Whether somebody may do something."""
        if user.is_master:
            return _ALLOWED
        reasons: list[str] = []
        for mode in self.modes:
            decision = self._decide(mode, user, attributes)
            if decision.allowed:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
        return Decision(False, "\n".join(reasons))

    def _decide(self, mode: str, user: User, attributes: Attributes) -> Decision:
        if mode == "RBAC":
            return self.rbac.decide(user, attributes)
        if mode == "AlwaysAllow":
            return _ALLOWED
        return Decision(False, "Everything is forbidden." if mode == "AlwaysDeny" else "")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """All rules that apply to somebody in a namespace."""
        found = self.rbac.rules_for(user, namespace) if "RBAC" in self.modes else Rules([], [])
        return found if "AlwaysAllow" not in self.modes else Rules([*found.rules, *FULL_AUTHORITY], found.missing)


def refused_request(user: User, attributes: Attributes, reason: str = "") -> Refusal:
    """403: somebody may not do it, told as kube-apiserver tells it."""
    why = _cannot(user, attributes).translate(_ESCAPES)
    if reason:
        why = f"{why}: {reason}"
    if not attributes.is_resource:
        return Refusal(403, "Forbidden", f"forbidden: {why}", details={})
    if not attributes.resource and not attributes.group:
        named = {"name": attributes.name} if attributes.name else {}
        return Refusal(403, "Forbidden", f"forbidden: {why}", details=named)
    return forbidden(attributes.group, attributes.resource, attributes.name, why)


def _cannot(user: User, attributes: Attributes) -> str:
    name, verb = go_quoted(user.name), attributes.verb
    if not attributes.is_resource:
        return f"User {name} cannot {verb} path {go_quoted(attributes.path)}"
    what = f"resource {go_quoted(attributes.part)} in API group {go_quoted(attributes.group)}"
    namespace = attributes.namespace
    where = f"in the namespace {go_quoted(namespace)}" if namespace else "at the cluster scope"
    return f"User {name} cannot {verb} {what} {where}"

"""Nobody gives away rights by a role or a binding that they do not have themselves, unless they may do just that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kubewright_apiserver.access.attributes import Attributes
from kubewright_apiserver.access.authorization import Authorizer
from kubewright_apiserver.access.rbac import aggregated_text
from kubewright_apiserver.access.rules import FULL_AUTHORITY, Rule, described_missing, go_strings, missing_rules
from kubewright_apiserver.access.user import User
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.path import Address
from kubewright_apiserver.status import Refusal, forbidden, not_found

__all__ = ["GROUP", "check_escalation"]

Object = dict[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
"""The group of roles and bindings."""

_ROLES: Final = ("clusterroles", "roles")
_BINDINGS: Final = ("clusterrolebindings", "rolebindings")
_OF_COLLECTORS: Final = ("finalizers", "managedFields", "ownerReferences", "selfLink")


def check_escalation(authorizer: Authorizer, user: User, address: Address, obj: Object, live: Object | None) -> None:
    """Refuse (403) a role or a binding at this address that grants more than the user holds.

    ``live`` is what it replaces, None for what is new. What changes nothing but what the garbage collector changes is
    not looked at. Other resources pass.
    """
    if address.group != GROUP or user.is_master:
        return
    if live is not None and _without_references(obj) == _without_references(live):
        return
    if address.plural in _ROLES:
        _check_role(authorizer, user, address, obj, live)
    elif address.plural in _BINDINGS:
        _check_binding(authorizer, user, address, obj)


def _without_references(obj: Object) -> Object:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _OF_COLLECTORS}
    return {**obj, "metadata": metadata}


def _check_role(authorizer: Authorizer, user: User, address: Address, obj: Object, live: Object | None) -> None:
    wanted = Attributes("escalate", GROUP, address.plural, "", address.namespace, address.name)
    if authorizer.decide(user, wanted).allowed:
        return
    name = obj["metadata"].get("name", "")
    why = _excess(authorizer, user, address, obj.get("rules") or ())
    if why:
        raise forbidden(GROUP, address.plural, name, why)
    aggregates = _aggregates(obj) or (live is not None and _aggregates(live))
    if aggregates and _excess(authorizer, user, address, FULL_AUTHORITY):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(GROUP, address.plural, name, why)


def _aggregates(role: Object) -> bool:
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _check_binding(authorizer: Authorizer, user: User, address: Address, obj: Object) -> None:
    reference = obj.get("roleRef") or {}
    kind, named = reference.get("kind", ""), reference.get("name", "")
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(kind, "")
    if not plural:
        raise _unknown_kind(kind)
    group = reference.get("apiGroup", "")
    if authorizer.decide(user, Attributes("bind", group, plural, "", address.namespace, named)).allowed:
        return
    rules = authorizer.rbac.role_rules(reference, address.namespace)
    if rules is None:
        # What the storage misses it names after what is being written.
        raise not_found(GROUP, address.plural, named)
    why = _excess(authorizer, user, address, rules)
    if why:
        raise forbidden(GROUP, address.plural, obj["metadata"].get("name", ""), why)


def _unknown_kind(kind: str) -> Refusal:
    return Refusal(500, "", f"unsupported role reference kind: {go_quoted(kind)}")


def _excess(authorizer: Authorizer, user: User, address: Address, wanted: Iterable[Rule]) -> str:
    """Why somebody may not grant these rules, or nothing if they hold them all."""
    owned, gone = authorizer.rbac.rules_for(user, address.namespace)
    missing = missing_rules(owned, wanted)
    if not missing:
        return ""
    who = f"user {go_quoted(user.name)} (groups={go_strings(user.groups)})"
    lines = "\n".join(described_missing(missing))
    why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}"
    errors = aggregated_text(role.told(address.plural) for role in gone) if gone else ""
    return f"{why}; resolution errors: [{errors}]" if errors else why

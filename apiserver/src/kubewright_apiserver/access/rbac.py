"""``Rbac``: what roles and their bindings allow somebody to do; ``Authorizer`` asks here for every request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from kubewright_apiserver.access.attributes import Attributes
from kubewright_apiserver.access.rules import Rule
from kubewright_apiserver.access.user import User, account_name
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.store import Store, Table

__all__ = ["CLUSTER_ROLES", "ROLES", "Decision", "Missing", "Rbac", "Rules", "aggregated_text"]

CLUSTER_ROLES: Final = "rbac.authorization.k8s.io/clusterroles"
ROLES: Final = "rbac.authorization.k8s.io/roles"
_CLUSTER_BINDINGS: Final = "rbac.authorization.k8s.io/clusterrolebindings"
_BINDINGS: Final = "rbac.authorization.k8s.io/rolebindings"
_MOST_KEPT: Final = 4096


class Decision(NamedTuple):
    """Whether something is allowed, and why or why not as far as there is something to say."""

    allowed: bool
    reason: str = ""


class Missing(NamedTuple):
    """A role that is not there."""

    kind: str
    name: str

    def told(self, resource: str = "") -> str:
        """That it is not there, in the words of kube-apiserver's caches, or of its storage of a resource."""
        return f"{resource or self.kind.lower()}.rbac.authorization.k8s.io {go_quoted(self.name)} not found"


class Rules(NamedTuple):
    """What somebody may do in a namespace, and the roles that are bound to them but not there."""

    rules: list[Rule]
    missing: list[Missing]

    @property
    def told(self) -> str:
        """That roles are not there, in kube-apiserver's words; empty if all are."""
        return aggregated_text(role.told() for role in self.missing) if self.missing else ""


class _Bound(NamedTuple):
    """A binding that concerns somebody, and by which of its subjects."""

    order: int
    place: int
    binding: dict[str, Any]

    def __str__(self) -> str:
        metadata, role = self.binding["metadata"], self.binding["roleRef"]
        namespace = metadata.get("namespace", "")
        kind, name = ("RoleBinding", f"{metadata['name']}/{namespace}") if namespace else _cluster_binding(metadata)
        to = _described(self.binding["subjects"][self.place], namespace)
        return f"{kind} {go_quoted(name)} of {role['kind']} {go_quoted(role['name'])} to {to}"


def _cluster_binding(metadata: dict[str, Any]) -> tuple[str, str]:
    return "ClusterRoleBinding", metadata["name"]


def _described(subject: dict[str, Any], namespace: str) -> str:
    name = subject["name"]
    if subject["kind"] == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f"{subject['kind']} {go_quoted(name)}"


class _Grant:
    """A rule for one resource; None stands for all verbs, groups or names."""

    __slots__ = ("groups", "names", "order", "reason", "verbs")

    def __init__(self, order: int, rule: Rule, reason: str) -> None:
        self.order = order
        self.reason = reason
        self.verbs = _all_or(rule.get("verbs"))
        self.groups = _all_or(rule.get("apiGroups"))
        names = rule.get("resourceNames")
        self.names = frozenset(names) if names else None

    def allows(self, attributes: Attributes) -> bool:
        return (
            (self.verbs is None or attributes.verb in self.verbs)
            and (self.groups is None or attributes.group in self.groups)
            and (self.names is None or attributes.name in self.names)
        )


def _all_or(values: Iterable[str] | None) -> frozenset[str] | None:
    found = frozenset(values or ())
    return None if "*" in found else found


class _Rights:
    """What somebody may do, by resource."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.missing: list[Missing] = []
        self._resources: dict[str, list[_Grant]] = {}
        self._paths: list[tuple[str, _Grant]] = []
        self._count = 0

    def add(self, rule: Rule, reason: str) -> None:
        self._count += 1
        self.rules.append(rule)
        grant = _Grant(self._count, rule, reason)
        for resource in rule.get("resources") or ():
            self._resources.setdefault(resource, []).append(grant)
        self._paths += [(url, grant) for url in rule.get("nonResourceURLs") or ()]

    def find(self, attributes: Attributes) -> _Grant | None:
        """The first rule that allows it."""
        if not attributes.is_resource:
            return self._find_path(attributes)
        found: _Grant | None = None
        for grants in self._of(attributes):
            for grant in grants:
                if grant.allows(attributes):
                    if found is None or grant.order < found.order:
                        found = grant
                    break
        return found

    def _of(self, attributes: Attributes) -> Iterator[list[_Grant]]:
        yield self._resources.get(attributes.part, [])
        if attributes.subresource:
            yield self._resources.get(f"*/{attributes.subresource}", [])
        yield self._resources.get("*", [])

    def _find_path(self, attributes: Attributes) -> _Grant | None:
        for url, grant in self._paths:
            if grant.verbs is None or attributes.verb in grant.verbs:
                is_prefix = url.endswith("*") and attributes.path.startswith(url.rstrip("*"))
                if is_prefix or url == attributes.path:
                    return grant
        return None


class Rbac:
    """Decides by the roles and bindings in a store; what it works out of them is kept until one of them changes."""

    def __init__(self, store: Store) -> None:
        self._cluster_bindings = store.table(_CLUSTER_BINDINGS)
        self._bindings = store.table(_BINDINGS)
        self._cluster_roles = store.table(CLUSTER_ROLES)
        self._roles = store.table(ROLES)
        self._seen: tuple[int, ...] = ()
        self._bound: dict[str, dict[tuple[str, str], list[_Bound]]] = {}
        self._rights: dict[tuple[str, tuple[str, ...], str], _Rights] = {}

    def forget(self) -> None:
        """Work everything out anew, after the store was put back to an earlier state."""
        self._seen = ()

    def decide(self, user: User, attributes: Attributes) -> Decision:
        """Whether some role allows it; if not, the reason names roles that are bound but not there."""
        rights = self._rights_of(user, "")
        found = rights.find(attributes)
        missing = rights.missing
        if found is None and attributes.namespace:
            rights = self._rights_of(user, attributes.namespace)
            found = rights.find(attributes)
            missing = missing + rights.missing
        if found is not None:
            return Decision(True, found.reason)
        return Decision(False, f"RBAC: {Rules([], missing).told}" if missing else "")

    def rules_for(self, user: User, namespace: str) -> Rules:
        """All rules that apply to somebody in a namespace, or in none."""
        rights = self._rights_of(user, "")
        if not namespace:
            return Rules(rights.rules, rights.missing)
        local = self._rights_of(user, namespace)
        return Rules(rights.rules + local.rules, rights.missing + local.missing)

    def _rights_of(self, user: User, namespace: str) -> _Rights:
        seen = (self._cluster_bindings.rev, self._bindings.rev, self._cluster_roles.rev, self._roles.rev)
        if seen != self._seen:
            self._seen = seen
            self._bound.clear()
            self._rights.clear()
        key = (user.name, user.groups, namespace)
        found = self._rights.get(key)
        if found is None:
            if len(self._rights) >= _MOST_KEPT:
                self._rights.clear()
            found = self._rights[key] = self._made_rights(user, namespace)
        return found

    def _made_rights(self, user: User, namespace: str) -> _Rights:
        rights = _Rights()
        for bound in self._bound_to(user, namespace):
            role = bound.binding["roleRef"]
            rules = self.role_rules(role, namespace)
            if rules is None:
                rights.missing.append(Missing(role["kind"], role["name"]))
                continue
            reason = f"RBAC: allowed by {bound}"
            for rule in rules:
                rights.add(rule, reason)
        return rights

    def role_rules(self, reference: dict[str, Any], namespace: str) -> list[Rule] | None:
        """The rules of the role that a binding names, or None if there is no such role."""
        name = reference["name"]
        if reference["kind"] == "ClusterRole":
            row = self._cluster_roles.get(name)
        else:
            row = self._roles.get(f"{namespace}/{name}")
        return None if row is None else row.obj.get("rules") or []

    def _bound_to(self, user: User, namespace: str) -> list[_Bound]:
        """The bindings that concern somebody, each once, in order."""
        index = self._bound.get(namespace)
        if index is None:
            index = self._bound[namespace] = _indexed(self._listed(namespace), namespace)
        subjects = [("User", user.name), *(("Group", group) for group in user.groups)]
        found = sorted((bound for subject in subjects for bound in index.get(subject, ())), key=lambda bound: bound[:2])
        return [bound for before, bound in zip([None, *found], found, strict=False) if not _is_same(before, bound)]

    def _listed(self, namespace: str) -> list[dict[str, Any]]:
        table: Table = self._bindings if namespace else self._cluster_bindings
        return [row.obj for row in table.list(f"{namespace}/" if namespace else "").rows]


def _is_same(before: _Bound | None, bound: _Bound) -> bool:
    return before is not None and before.order == bound.order


def _indexed(bindings: list[dict[str, Any]], namespace: str) -> dict[tuple[str, str], list[_Bound]]:
    """The bindings by those who they concern."""
    index: dict[tuple[str, str], list[_Bound]] = {}
    for order, binding in enumerate(bindings):
        for place, subject in enumerate(binding.get("subjects") or ()):
            key = (subject["kind"], subject["name"])
            if subject["kind"] == "ServiceAccount":
                home = subject.get("namespace") or namespace
                if not home:
                    continue
                key = ("User", account_name(home, subject["name"]))
            index.setdefault(key, []).append(_Bound(order, place, binding))
    return index


def aggregated_text(errors: Iterable[str]) -> str:
    """Several errors as Go tells them: each once, in brackets if there are many."""
    told = list(dict.fromkeys(errors))
    return told[0] if len(told) == 1 else f"[{', '.join(told)}]"

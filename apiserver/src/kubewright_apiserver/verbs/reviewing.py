"""Reviews: questions that are answered and not kept: who is it, and may they?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kubewright_apiserver.access import Attributes, BadToken, User
from kubewright_apiserver.label_selectors import label_predicate, selector_text
from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.selectors import field_terms
from kubewright_apiserver.status import Refusal, bad_request
from kubewright_apiserver.validation import refusal
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.rendering import shown_stored

__all__ = ["is_review", "reviewed"]

Object = dict[str, Any]

_GROUPS: Final = ("authentication.k8s.io", "authorization.k8s.io")
_EMPTY: Final[Object] = {"metadata": {}}


def is_review(call: Call) -> bool:
    """Whether objects of the call's kind are only answered, and never stored."""
    return call.served.group in _GROUPS and call.served.kind in _REVIEWS


def reviewed(call: Call, behaviour: Behaviour, review: Object) -> Reply:
    """The review with its answer."""
    errors = behaviour.validate_create(review) if call.served.kind.endswith("AccessReview") else ()
    if errors:
        raise refusal(call.served.group, call.served.kind, "", errors)
    answered = _REVIEWS[call.served.kind](call, review)
    named = {"kind": call.served.kind, "apiVersion": call.served.api_version}
    return Reply(201, shown_stored(behaviour.to_storage({**named, **answered}), call.served, call.accept))


def _access(call: Call, review: Object) -> Object:
    """Whether the user that a review names may do something."""
    spec = review["spec"]
    extra: Mapping[str, list[str]] = spec.get("extra") or {}
    user = User(name=spec.get("user", ""), groups=tuple(spec.get("groups") or ()), uid=spec.get("uid", ""), extra=extra)
    return {**review, "status": _decided(call, user, spec)}


def _own_access(call: Call, review: Object) -> Object:
    return {**review, "status": _decided(call, call.user, review["spec"])}


def _decided(call: Call, user: User, spec: Object) -> Object:
    resource = spec.get("resourceAttributes")
    decision = call.engine.access.authorizer.decide(user, _attributes(resource, spec.get("nonResourceAttributes")))
    told = {"reason": decision.reason, "evaluationError": "; ".join(_ignored(resource or {}))}
    return {"allowed": decision.allowed, **{name: text for name, text in told.items() if text}}


def _attributes(resource: Object | None, other: Object | None) -> Attributes:
    if resource is None:
        other = other or {}
        return Attributes(other.get("verb", ""), path=other.get("path", ""), is_resource=False)
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{name: resource.get(name, "") for name in names})


def _ignored(resource: Object) -> list[str]:
    """What is told of selectors that cannot be read, as a whole or in part."""
    told = []
    for name, is_readable in (("fieldSelector", _is_field), ("labelSelector", _is_label)):
        selector = resource.get(name) or {}
        raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
        readable = [is_readable(requirement) for requirement in requirements]
        if (raw and not _can_read(name, raw)) or not all(readable):
            how = "partially ignored" if any(readable) else "ignored"
            told.append(f"spec.resourceAttributes.{name} {how} due to parse error")
    return told


def _can_read(name: str, raw: str) -> bool:
    try:
        label_predicate(raw) if name == "labelSelector" else field_terms(raw)
    except Refusal:
        return False
    return True


def _is_field(requirement: Object) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _is_label(requirement: Object) -> bool:
    if requirement.get("operator") not in ("In", "NotIn", "Exists", "DoesNotExist"):
        return False
    return _can_read("labelSelector", selector_text({"matchExpressions": [requirement]}))


def _own_rules(call: Call, review: Object) -> Object:
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    found = call.engine.access.authorizer.rules_for(call.user, namespace)
    status: Object = {
        "resourceRules": _picked(found.rules, "resources", ("verbs", "apiGroups", "resources", "resourceNames")),
        "nonResourceRules": _picked(found.rules, "nonResourceURLs", ("verbs", "nonResourceURLs")),
        "incomplete": False,
    }
    if found.missing:
        status["evaluationError"] = found.told
    return {**_EMPTY, "spec": {}, "status": status}


def _picked(rules: Iterable[Object], needed: str, names: tuple[str, ...]) -> list[Object]:
    return [{name: rule[name] for name in names if rule.get(name)} for rule in rules if rule.get(needed)]


def _token(call: Call, review: Object) -> Object:
    """Who a token is of."""
    spec = review.get("spec") or {}
    access, token = call.engine.access, spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        found = access.authenticator.review_header(f"Bearer {token}", spec.get("audiences") or access.issuer.audiences)
    except BadToken as error:
        return {**review, "status": {"user": {}, **({"error": str(error)} if str(error) else {})}}
    return {
        **review,
        "status": {"authenticated": True, "user": _shown(found.user), "audiences": list(found.audiences)},
    }


def _oneself(call: Call, review: Object) -> Object:
    metadata = {"creationTimestamp": call.engine.timestamp()}
    return {"metadata": metadata, "status": {"userInfo": _shown(call.user)}}


def _shown(user: User) -> Object:
    extra = {key: list(values) for key, values in user.extra.items()}
    told = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in told.items() if value}


_REVIEWS: Final[Mapping[str, Callable[[Call, Object], Object]]] = {
    "LocalSubjectAccessReview": _access,
    "SelfSubjectAccessReview": _own_access,
    "SelfSubjectReview": _oneself,
    "SelfSubjectRulesReview": _own_rules,
    "SubjectAccessReview": _access,
    "TokenReview": _token,
}

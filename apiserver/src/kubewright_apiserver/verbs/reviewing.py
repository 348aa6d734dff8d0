"""Access reviews: questions that are answered and not kept. Whoever may ask may do everything, for now."""

from __future__ import annotations

from typing import Any, Final

from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.validation import refusal
from kubewright_apiserver.verbs.call import Call, Reply

__all__ = ["ACCESS_REVIEWS", "reviewed"]

ACCESS_REVIEWS: Final = frozenset(("localsubjectaccessreviews", "selfsubjectaccessreviews", "subjectaccessreviews"))
"""The resources that ask whether somebody may do something."""


def reviewed(call: Call, behaviour: Behaviour, review: dict[str, Any]) -> Reply:
    """The review with its answer."""
    errors = behaviour.validate_create(review)
    if errors:
        raise refusal(call.served.group, call.served.kind, "", errors)
    review["status"] = {"allowed": True}
    return Reply(201, behaviour.to_storage(review))

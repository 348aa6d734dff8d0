"""Finds the behaviour of a resource."""

from __future__ import annotations

from kubewright_apiserver.registry.behaviour import Behaviour
from kubewright_apiserver.registry.builtin_behaviour import BuiltinBehaviour
from kubewright_apiserver.registry.custom_behaviour import CustomBehaviour
from kubewright_apiserver.registry.served import Served

__all__ = ["behaviour_of"]


def behaviour_of(served: Served) -> Behaviour:
    """The behaviour of a resource, made once."""
    found: Behaviour | None = served.__dict__.get("behaviour")
    if found is None:
        found = CustomBehaviour(served) if served.crd is not None else BuiltinBehaviour(served)
        served.__dict__["behaviour"] = found
    return found

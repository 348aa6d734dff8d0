"""Who may write what into the status of a CertificateSigningRequest: signers and approvers keep off each other."""

from __future__ import annotations

from typing import Any

from kubewright_apiserver.defaulting.context import Context
from kubewright_apiserver.defaulting.parts import part

__all__ = ["keep_all_but_decision", "keep_decision"]

Object = dict[str, Any]


def keep_decision(request: Object, old: Object, context: Context) -> None:
    """Keep what approvers decided, and stamp new conditions; for the status endpoint."""
    conditions = part(request, "status").get("conditions") or []
    before = (old.get("status") or {}).get("conditions") or []
    for kind in ("Approved", "Denied"):
        _keep_conditions(conditions, before, kind)
    _stamp(conditions, before, context)


def keep_all_but_decision(request: Object, old: Object, context: Context) -> None:
    """Keep the status but for its conditions, and stamp new ones; for the approval endpoint."""
    conditions = (request.get("status") or {}).get("conditions") or []
    before = old.get("status") or {}
    _stamp(conditions, before.get("conditions") or [], context)
    request["status"] = {name: value for name, value in before.items() if name != "conditions"}
    if conditions:
        request["status"]["conditions"] = conditions


def _keep_conditions(conditions: list[Object], old: list[Object], kind: str) -> None:
    places = [place for place, condition in enumerate(conditions) if condition.get("type") == kind]
    before = [condition for condition in old if condition.get("type") == kind]
    if len(places) == len(before):
        for place, condition in zip(places, before, strict=True):
            conditions[place] = condition


def _stamp(conditions: list[Object], old: list[Object], context: Context) -> None:
    stamps = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in reversed(old)}
    for condition in conditions:
        if not condition.get("lastUpdateTime"):
            condition["lastUpdateTime"] = context.now
        if not condition.get("lastTransitionTime"):
            known = stamps.get((condition.get("type"), condition.get("status")))
            condition["lastTransitionTime"] = known or context.now

"""ResourceQuota: what objects use is added to the quotas of their namespace, unless that is more than there is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kubewright_apiserver.admission.attributes import Attributes, Object
from kubewright_apiserver.admission.quota_scope import selectors_of
from kubewright_apiserver.admission.quota_usage import Evaluator, Usage, evaluator_for
from kubewright_apiserver.schema.amount import ZERO, Amount, added, amount_or_zero, canonical, printed

__all__ = ["Charge", "charges"]


class Charge(NamedTuple):
    """A quota, and what is used of it with an object that is written."""

    quota: Object
    used: dict[str, str]


def charges(attributes: Attributes, quotas: Sequence[Object]) -> list[Charge]:
    """What a write adds to these quotas; nothing for those that it leaves as they are.

    Raises: a ``Refusal`` if there is not so much left, or nobody knows how much.
    """
    evaluator = evaluator_for(attributes.resource)
    if evaluator is None or not evaluator.handles(attributes):
        return []
    concerned = [quota for quota in quotas if _is_concerned(attributes, evaluator, quota)]
    if not concerned:
        return []
    usage = evaluator.usage(attributes.obj)
    negative = sorted(name for name, amount in usage.items() if amount.nanos < 0)
    if negative:
        raise attributes.refusal(f"quota usage is negative for resource(s): {','.join(negative)}")
    found = (_charge(attributes, quota, _more(attributes, evaluator, quota, usage)) for quota in concerned)
    return [charge for charge in found if charge is not None]


def _is_concerned(attributes: Attributes, evaluator: Evaluator, quota: Object) -> bool:
    """Whether a quota is about the object. Refuses what cannot be counted."""
    status, name = quota.get("status") or {}, quota["metadata"]["name"]
    if not _matches(evaluator, quota, attributes.obj):
        return False
    names = sorted(name for name in status.get("hard") or () if evaluator.counts(name))
    missing = evaluator.missing(names, attributes.obj)
    if missing:
        raise attributes.refusal(f"failed quota: {name}: {missing}")
    if any(one not in (status.get("used") or {}) for one in names):
        raise attributes.refusal(f"status unknown for quota: {name}, resources: {','.join(names)}")
    return True


def _matches(evaluator: Evaluator, quota: Object, obj: Object) -> bool:
    hard = (quota.get("status") or {}).get("hard") or {}
    is_counted = any(evaluator.counts(name) for name in hard)
    return is_counted and all(evaluator.is_in_scope(selector, obj) for selector in selectors_of(quota))


def _more(attributes: Attributes, evaluator: Evaluator, quota: Object, usage: Usage) -> Usage:
    """What is used beyond what was counted before."""
    old = attributes.old
    if old is None or not _matches(evaluator, quota, old):
        return usage
    before = evaluator.usage(old)
    return {name: _beyond(amount, before.get(name, ZERO)) for name, amount in usage.items()}


def _beyond(amount: Amount, before: Amount) -> Amount:
    rest = amount.nanos - before.nanos
    return Amount(rest, amount.style) if rest > 0 else ZERO


def _charge(attributes: Attributes, quota: Object, more: Usage) -> Charge | None:
    status = quota["status"]
    hard: Mapping[str, Any] = status.get("hard") or {}
    used: Mapping[str, Any] = status.get("used") or {}
    wanted = {name: amount for name, amount in more.items() if name in hard and amount.nanos}
    if not wanted:
        return None
    sums = {name: added(amount_or_zero(used.get(name, "0")), amount) for name, amount in wanted.items()}
    exceeded = sorted(name for name, amount in sums.items() if amount.nanos > amount_or_zero(hard[name]).nanos)
    if exceeded and attributes.subresource != "status":
        parts = [
            f"requested: {_listed(exceeded, {name: printed(amount) for name, amount in wanted.items()})}",
            f"used: {_listed(exceeded, used)}",
            f"limited: {_listed(exceeded, hard)}",
        ]
        raise attributes.refusal(f"exceeded quota: {quota['metadata']['name']}, {', '.join(parts)}")
    return Charge(quota, {**used, **{name: printed(amount) for name, amount in sums.items()}})


def _listed(names: Sequence[str], amounts: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={canonical(amounts[name])}" for name in names if name in amounts)

"""Policy rules compared with each other: does one who holds these hold those too, and if not, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kubewright_apiserver.golang import go_quoted

__all__ = ["FULL_AUTHORITY", "Rule", "described_missing", "go_strings", "missing_rules"]

Rule = dict[str, Any]
"""A PolicyRule as it is stored."""

FULL_AUTHORITY: Final[tuple[Rule, ...]] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_SHOWN: Final = (
    ("APIGroups", "apiGroups"),
    ("Resources", "resources"),
    ("NonResourceURLs", "nonResourceURLs"),
    ("ResourceNames", "resourceNames"),
    ("Verbs", "verbs"),
)


def missing_rules(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """What of the wanted rules the owned ones do not cover: rules of one verb, one resource, one name each."""
    return [single for rule in wanted for single in _singles(rule) if not any(_covers(own, single) for own in owned)]


def _singles(rule: Rule) -> Iterator[Rule]:
    verbs, names = rule.get("verbs") or (), rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                single: Rule = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
                yield from ({**single, "resourceNames": [name]} for name in names) if names else (single,)
    for url in rule.get("nonResourceURLs") or ():
        yield from ({"verbs": [verb], "nonResourceURLs": [url]} for verb in verbs)


def _covers(own: Rule, single: Rule) -> bool:
    if not _has(own.get("verbs"), single["verbs"][0]):
        return False
    if "nonResourceURLs" in single:
        url: str = single["nonResourceURLs"][0]
        covering = any(_covers_url(owned, url) for owned in own.get("nonResourceURLs") or ())
        return covering and not own.get("resourceNames")
    names, wanted = own.get("resourceNames") or [], single.get("resourceNames") or []
    return (
        _has(own.get("apiGroups"), single["apiGroups"][0])
        and _covers_resource(own.get("resources") or (), single["resources"][0])
        and (not names or (bool(wanted) and wanted[0] in names))
    )


def _has(owned: Sequence[str] | None, wanted: str) -> bool:
    return owned is not None and ("*" in owned or wanted in owned)


def _covers_resource(owned: Sequence[str], wanted: str) -> bool:
    _, slash, part = wanted.partition("/")
    return _has(owned, wanted) or (bool(slash) and f"*/{part}" in owned)


def _covers_url(owned: str, wanted: str) -> bool:
    return owned == wanted or (owned.endswith("*") and wanted.startswith(owned.rstrip("*")))


def described_missing(missing: Iterable[Rule]) -> list[str]:
    """Missing rules in kube-apiserver's words, a line each: those that differ by verb alone are one."""
    joined: dict[Any, Rule] = {}
    for single in missing:
        if "nonResourceURLs" in single:
            joined[len(joined)] = single
            continue
        key = (single["apiGroups"][0], single["resources"][0], *single.get("resourceNames", ()))
        found = joined.setdefault(key, {**single, "verbs": []})
        found["verbs"].extend(single["verbs"])
    return sorted({_described(rule) for rule in joined.values()})


def _described(rule: Rule) -> str:
    parts = (f"{shown}:{go_strings(rule[name])}" for shown, name in _SHOWN if rule.get(name))
    return f"{{{', '.join(parts)}}}"


def go_strings(texts: Iterable[str]) -> str:
    """A list of texts as Go prints it with ``%q``."""
    return f"[{' '.join(map(go_quoted, texts))}]"

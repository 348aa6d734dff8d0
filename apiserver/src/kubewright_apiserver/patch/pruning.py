"""Taking out of an object what its applier no longer wants, unless somebody else owns it too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubewright_apiserver.patch.endpoint import Versions
from kubewright_apiserver.patch.fieldset import EMPTY, FieldSet
from kubewright_apiserver.patch.fitting import with_ancestors
from kubewright_apiserver.patch.managers import Managed
from kubewright_apiserver.patch.merging import remove
from kubewright_apiserver.patch.shape import Shape
from kubewright_apiserver.patch.typed import mentioned

__all__ = ["prune"]


def prune(
    merged: dict[str, Any], last: Managed, applied: Managed, owned: Iterable[Managed], versions: Versions
) -> dict[str, Any]:
    """``merged`` without what the applier owned in ``last`` and nobody owns now.

    ``applied`` is what the applier owns now; ``owned`` what each manager owns, the applier among them.
    """
    if last.api_version == applied.api_version and not last.fields.difference(applied.fields):
        return merged
    shape, seen = versions.shape(last.api_version), versions.seen(merged, last.api_version)
    if shape is None or seen is None:
        return merged
    before = with_ancestors(shape, last.fields)
    pruned = _with_owned(seen, remove(shape, seen, before.tree), last.api_version, owned, versions)
    kept = versions.seen(pruned, last.api_version)
    if kept is not None:
        # Only what the applier had may go: fields that nobody owns stay, defaults above all.
        gone = _all_in(shape, seen).difference(_all_in(shape, kept)).intersection(before)
        seen = remove(shape, seen, gone.tree)
    return versions.seen(seen, applied.api_version) or seen


def _with_owned(
    merged: dict[str, Any], pruned: dict[str, Any], version: str, owned: Iterable[Managed], versions: Versions
) -> dict[str, Any]:
    """``pruned`` and what any manager owns of ``merged``; in one of the versions that managers wrote in."""
    fields: dict[str, FieldSet] = {}
    for managed in sorted(owned, key=lambda managed: managed.api_version != version):
        fields[managed.api_version] = fields.get(managed.api_version, EMPTY).union(managed.fields)
    for api_version, held in fields.items():
        shape = versions.shape(api_version)
        one, other = versions.seen(merged, api_version), versions.seen(pruned, api_version)
        if shape is None or one is None or other is None:
            continue
        kept = _all_in(shape, other).union(with_ancestors(shape, held))
        merged, pruned = one, remove(shape, one, _all_in(shape, one).difference(kept).tree)
    return pruned


def _all_in(shape: Shape, obj: dict[str, Any]) -> FieldSet:
    return with_ancestors(shape, mentioned(shape, obj))

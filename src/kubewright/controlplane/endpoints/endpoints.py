"""Endpoints: for each Service with a selector one object that lists the addresses of its pods."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from kubewright.api import Key, Metadata
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.endpoints.members import (
    is_headless,
    is_served,
    pod_matters,
    selector_pair,
    services_before,
)
from kubewright.controlplane.endpoints.subsets import MOST_ADDRESSES, packed, subsets_of, truncate
from kubewright.controlplane.endpoints.trigger import TriggerTimes, annotate
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.terminating import unless_terminating
from kubewright.errors import Conflict, KubewrightError
from kubewright.kinds.core_v1 import Endpoints, EndpointSubset, Pod, Service

__all__ = ["endpoints_loop"]

_NAME: Final = "endpoint-controller"
_INDEX: Final = "endpoints-selector"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_HEADLESS: Final = "service.kubernetes.io/headless"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


def endpoints_loop() -> Loop:
    """Keeps the Endpoints of Services with a selector, and deletes those of Services that are gone."""
    times = TriggerTimes()

    async def reconcile(service: Service, ctx: Context) -> None:
        if is_served(service):
            pods = ctx.cache.list(Pod, labels=service.spec.selector)
            await _write(service, subsets_of(service, pods), times.of(service, pods), ctx)

    writing = Controller(
        Service,
        reconcile,
        deleting=reconcile,
        name=_NAME,
        watches=[Watch(Pod, services_before(_INDEX), pod_matters), Watch(Endpoints, _namesake, _gone)],
        sources=[times],
        workers=5,
        field_manager=MANAGER,
        acts_as=account(_NAME),
        component=_NAME,
        ready_condition=None,
    )
    deleting = Controller(
        Endpoints,
        _delete_leftover,
        name=f"{_NAME}-leftovers",
        watches=[Watch(Service, _namesake, _gone)],
        predicates=[_left_over],
        field_manager=MANAGER,
        acts_as=account(_NAME),
        component=_NAME,
        ready_condition=None,
    )
    return Loop("endpoints", [writing, deleting], indexes={Service: {_INDEX: selector_pair}})


async def _write(service: Service, subsets: list[EndpointSubset], changed: datetime | None, ctx: Context) -> None:
    current = ctx.cache.get(Endpoints, service.name)
    if current is None:
        endpoints = Endpoints(metadata=Metadata(name=service.name, namespace=service.namespace))
    elif _is_right(current, service, subsets):
        return
    else:
        endpoints = current
    endpoints.subsets = subsets
    annotate(endpoints.metadata, changed)
    endpoints.metadata.annotations.pop(_OVER_CAPACITY, None)
    if truncate(endpoints.subsets):
        endpoints.metadata.annotations[_OVER_CAPACITY] = "truncated"
    endpoints.metadata.labels = {**service.metadata.labels, _MANAGED_BY: _NAME}
    endpoints.metadata.labels.pop(_HEADLESS, None)
    if is_headless(service):
        endpoints.metadata.labels[_HEADLESS] = ""
    await _send(endpoints, service, ctx, is_new=current is None)


async def _send(endpoints: Endpoints, service: Service, ctx: Context, *, is_new: bool) -> None:
    try:
        with unless_terminating():
            await (ctx.client.create(endpoints) if is_new else ctx.client.replace(endpoints))
    except Conflict:
        raise
    except KubewrightError as error:
        where = f"{service.namespace}/{service.name}: {error}"
        if is_new:
            ctx.event("Warning", "FailedToCreateEndpoint", f"Failed to create endpoint for service {where}")
        else:
            ctx.event("Warning", "FailedToUpdateEndpoint", f"Failed to update endpoint {where}")
        raise


def _is_right(current: Endpoints, service: Service, subsets: list[EndpointSubset]) -> bool:
    is_same = _same(current.subsets, subsets) or _same(packed(current.subsets), subsets)
    return is_same and _are_labels_right(current, service) and _is_capacity_right(current)


def _same(some: list[EndpointSubset], others: list[EndpointSubset]) -> bool:
    """Whether they say the same, whatever the revisions of the pods that they refer to."""
    return _without_revisions(some) == _without_revisions(others)


def _without_revisions(subsets: Iterable[EndpointSubset]) -> list[EndpointSubset]:
    found = copy.deepcopy(list(subsets))
    for subset in found:
        for address in (*subset.addresses, *subset.not_ready_addresses):
            if address.target_ref is not None:
                address.target_ref.resource_version = None
    return found


def _are_labels_right(current: Endpoints, service: Service) -> bool:
    labels = dict(current.metadata.labels)
    if labels.pop(_MANAGED_BY, None) != _NAME:
        return False
    labels.pop(_HEADLESS, None)
    return labels == service.metadata.labels


def _is_capacity_right(current: Endpoints) -> bool:
    count = sum(len(subset.addresses) + len(subset.not_ready_addresses) for subset in current.subsets)
    return count <= MOST_ADDRESSES and _OVER_CAPACITY not in current.metadata.annotations


async def _delete_leftover(endpoints: Endpoints, ctx: Context) -> None:
    """Delete Endpoints whose Service is gone; locks of old leader elections are none."""
    if ctx.cache.get(Service, endpoints.name) is None and _LEADER not in endpoints.metadata.annotations:
        await ctx.delete(endpoints)


def _namesake(obj: Service | Endpoints, cache: Cache) -> list[Key]:
    return [obj.key]


def _is_gone(change: Change[Service | Endpoints]) -> bool:
    return change.type == "deleted"


def _may_be_left_over(change: Change[Endpoints]) -> bool:
    """What was there at the start, and what we made perhaps while its Service went."""
    return change.cause == "initial" or (change.type == "added" and change.head.labels.get(_MANAGED_BY) == _NAME)


_gone: Final = Predicate("gone", _is_gone)
_left_over: Final = Predicate("may be left over", _may_be_left_over)

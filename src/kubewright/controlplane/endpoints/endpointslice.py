"""EndpointSlices: for each Service with a selector the addresses of its pods, in portions.

Slices for Endpoints that people write themselves (mirroring) are another controller's, which is not among our loops;
neither are hints by the share of CPUs in a zone (the annotation ``service.kubernetes.io/topology-mode: Auto``).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from kubewright.api import Key
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.endpoints.hints import set_hints
from kubewright.controlplane.endpoints.members import is_served, pod_matters, selector_pair, services_before
from kubewright.controlplane.endpoints.slices import MANAGED_BY, NAME, SERVICE, Plan, plan
from kubewright.controlplane.endpoints.trigger import TriggerTimes, annotate
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.terminating import unless_terminating
from kubewright.errors import Conflict, KubewrightError
from kubewright.kinds.core_v1 import Node, Pod, Service
from kubewright.kinds.discovery_v1 import EndpointSlice
from kubewright.queue import Backoff

__all__ = ["endpointslice_loop"]

_ACCOUNT: Final = "endpointslice-controller"
_INDEX: Final = "endpointslice-selector"
_BACKOFF: Final = Backoff(first=timedelta(seconds=1), longest=timedelta(seconds=1000))


class PodsLeftOut(KubewrightError):
    """Pods are on nodes that are not known; the message names them. They are looked for again."""


def endpointslice_loop(*, most: int = 100) -> Loop:
    """Keeps the EndpointSlices of Services with a selector, with at most so many endpoints in each."""
    times = TriggerTimes()

    async def reconcile(service: Service, ctx: Context) -> None:
        if not is_served(service):
            return
        pods = ctx.cache.list(Pod, labels=service.spec.selector)
        labels = {SERVICE: service.name, MANAGED_BY: NAME}
        slices = [
            slice for slice in ctx.cache.list(EndpointSlice, labels=labels) if slice.metadata.deletion_timestamp is None
        ]
        made = plan(service, pods, _nodes_of(pods, ctx), slices, most)
        set_hints(service, made)
        try:
            await _carry_out(made, service, times.of(service, pods), ctx)
            if made.missing:
                raise PodsLeftOut(_aggregate(made.missing))
        except Conflict:
            raise
        except KubewrightError as error:
            where = f"{service.namespace}/{service.name}"
            message = f"Error updating Endpoint Slices for Service {where}: {error}"
            ctx.event("Warning", "FailedToUpdateEndpointSlices", message)
            raise

    controller = Controller(
        Service,
        reconcile,
        deleting=reconcile,
        name=_ACCOUNT,
        watches=[
            Watch(Pod, services_before(_INDEX), pod_matters),
            Watch(EndpointSlice, _service_of, _ours),
        ],
        reads=[Node],
        sources=[times],
        workers=5,
        backoff=_BACKOFF,
        field_manager=MANAGER,
        acts_as=account(_ACCOUNT),
        component="endpoint-slice-controller",
        ready_condition=None,
    )
    return Loop("endpointslice", [controller], indexes={Service: {_INDEX: selector_pair}})


def _nodes_of(pods: list[Pod], ctx: Context) -> dict[str, Node]:
    names = dict.fromkeys(pod.spec.node_name for pod in pods if pod.spec.node_name)
    found = {name: ctx.cache.get(Node, name) for name in names}
    return {name: node for name, node in found.items() if node is not None}


async def _carry_out(made: Plan, service: Service, changed: datetime | None, ctx: Context) -> None:
    _reuse(made, service)
    for slice in made.create:
        annotate(slice.metadata, changed)
        if service.metadata.deletion_timestamp is None:
            with unless_terminating():
                await ctx.client.create(slice)
    for slice in made.update:
        annotate(slice.metadata, changed)
        await ctx.client.replace(slice)
    for slice in made.delete:
        await ctx.delete(slice)


def _reuse(made: Plan, service: Service) -> None:
    """Overwrite slices that would be deleted, instead of making new ones beside them."""
    for old in list(made.delete):
        is_ours = any(owner.uid == service.metadata.uid for owner in old.metadata.owner_references)
        if not made.create or not is_ours or made.create[-1].address_type != old.address_type:
            continue
        new = made.create.pop()
        new.metadata.name = old.name
        made.delete.remove(old)
        made.update.append(new)


def _aggregate(errors: list[str]) -> str:
    each = list(dict.fromkeys(errors))
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def _service_of(slice: EndpointSlice, cache: Cache) -> list[Key]:
    name = slice.metadata.labels.get(SERVICE)
    return [Key(slice.namespace, name)] if name else []


def _is_ours(change: Change[EndpointSlice]) -> bool:
    heads = [head for head in (change.old_head, change.new_head) if head is not None]
    return change.cause != "resync" and any(head.labels.get(MANAGED_BY) == NAME for head in heads)


_ours: Final = Predicate("slices of ours", _is_ours)

"""The ServiceAccount ``default`` in each namespace: as whom pods run that name no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.api import Key, Metadata
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.terminating import unless_terminating
from kubewright.errors import AlreadyExists
from kubewright.kinds.core_v1 import Namespace, ServiceAccount

__all__ = ["service_account_loop"]


def service_account_loop(*, names: Sequence[str] = ("default",)) -> Loop:
    """Makes these ServiceAccounts in every active namespace, again when one is deleted."""

    async def reconcile(namespace: Namespace, ctx: Context) -> None:
        if namespace.status.phase != "Active":
            return
        for name in names:
            if ctx.cache.get(ServiceAccount, name, namespace=namespace.name) is None:
                await _create(name, namespace, ctx)

    controller = Controller(
        Namespace,
        reconcile,
        name="service-account-controller",
        watches=[Watch(ServiceAccount, _namespace_of, _gone)],
        field_manager=MANAGER,
        acts_as=account("service-account-controller"),
        component="service-account-controller",
        ready_condition=None,
    )
    return Loop("serviceaccount", [controller])


async def _create(name: str, namespace: Namespace, ctx: Context) -> None:
    with unless_terminating():
        try:
            await ctx.client.create(ServiceAccount(metadata=Metadata(name=name, namespace=namespace.name)))
        except AlreadyExists:
            return


def _namespace_of(obj: ServiceAccount, cache: Cache) -> list[Key]:
    return [Key("", obj.namespace)]


def _is_gone(change: Change[ServiceAccount]) -> bool:
    return change.type == "deleted"


_gone: Final = Predicate("gone", _is_gone)

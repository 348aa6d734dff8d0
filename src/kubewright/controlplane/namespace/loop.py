"""The namespace controller as a loop."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from kubewright.api import changes, now
from kubewright.client import Client
from kubewright.controller import Context, Controller
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.namespace.content import Content
from kubewright.errors import Conflict, KubewrightError, NotFound
from kubewright.kinds.core_v1 import Namespace
from kubewright.queue import Backoff

__all__ = ["namespace_loop"]

_TOKEN = "kubernetes"


class ContentRemains(KubewrightError):
    """Something in the namespace could not be deleted; it is tried again."""


def namespace_loop(*, grace: timedelta = timedelta(seconds=5)) -> Loop:
    """Empties namespaces that are being deleted, tells in their conditions how far that is, and lets them go.

    ``grace`` is how long after its deletion a namespace is left alone, so that what is being created in it is seen.
    """

    async def nothing(namespace: Namespace, ctx: Context) -> None:
        """A namespace that lives needs nothing."""

    async def empty(namespace: Namespace, ctx: Context) -> timedelta | None:
        deleted_at = namespace.metadata.deletion_timestamp
        assert deleted_at is not None
        early = deleted_at + grace - ctx.now
        if early > timedelta(0):
            return early
        try:
            return await _empty(namespace.name, ctx.client, grace)
        except NotFound:
            return None

    controller = Controller(
        Namespace,
        nothing,
        deleting=empty,
        name="namespace-controller",
        workers=10,
        backoff=Backoff(longest=timedelta(minutes=1)),
        field_manager=MANAGER,
        acts_as=account("namespace-controller"),
        component="namespace-controller",
        ready_condition=None,
    )
    return Loop("namespace", [controller])


async def _empty(name: str, client: Client, grace: timedelta) -> timedelta | None:
    client = client.using(field_validation="Ignore")
    namespace = await _terminating(name, client)
    if namespace is None or not namespace.spec.finalizers:
        return None
    remains, findings = await Content(client, namespace).delete()
    findings.tell(namespace, now())
    is_news = bool(changes(namespace))
    with suppress(Conflict):  # What is told now is told again in the next round.
        namespace = await _told(namespace, client)
    if remains.errors:
        raise ContentRemains(_aggregate(remains.errors))
    if remains.seconds:
        later = timedelta(seconds=remains.seconds // 2 + 1)
        # What is told wakes Kubernetes' own controller, as every change does, once the grace has passed again.
        return min(later, grace) if is_news else later
    await _let_go(name, namespace.metadata.uid, client)
    return None


async def _terminating(name: str, client: Client) -> Namespace | None:
    """The namespace as it is now, in its last phase; None if it is not being deleted."""
    while True:
        namespace = await client.get(Namespace, name)
        if namespace.metadata.deletion_timestamp is None:
            return None
        namespace.status.phase = "Terminating"
        with suppress(Conflict):
            return await _told(namespace, client)


async def _told(namespace: Namespace, client: Client) -> Namespace:
    """The namespace with its status stored, if that is news; Kubernetes' own account may not patch it."""
    return await client.replace(namespace, subresource="status") if changes(namespace) else namespace


async def _let_go(name: str, uid: str, client: Client) -> None:
    """Take our finalizer out of the spec, for which there is a subresource of its own."""
    while True:
        namespace = await client.get(Namespace, name)
        if namespace.metadata.uid != uid:
            return
        namespace.spec.finalizers = sorted({held for held in namespace.spec.finalizers if held != _TOKEN})
        try:
            await client.replace(namespace, subresource="finalize")
            return
        except Conflict:
            continue


def _aggregate(errors: list[str]) -> str:
    each = list(dict.fromkeys(errors))
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"

"""The ConfigMap ``kube-root-ca.crt`` in each namespace: with what pods check the certificate of the API server."""

from __future__ import annotations

from typing import Final

from kubewright.api import Key, Metadata
from kubewright.cache import Cache, Change
from kubewright.controller import Context, Controller, Predicate, Watch
from kubewright.controlplane.loop import MANAGER, Loop, account
from kubewright.controlplane.terminating import unless_terminating
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import ConfigMap, Namespace

__all__ = ["root_ca_loop"]

_NAME: Final = "kube-root-ca.crt"
_ANNOTATION: Final = "kubernetes.io/description"
_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


def root_ca_loop(ca: bytes) -> Loop:
    """Publishes the certificates that the API server is checked with (PEM) in every namespace."""
    data = {"ca.crt": ca.decode()}

    async def reconcile(namespace: Namespace, ctx: Context) -> None:
        published = ctx.cache.get(ConfigMap, _NAME, namespace=namespace.name)
        if published is None:
            await _publish(namespace.name, data, ctx)
        elif published.data != data or not published.metadata.annotations.get(_ANNOTATION):
            published.data = data
            published.metadata.annotations[_ANNOTATION] = _DESCRIPTION
            await ctx.client.replace(published)

    controller = Controller(
        Namespace,
        reconcile,
        name="root-ca-cert-publisher",
        watches=[Watch(ConfigMap, _namespace_of, _concerns_us)],
        field_manager=MANAGER,
        acts_as=account("root-ca-cert-publisher"),
        component="root-ca-cert-publisher",
        ready_condition=None,
    )
    return Loop("root-ca-certificate-publisher", [controller])


async def _publish(namespace: str, data: dict[str, str], ctx: Context) -> None:
    metadata = Metadata(name=_NAME, namespace=namespace, annotations={_ANNOTATION: _DESCRIPTION})
    with unless_terminating():
        try:
            await ctx.client.create(ConfigMap(metadata=metadata, data=data))
        except NotFound:
            return  # The namespace is gone.


def _namespace_of(obj: ConfigMap, cache: Cache) -> list[Key]:
    return [Key("", obj.namespace)]


def _is_ours(change: Change[ConfigMap]) -> bool:
    return change.key.name == _NAME and change.type != "added"


_concerns_us: Final = Predicate("kube-root-ca.crt", _is_ours)

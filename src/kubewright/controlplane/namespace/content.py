"""The content of a namespace: all objects of all kinds in it, and their end."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final, NamedTuple

from kubewright.api import ApiResource, MetadataOnly, Unstructured, now
from kubewright.client import Client, ServedResource
from kubewright.controlplane.namespace.conditions import Findings
from kubewright.errors import KubewrightError, MethodNotAllowed, NotFound
from kubewright.kinds.core_v1 import Namespace, Pod

__all__ = ["Content", "Remains"]

_FINALIZERS_TAKE: Final = 15
"""Seconds that finalizers are thought to need."""


class Remains(NamedTuple):
    """What is left after a round of deletion."""

    seconds: int
    """How long it is thought to take until it is gone; 0: nothing is left that will go."""
    errors: list[str]


class _Left(NamedTuple):
    seconds: int = 0
    objects: int = 0
    finalizers: tuple[tuple[str, int], ...] = ()
    error: str = ""


class Content:
    """Deletes what is in one namespace, pods before everything else."""

    def __init__(self, client: Client, namespace: Namespace) -> None:
        self._client = client
        self._name = namespace.name
        self._deleted_at = namespace.metadata.deletion_timestamp
        self._findings = Findings()
        self._errors: list[str] = []
        self._seconds = 0
        self._objects: Counter[str] = Counter()
        self._finalizers: Counter[str] = Counter()

    async def delete(self) -> tuple[Remains, Findings]:
        """Delete everything; nothing but pods as long as there are pods."""
        deletable = await self._deletable()
        pods = [served for served in deletable if _is_pods(served.resource)]
        others = [served for served in deletable if not _is_pods(served.resource)]
        for served in pods:
            await self._delete_kind(served)
        # Kubernetes' own does not tell of pods that it waits for.
        if not self._objects:
            for served in others:
                await self._delete_kind(served)
            self._findings.remaining(self._objects, self._finalizers)
        return Remains(self._seconds, self._errors), self._findings

    async def _deletable(self) -> list[ServedResource]:
        try:
            inventory = await self._client.discovery.inventory()
        except KubewrightError as error:
            self._findings.discovery_failed(str(error))
            self._errors.append(str(error))
            return []
        if not inventory.resources:
            self._errors.append("the server tells of no resources")
        if inventory.failures:
            self._errors.append(self._findings.undiscovered(inventory.failures))
        return [served for served in inventory.preferred() if served.resource.namespaced and served.can("delete")]

    async def _delete_kind(self, served: ServedResource) -> None:
        left = await self._left_of(served)
        if left.error:
            of_pods = f"failed to delete pods for namespace: {self._name}, err: {left.error}"
            self._errors.append(of_pods if _is_pods(served.resource) else left.error)
            self._findings.content_failed(left.error)
        self._seconds = max(self._seconds, left.seconds)
        if left.objects:
            resource = served.resource
            self._objects[f"{resource.plural}.{resource.group}"] += left.objects
            self._finalizers.update(dict(left.finalizers))

    async def _left_of(self, served: ServedResource) -> _Left:
        seconds = 0
        try:
            if _is_pods(served.resource):
                seconds = await self._grace_of_pods()
        except KubewrightError as error:
            return _Left(error=str(error))
        try:
            await self._delete_all(served)
            items = await self._listed(served)
        except KubewrightError as error:
            return _Left(seconds, error=str(error))
        if not items:
            return _Left(0 if items is not None else seconds)
        finalizers = Counter(name for item in items for name in item.metadata.finalizers)
        held = tuple(finalizers.items())
        if seconds or held:
            return _Left(seconds or _FINALIZERS_TAKE, len(items), held)
        where = f"{served.resource.group}/{served.resource.version}, Resource={served.resource.plural}"
        text = f"unexpected items still remain in namespace: {self._name} for gvr: {where}"
        return _Left(0, len(items), error=text)

    async def _grace_of_pods(self) -> int:
        """The longest grace of pods that still run, if it can have kept them until now."""
        pods = await self._client.list(Pod, namespace=self._name)
        running = [pod.spec for pod in pods if pod.spec and pod.status.phase not in ("Succeeded", "Failed")]
        longest = max((spec.termination_grace_period_seconds or 0 for spec in running), default=0)
        since = (now() - _not_none(self._deleted_at)).total_seconds()
        return longest if since < longest else 0

    async def _delete_all(self, served: ServedResource) -> None:
        kind = _metadata_only(served.resource)
        if served.can("deletecollection"):
            try:
                await self._client.delete_all(kind, namespace=self._name, propagation="Background")
                return
            except (MethodNotAllowed, NotFound):
                pass
        for item in await self._listed(served) or ():
            try:
                await self._client.delete(kind, item.name, namespace=self._name, propagation="Background")
            except (MethodNotAllowed, NotFound):
                continue

    async def _listed(self, served: ServedResource) -> list[MetadataOnly] | None:
        """What is there of a kind; None if it cannot be listed."""
        if not served.can("list"):
            return None
        try:
            return list(await self._client.list(_metadata_only(served.resource), namespace=self._name))
        except (MethodNotAllowed, NotFound):
            return None


def _is_pods(resource: ApiResource) -> bool:
    return (resource.group, resource.version, resource.plural) == ("", "v1", "pods")


def _metadata_only(resource: ApiResource) -> type[MetadataOnly]:
    kind = Unstructured.of(resource.api_version, resource.kind, plural=resource.plural, namespaced=resource.namespaced)
    return MetadataOnly.of(kind)


def _not_none(moment: datetime | None) -> datetime:
    assert moment is not None
    return moment

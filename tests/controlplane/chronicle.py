"""What watches show, in sentences: each change of a Deployment, a ReplicaSet or a pod, in the order of revisions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

from kubewright import Client
from kubewright.api import Resource
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import Pod

KINDS: Final[tuple[type[Resource], ...]] = (Deployment, ReplicaSet, Pod)


class Chronicle:
    """All that was seen; pods and ReplicaSets are called by number, as they came."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, str, Any]] = []

    def note(self, type: str, obj: Any) -> None:
        """Add a watch event."""
        self._seen.append((int(obj.metadata.resource_version), type, obj))

    @property
    def sentences(self) -> list[str]:
        """What was seen, one sentence a step."""
        known: dict[str, Any] = {}
        names: dict[str, str] = {}
        found: list[str] = []
        for _, type, obj in sorted(self._seen, key=lambda seen: seen[0]):
            kind, uid = obj.api_resource.kind, obj.metadata.uid
            if uid not in names:
                number = sum(name.startswith(kind) for name in names.values()) + 1
                names[uid] = kind if kind == "Deployment" else f"{kind} {number}"
            found += [f"{names[uid]} {step}" for step in _steps(type, known.get(uid), obj)]
            known[uid] = obj
        return found

    def about(self, beginning: str) -> list[str]:
        """The sentences about what is called so, without its name."""
        return [one.removeprefix(beginning).strip() for one in self.sentences if one.startswith(f"{beginning} ")]

    def is_in_order(self, *steps: str) -> bool:
        """Whether all these were seen, each after the one before it."""
        rest = iter(self.sentences)
        return all(step in rest for step in steps)


@asynccontextmanager
async def chronicle_of(client: Client) -> AsyncIterator[Chronicle]:
    """A chronicle that is written inside the block, by a watch for each kind."""
    found = Chronicle()

    async def follow(kind: type[Resource]) -> None:
        async for event in client.watch(kind):
            if event.type != "BOOKMARK":
                found.note(event.type, event.object)

    watching = [asyncio.create_task(follow(kind)) for kind in KINDS]
    try:
        yield found
    finally:
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)


def _steps(type: str, before: Any, after: Any) -> Iterator[str]:
    if before is None:
        yield "is created"
    if isinstance(after, Pod):
        yield from _pod_steps(before, after)
    else:
        yield from _sizes(before, after)
    if after.metadata.deletion_timestamp and (before is None or not before.metadata.deletion_timestamp):
        yield "is asked to end" if isinstance(after, Pod) else "is to be deleted"
    if type == "DELETED":
        yield "is gone"


def _sizes(before: Any, after: Any) -> Iterator[str]:
    if before is not None and after.spec.replicas != before.spec.replicas:
        yield f"wants {after.spec.replicas}"
    available = after.status.available_replicas or 0
    if available != ((before.status.available_replicas or 0) if before is not None else 0):
        yield f"has {available}"


def _pod_steps(before: Pod | None, after: Pod) -> Iterator[str]:
    if after.spec.node_name and (before is None or not before.spec.node_name):
        yield "gets a node"
    if before is not None and after.status.phase != before.status.phase:
        reason = f" ({after.status.reason})" if after.status.reason else ""
        yield f"is {after.status.phase}{reason}"
    was, told = _container(before), _container(after)
    if told != was and (told.startswith("ended") or was):
        yield f"container {told}"
    if before is not None and _is_ready(after) != _is_ready(before):
        yield "is ready" if _is_ready(after) else "is not ready"


def _container(pod: Pod | None) -> str:
    """How the pod's only container is, if it has begun."""
    status = pod.status.container_statuses[0] if pod is not None and pod.status.container_statuses else None
    if status is None or status.state is None:
        return ""
    if status.state.terminated is not None:
        return f"ended with {status.state.terminated.exit_code}"
    if status.state.running is not None:
        return f"runs, restarted {status.restart_count} times"
    reason = status.state.waiting.reason if status.state.waiting is not None else ""
    return "" if reason == "ContainerCreating" else f"waits: {reason}"


def _is_ready(pod: Pod) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in pod.status.conditions)

"""What is in a namespace in the end, told so that two clusters can be compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubewright import Client, Unstructured
from kubewright.api import to_dict
from kubewright.errors import NotFound
from kubewright.kinds.core_v1 import Namespace

__all__ = ["IGNORED", "KINDS", "told"]

KINDS: Final = {
    "Pod": ("v1", "pods"),
    "ReplicationController": ("v1", "replicationcontrollers"),
    "Service": ("v1", "services"),
    "Endpoints": ("v1", "endpoints"),
    "ServiceAccount": ("v1", "serviceaccounts"),
    "ConfigMap": ("v1", "configmaps"),
    "ReplicaSet": ("apps/v1", "replicasets"),
    "Deployment": ("apps/v1", "deployments"),
    "EndpointSlice": ("discovery.k8s.io/v1", "endpointslices"),
}
"""What is compared, besides Events."""

IGNORED: Final = {
    "metadata.managedFields": "who wrote a field in which request is each implementation's own business",
    "metadata.resourceVersion": "a count of all writes of a cluster",
    "metadata.uid": "chance",
    "metadata.ownerReferences[].uid": "chance",
    "spec.nodeName": "the scheduler's choice among equal nodes is chance",
    "spec.clusterIP": "the next free address, by chance",
    "spec.clusterIPs": "the next free address, by chance",
    "status.hostIP": "goes with the node",
    "status.hostIPs": "goes with the node",
    "status.podIP": "the next free address",
    "status.podIPs": "the next free address",
    "status.containerStatuses[].containerID": "chance",
    "status.containerStatuses[].state.terminated.containerID": "chance",
    "status.containerStatuses[].lastState.terminated.containerID": "chance",
    "data.ca.crt": "each cluster has an authority of its own",
    "subsets[].addresses[].ip": "goes with the pod",
    "subsets[].addresses[].nodeName": "goes with the pod",
    "subsets[].addresses[].targetRef.uid": "chance",
    "subsets[].notReadyAddresses[].ip": "goes with the pod",
    "subsets[].notReadyAddresses[].nodeName": "goes with the pod",
    "subsets[].notReadyAddresses[].targetRef.uid": "chance",
    "endpoints[].addresses": "goes with the pod",
    "endpoints[].nodeName": "goes with the pod",
    "endpoints[].targetRef.uid": "chance",
    "EndpointSlice metadata.generation": "how many changes were one batch is a matter of time",
    "metadata.annotations.endpoints.kubernetes.io/last-change-trigger-time": "there or not by what was one batch",
}
"""Fields that are not compared, of all kinds or of one, each with the reason."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_SUFFIX: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_ANY_SUFFIX: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_TOKEN_VOLUME: Final = re.compile(r"kube-api-access-[bcdfghjklmnpqrstvwxz2456789]{5}")
_SETS: Final = ("endpoints", "addresses", "notReadyAddresses")
_COMBINED: Final = "(combined from similar events)"


async def told(client: Client) -> dict[str, list[Any]]:
    """All objects of the client's namespace by kind, and the Events about them, without what is chance."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, (version, plural) in KINDS.items():
        listed = await client.list(Unstructured.of(version, kind, plural=plural))
        found[kind] = [to_dict(obj) for obj in listed.items]
    found["Namespace"] = await _being_deleted(client)
    names = _names(obj for objects in found.values() for obj in objects)
    events = await client.list(Unstructured.of("v1", "Event", plural="events"))
    plain = {kind: [_without(obj, (), kind) for obj in objects] for kind, objects in found.items() if objects}
    plain["Event"] = _distinct(filter(_is_compared, (_event(to_dict(event)) for event in events.items)))
    text = json.dumps(plain)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    text = _TIME.sub("<time>", text.replace(client.namespace, "<namespace>"))
    text = _TOKEN_VOLUME.sub("kube-api-access-<suffix>", text)
    anonymous: dict[str, list[Any]] = json.loads(text)
    return {kind: sorted(map(_ordered, objects), key=json.dumps) for kind, objects in anonymous.items()}


def _ordered(obj: Any) -> Any:
    """The object with its lists in order that are sets: their order goes with addresses, or is chance."""
    for place in (obj, *obj.get("subsets", ())):
        for name in _SETS:
            if name in place:
                place[name].sort(key=json.dumps)
    return obj


async def _being_deleted(client: Client) -> list[dict[str, Any]]:
    """The client's namespace, if it is on its way."""
    try:
        namespace = await client.get(Namespace, client.namespace)
    except NotFound:
        return []
    return [to_dict(namespace)] if namespace.metadata.deletion_timestamp is not None else []


def _names(objects: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Names that the server made, by what they are told as."""
    found = {}
    for obj in objects:
        metadata = obj["metadata"]
        if metadata.get("generateName") and _SUFFIX.search(metadata["name"]):
            found[metadata["name"]] = metadata["generateName"] + "<suffix>"
    return found


def _without(value: Any, path: Sequence[str], kind: str) -> Any:
    if isinstance(value, dict):
        places = {key: (*path, key) for key in value}
        left = {key: _without(value[key], place, kind) for key, place in places.items() if not _is_ignored(place, kind)}
        # Annotations of which all are ignored are as good as none.
        return {key: item for key, item in left.items() if item or key != "annotations"}
    if isinstance(value, list):
        place = (*path[:-1], f"{path[-1]}[]") if path else path
        return [_without(item, place, kind) for item in value]
    return value


def _is_ignored(place: Sequence[str], kind: str) -> bool:
    path = ".".join(place)
    return path in IGNORED or f"{kind} {path}" in IGNORED


def _event(event: Mapping[str, Any]) -> dict[str, Any]:
    about = event["involvedObject"]
    teller = event.get("reportingComponent") or event.get("source", {}).get("component", "")
    return {
        "about": f"{about['kind']}/{_SUFFIX.sub('-<suffix>', about['name'])}",
        "type": event.get("type", ""),
        "reason": event.get("reason", ""),
        "message": re.sub(r" to node-\d+$", " to <node>", _ANY_SUFFIX.sub("-<suffix>", event.get("message", ""))),
        "from": teller,
    }


def _is_compared(event: Mapping[str, Any]) -> bool:
    """Not what our kubelet says, which is on both and has pulled its images before or not; nor what stands for many."""
    return event["from"] != "kubelet" and not event["message"].startswith(_COMBINED)


def _distinct(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each once: how often the same was told depends on how long it took."""
    return [json.loads(text) for text in dict.fromkeys(json.dumps(event, sort_keys=True) for event in events)]

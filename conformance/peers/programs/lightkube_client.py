"""Lists, watches, applies and patches with lightkube; tells what it saw as lines of JSON. Argument: the namespace."""

from __future__ import annotations

import json
import sys
from itertools import islice
from typing import Any

from lightkube import ApiError, Client
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import PatchType

Widget = create_namespaced_resource("peers.example.com", "v1", "Widget", "widgets")


def tell(*what: Any) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


def config_map(name: str, **data: str) -> ConfigMap:
    """An intent."""
    return ConfigMap(metadata=ObjectMeta(name=name, labels={"of": "lightkube"}), data=data)


def write(client: Client) -> None:
    """Create, apply, patch, replace and delete."""
    tell("created", client.create(config_map("a", k="v")).data)
    tell("applied", client.apply(config_map("b", k="v")).data)
    try:
        client.apply(config_map("b", k="w"), field_manager="other")
    except ApiError as error:
        tell("refused", error.status.reason)
    tell("forced", client.apply(config_map("b", k="w"), field_manager="other", force=True).data)
    tell("merged", client.patch(ConfigMap, "a", {"data": {"m": "1"}}, patch_type=PatchType.MERGE).data)
    operation = {"op": "remove", "path": "/data/m"}
    tell("patched", client.patch(ConfigMap, "a", [operation], patch_type=PatchType.JSON).data)
    read = client.get(ConfigMap, "a")
    read.data = {"r": "1"}
    tell("replaced", client.replace(read).data)
    client.delete(ConfigMap, "a")


def write_pod(client: Client) -> None:
    """A strategic patch merges containers by name."""
    spec = PodSpec(containers=[Container(name="c", image="one")])
    client.create(Pod(metadata=ObjectMeta(name="p"), spec=spec))
    patched = client.patch(Pod, "p", {"spec": {"containers": [{"name": "c", "image": "two"}]}})
    tell("pod", patched.spec.containers[0].image, patched.spec.containers[0].imagePullPolicy)


def write_widget(client: Client) -> None:
    """A custom resource."""
    client.create(Widget(metadata=ObjectMeta(name="w"), spec={"size": 1}))
    client.patch(Widget, "w", {"spec": {"size": 2}}, patch_type=PatchType.MERGE)
    tell("widgets", [found.spec["size"] for found in client.list(Widget)])


def follow(client: Client, kind: Any, start: str, count: int) -> None:
    """Tell the changes since a revision."""
    for type, found in islice(client.watch(kind, resource_version=start), count):
        tell("watched", type, found.metadata.name)


def main(namespace: str) -> None:
    """Do everything in a namespace."""
    client = Client(namespace=namespace, field_manager="lightkube")
    listed = client.list(ConfigMap, chunk_size=1)
    tell("listed", [found.metadata.name for found in listed])
    start = listed.resourceVersion
    write(client)
    write_pod(client)
    write_widget(client)
    tell("selected", [found.metadata.name for found in client.list(ConfigMap, labels={"of": "lightkube"})])
    follow(client, ConfigMap, start, 7)
    follow(client, Widget, start, 2)
    client.deletecollection(ConfigMap)
    tell("left", [found.metadata.name for found in client.list(ConfigMap)])


if __name__ == "__main__":
    main(sys.argv[1])

"""Lists, watches and patches with the official client; tells what it saw as lines of JSON. Argument: the namespace."""

from __future__ import annotations

import json
import sys
from typing import Any

from kubernetes import client, config, watch


def tell(*what: Any) -> None:
    """One line."""
    print(json.dumps(what), flush=True)


def write(core: client.CoreV1Api, namespace: str) -> None:
    """Create, patch and delete."""
    made = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
    core.create_namespaced_config_map(namespace, made)
    tell("patched", core.patch_namespaced_config_map("a", namespace, {"data": {"m": "1"}}).data)
    try:
        core.create_namespaced_config_map(namespace, made)
    except client.ApiException as error:
        tell("refused", error.status, error.reason)
    core.delete_namespaced_config_map("a", namespace)


def write_widget(custom: client.CustomObjectsApi, namespace: str) -> None:
    """A custom resource."""
    place = {"group": "peers.example.com", "version": "v1", "namespace": namespace, "plural": "widgets"}
    body = {"apiVersion": "peers.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}
    custom.create_namespaced_custom_object(**place, body=body)
    custom.patch_namespaced_custom_object(**place, name="w", body={"spec": {"size": 2}})
    found = custom.list_namespaced_custom_object(**place)
    tell("widgets", [widget["spec"]["size"] for widget in found["items"]])
    for event in watch.Watch().stream(custom.list_namespaced_custom_object, **place, timeout_seconds=1):
        tell("watched", event["type"], event["object"]["metadata"]["name"])


def main(namespace: str) -> None:
    """Do everything in a namespace."""
    config.load_kube_config()
    core = client.CoreV1Api()
    listed = core.list_namespaced_config_map(namespace)
    tell("listed", [found.metadata.name for found in listed.items])
    write(core, namespace)
    changes = watch.Watch().stream(
        core.list_namespaced_config_map,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=1,
    )
    for event in changes:
        tell("watched", event["type"], event["object"].metadata.name)
    write_widget(client.CustomObjectsApi(), namespace)
    tell("version", client.VersionApi().get_code().minor)


if __name__ == "__main__":
    main(sys.argv[1])

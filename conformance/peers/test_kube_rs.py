"""kube-rs lists and watches, pages and streams, and defines a custom resource of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.peers.peer import Peer, Told
from kubewright import Client, MergePatch, Metadata, Unstructured
from kubewright.kinds.core_v1 import ConfigMap

Gadget = Unstructured.of("kube-rs.example.com/v1", "Gadget", plural="gadgets")


def of(told: Told, kind: str) -> list[Any]:
    return [line[1:] for line in told.lines if line[0] == kind]


async def test_kube_rs_lists_and_watches(peer: Peer, client: Client, kube_rs: Path):
    async with peer.running(kube_rs, peer.namespace) as told:
        kinds = ("config map", "streamed config map", "gadget")
        await told.wait_for(*([kind, "init done", ""] for kind in kinds))

        await client.create(ConfigMap(metadata=Metadata(name="z")))
        await told.wait_for(*([kind, "apply", "z"] for kind in kinds[:2]))
        await client.delete(ConfigMap, "z")
        await client.patch(Gadget, MergePatch({"spec": {"size": 2}}), name="first")
        await client.delete(Gadget, "first")
        await told.wait_for(*([kind, "delete", "z"] for kind in kinds[:2]), ["gadget", "delete", "first"])

    watched = [
        ["init", ""],
        ["init apply", "x"],
        ["init apply", "y"],
        ["init done", ""],
        ["apply", "z"],
        ["delete", "z"],
    ]
    assert of(told, "config map") == [["first page", "x"], ["listed", "x"], ["listed", "y"], *watched]
    assert of(told, "streamed config map") == watched
    assert of(told, "gadget") == [
        ["ready", "first"],
        ["first page", "first"],
        ["listed", "first"],
        ["init", ""],
        ["init apply", "first"],
        ["init done", ""],
        ["apply", "first"],
        ["delete", "first"],
    ]


async def test_kube_rs_derives_a_definition_that_is_enforced(peer: Peer, client: Client, kube_rs: Path):
    async with peer.running(kube_rs, peer.namespace) as told:
        await told.wait_for(["gadget", "ready", "first"])

    found = await client.get(Gadget, "first")
    assert found["spec"] == {"size": 1, "tags": ["small"]}
    assert found["status"] == {"ready": True}

"""Clients of others list, watch and write on every server alike; what they tell is what they tell on the real one."""

from __future__ import annotations

from conformance.peers.peer import Peer


async def test_lightkube_lists_watches_applies_and_patches(peer: Peer):
    told = await peer.run("lightkube_client.py")

    assert told == [
        ["listed", ["x", "y"]],
        ["created", {"k": "v"}],
        ["applied", {"k": "v"}],
        ["refused", "Conflict"],
        ["forced", {"k": "w"}],
        ["merged", {"k": "v", "m": "1"}],
        ["patched", {"k": "v"}],
        ["replaced", {"r": "1"}],
        ["pod", "two", "Always"],
        ["widgets", [2]],
        ["selected", ["b"]],
        ["watched", "ADDED", "a"],
        ["watched", "ADDED", "b"],
        ["watched", "MODIFIED", "b"],
        ["watched", "MODIFIED", "a"],
        ["watched", "MODIFIED", "a"],
        ["watched", "MODIFIED", "a"],
        ["watched", "DELETED", "a"],
        ["watched", "ADDED", "w"],
        ["watched", "MODIFIED", "w"],
        ["left", []],
    ]


async def test_the_official_client_lists_watches_and_patches(peer: Peer):
    told = await peer.run("kubernetes_client.py")

    assert told == [
        ["listed", ["x", "y"]],
        ["patched", {"k": "v", "m": "1"}],
        ["refused", 409, "Conflict"],
        ["watched", "ADDED", "a"],
        ["watched", "MODIFIED", "a"],
        ["watched", "DELETED", "a"],
        ["widgets", [2]],
        ["watched", "ADDED", "w"],
        ["version", "36"],
    ]


async def test_kr8s_lists_watches_and_patches(peer: Peer):
    told = await peer.run("kr8s_client.py")

    assert [line for line in told if line[0] != "watched"] == [
        ["listed", ["x", "y"]],
        ["widgets", [1]],
        ["patched", {"k": "w"}, {"of": "kr8s"}],
    ]
    assert [line[1:] for line in told if line[0] == "watched"] == [
        ["ADDED", "x"],
        ["ADDED", "y"],
        ["ADDED", "a"],
        ["MODIFIED", "a"],
        ["MODIFIED", "a"],
        ["DELETED", "a"],
    ]

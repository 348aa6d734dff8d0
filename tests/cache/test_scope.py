"""Scopes: what is chosen, as far as that can be known without the server."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from kubewright.cache import Intake, Scope
from tests.cache.objects import raw


@pytest.mark.parametrize(
    ("labels", "fields", "chosen"),
    [
        ("", "", True),
        ("app=web", "", True),
        ("app=db", "", False),
        ("", "metadata.name=a", True),
        ("", "metadata.name!=a", False),
        ("app=web", "spec.nodeName=n1", True),
        ("", "spec.nodeName=", False),
        ("", "status.phase=", True),
        ("", "spec.unschedulable=false", True),
        ("", "spec.hostNetwork=true", True),
        ("", "spec.nodeName.deeper=x", False),
    ],
)
def test_an_object_is_chosen_as_the_server_would(labels: str, fields: str, chosen: bool):
    document = json.loads(raw("a", labels={"app": "web"})) | {"spec": {"nodeName": "n1", "hostNetwork": True}}
    data = json.dumps(document).encode()

    assert Scope(labels=labels, fields=fields).chooses(Intake("Pod").read(data), data) is chosen


def test_scopes_are_compared_by_what_they_ask_for():
    first = Scope(labels="app=web", resync=timedelta(minutes=5))
    second = Scope(labels="app=db", resync=timedelta(minutes=5))

    assert first == Scope(labels="app=web", resync=timedelta(minutes=5))
    assert first.difference(second) == "labels: 'app=web', now 'app=db'"


def test_only_what_is_asked_for_is_sent():
    assert Scope().query() == {}
    assert Scope(labels="a", shard_selector="s").query() == {"labels": "a", "shard_selector": "s"}

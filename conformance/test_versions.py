"""Two addresses of the same objects: Events of both groups, autoscalers of both versions."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api

pytestmark = pytest.mark.section("1.4")

CORE = "/api/v1/namespaces/{ns}/events"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
SCALERS = "/apis/autoscaling/{}/namespaces/{{ns}}/horizontalpodautoscalers"


def core_event(api: Api) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": api.namespace}
    source = {"component": "tester"}
    return {
        "metadata": {"name": "e"},
        "involvedObject": about,
        "reason": "Tested",
        "message": "all is well",
        "type": "Normal",
        "source": source,
        "count": 2,
        "firstTimestamp": "2020-01-01T00:00:00Z",
    }


async def test_an_event_of_the_core_group_in_the_other(api: Api):
    await api.post(CORE, core_event(api))
    await api.get(EVENTS + "/e")
    await api.get(EVENTS)


async def test_an_event_of_the_new_group_in_the_core(api: Api):
    event = {
        "metadata": {"name": "n"},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "example.com/tester",
        "reportingInstance": "t-1",
        "action": "Testing",
        "reason": "Tested",
        "regarding": {"kind": "Pod", "name": "p", "namespace": api.namespace},
        "note": "all is well",
        "type": "Normal",
    }
    await api.post(EVENTS, event)
    await api.get(CORE + "/n")
    await api.get(EVENTS, query={"fieldSelector": "regarding.kind=Pod"})
    await api.get(CORE, query={"fieldSelector": "involvedObject.name=p"})


async def test_an_autoscaler_of_version_one_in_version_two(api: Api):
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 50,
    }
    await api.post(SCALERS.format("v1"), {"metadata": {"name": "h"}, "spec": spec})
    await api.get(SCALERS.format("v2") + "/h")
    await api.get(SCALERS.format("v1") + "/h")

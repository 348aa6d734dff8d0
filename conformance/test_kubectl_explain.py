"""``kubectl explain`` from OpenAPI v3 and v2, of built-in and custom kinds."""

from __future__ import annotations

import asyncio
import re

import pytest

from conformance.kubectl import Kubectl
from conformance.objects import crd

SCHEMA = {
    "type": "object",
    "description": "A widget is small.",
    "properties": {
        "spec": {
            "type": "object",
            "description": "What it should be.",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "description": "How large.", "minimum": 1},
                "tags": {"type": "array", "items": {"type": "string"}},
                "parts": {"type": "object", "additionalProperties": {"type": "string"}},
                "colour": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "any": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}

STRUCTURE = re.compile(r"[A-Z]+:|\s+\S+\t+<|\s+enum:")
KINDS = [
    "pods",
    "deployment.spec.strategy",
    "pods.spec.containers.resources.limits",
    "pod.spec.containers.ports --recursive",
    "service --recursive",
    "cronjobs.spec.jobTemplate.spec.template.spec.restartPolicy",
    "hpa --api-version=autoscaling/v1",
    "hpa.spec.metrics --api-version=autoscaling/v2",
    "crd.spec.versions.schema.openAPIV3Schema",
    "configmap.data",
    "events --api-version=events.k8s.io/v1",
    "node.status.conditions",
    "pod.spec.nothing",
    "nothings",
    "deployments --api-version=apps/v9",
    "deployment.spec.strategy --output=plaintext-openapiv2",
    "pods --output=plaintext-openapiv2",
    "configmap --recursive --output=plaintext-openapiv2",
]


async def explained(kubectl: Kubectl, line: str) -> None:
    """Run kubectl; of what it explains the structure is compared, not the prose."""
    await kubectl(f"explain {line}")
    told = kubectl.told[-1]
    told["out"] = "\n".join(line for line in told["out"].splitlines() if STRUCTURE.match(line))


@pytest.mark.parametrize("chosen", [slice(0, 6), slice(6, 12), slice(12, 18)], ids=["first", "second", "third"])
async def test_kinds_are_explained(kubectl: Kubectl, chosen: slice):
    for what in KINDS[chosen]:
        await explained(kubectl, what)


async def test_custom_kinds_are_explained(kubectl: Kubectl):
    group = f"{kubectl.namespace}.example.com"
    await kubectl.made(crd("widgets", group, SCHEMA))
    await kubectl.quietly(f"wait --for=condition=Established crd/widgets.{group}")
    # A real server that has much to do takes its time to publish a new kind, first in discovery, then in OpenAPI.
    # kubectl keeps what it discovered, and is content with widgets of another case; `api-resources` asks anew.
    async with asyncio.timeout(60):
        while "widgets" not in await kubectl(f"api-resources --api-group={group}", is_told=False):
            pass
        while group not in await kubectl(f"explain widgets.{group}", is_told=False):
            pass
    await explained(kubectl, f"widgets.{group}")
    await explained(kubectl, f"widgets.spec --api-version={group}/v1")
    await explained(kubectl, f"widgets.spec.parts --api-version={group}/v1")
    await explained(kubectl, f"widgets.{group} --recursive")
    await kubectl.quietly(f"delete crd widgets.{group}")

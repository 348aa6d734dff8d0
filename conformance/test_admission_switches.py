"""§1.12 Admission plug-ins that are switched off do nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio

from conformance.admission import (
    CLAIMS,
    DEFAULT_INGRESS,
    DEFAULT_STORAGE,
    INGRESS_CLASSES,
    INGRESSES,
    NAMESPACES,
    NODES,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    claim,
    existing,
    ingress,
    storage_class,
)
from conformance.exchange import Api
from conformance.objects import MAPS, PODS, config_map, pod
from conformance.planes import real_plane
from kubewright.testing import RealControlPlane

pytestmark = pytest.mark.section("1.12")

OFF: Final = [
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "NamespaceLifecycle",
    "PersistentVolumeClaimResize",
    "PodSecurity",
    "PodTopologyLabels",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def real(request: pytest.FixtureRequest) -> AsyncIterator[RealControlPlane | None]:
    """A real server without these plug-ins."""
    async with real_plane(request, disable_admission_plugins=OFF) as plane:
        yield plane


@pytest.fixture
def server_options() -> dict[str, Any]:
    """The same for an embedded one."""
    return {"disable_admission_plugins": OFF}


async def test_a_pod_is_what_was_sent(api: Api):
    await api.post(PODS, pod())


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": 7},
        {"priorityClassName": "nowhere"},
        {"runtimeClassName": "nowhere"},
        {"overhead": {"cpu": "1"}},
        {"serviceAccountName": "nobody"},
    ],
    ids=str,
)
async def test_a_pod_has_what_would_be_refused(api: Api, spec: dict[str, Any]):
    await api.post(PODS, pod(**spec))


async def test_a_default_priority_is_nobodys(api: Api):
    body = {"metadata": {"name": "all"}, "value": 11, "globalDefault": True}
    async with (
        existing(api, PRIORITY_CLASSES, body),
        existing(api, PRIORITY_CLASSES, {**body, "metadata": {"name": "more"}}),
    ):
        await api.get(f"{PRIORITY_CLASSES}/{api.namespace}-more")
        await api.post(PODS, pod())


async def test_storage_has_no_default_class_and_is_not_protected(api: Api):
    async with existing(api, STORAGE_CLASSES, storage_class("s", {DEFAULT_STORAGE: "true"})):
        await api.post(CLAIMS, claim())
        await api.delete(CLAIMS + "/c")


async def test_a_claim_grows_as_it_likes(api: Api):
    with api.unrecorded():
        await api.post(CLAIMS, claim(storageClassName="", volumeName="v"))
        await api.patch(CLAIMS + "/c/status", {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    await api.patch(CLAIMS + "/c", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})


async def test_an_ingress_has_no_default_class(api: Api):
    body = {"metadata": {"name": "i", "annotations": {DEFAULT_INGRESS: "true"}}, "spec": {"controller": "a.example/b"}}
    async with existing(api, INGRESS_CLASSES, body):
        await api.post(INGRESSES, ingress())


async def test_a_node_is_not_tainted_and_tells_nobody_where_it_is(api: Api):
    body = {"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "z"}}}
    async with existing(api, NODES, body) as name:
        await api.get(f"{NODES}/{name}")
        await api.post(PODS, pod(nodeName=name))


async def test_objects_are_created_in_a_namespace_that_ends_or_is_not_there(api: Api):
    with api.unrecorded():
        await api.delete(NAMESPACES + "/{ns}")
    await api.post(MAPS, config_map())
    await api.post("/api/v1/namespaces/{ns}-nowhere/configmaps", config_map())


async def test_every_namespace_may_go(api: Api):
    await api.delete(f"{NAMESPACES}/kube-public", {"dryRun": ["All"]})

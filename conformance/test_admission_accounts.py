"""§1.12 ServiceAccount: the account of a pod, its token and its secrets, on servers that have the plug-in on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from conformance.exchange import Api
from conformance.objects import PODS, deployment, pod
from conformance.planes import real_plane
from kubewright.testing import RealControlPlane

pytestmark = pytest.mark.section("1.12")

ACCOUNTS = "/api/v1/namespaces/{ns}/serviceaccounts"
ENFORCED = {"kubernetes.io/enforce-mountable-secrets": "true"}
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def real(request: pytest.FixtureRequest) -> AsyncIterator[RealControlPlane | None]:
    """A real server with all plug-ins that are on by default."""
    async with real_plane(request, disable_admission_plugins=[]) as plane:
        yield plane


@pytest.fixture
def server_options() -> dict[str, Any]:
    """The same for an embedded one."""
    return {"enable_admission_plugins": ["ServiceAccount"]}


def account(name: str = "default", annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **({"annotations": annotations} if annotations else {})}, **fields}


async def given(api: Api, *accounts: dict[str, Any]) -> None:
    """Accounts that no controller made."""
    with api.unrecorded():
        for body in accounts:
            answer = await api.post(ACCOUNTS, body)
            assert answer.status == 201, answer.text


async def created(api: Api, body: dict[str, Any]) -> None:
    """Create a pod, and tell of it without the name of the volume that only this one has."""
    with api.unrecorded():
        answer = await api.post(PODS, body)
    found = answer.body
    if answer.status == 201:
        volumes = [volume["name"] for volume in found["spec"].get("volumes", ())]
        made = [name for name in volumes if name.startswith("kube-api-access-") and len(name) == 21]
        assert not made or set(made[0].removeprefix("kube-api-access-")) <= set("bcdfghjklmnpqrstvwxz2456789")
        spec = found["spec"]
        told = {
            "spec": spec,
            "managed": [entry["fieldsV1"] for entry in found["metadata"]["managedFields"]],
            "generation": found["metadata"]["generation"],
        }
        text = json.dumps(told)
        for name in made:
            text = text.replace(name, "kube-api-access-<suffix>")
        found = json.loads(text)
    api.note(str(answer.status), found)


def container(name: str = "c", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "busybox:1.36", **fields}


def variable(secret: str) -> dict[str, Any]:
    return {"name": "V", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}


async def test_a_pod_without_an_account_is_refused_where_nobody_made_the_default_one(api: Api):
    await api.post(PODS, pod())


async def test_a_pod_waits_a_moment_for_the_default_account_of_its_namespace(api: Api):
    with api.unrecorded():
        asked = asyncio.create_task(api.post(PODS, pod()))
        await asyncio.sleep(0)
        await given(api, account())
        answer = await asked
    api.note("answered", answer.status)


@pytest.mark.parametrize("metadata", [{"name": "p"}, {"generateName": "p-"}, {}], ids=str)
async def test_a_pod_of_an_account_that_is_not_there_is_refused(api: Api, metadata: dict[str, str]):
    await api.post(PODS, {**pod(serviceAccountName="nobody"), "metadata": metadata})


async def test_the_old_name_of_the_field_means_the_same(api: Api):
    await api.post(PODS, pod(serviceAccount="nobody"))


async def test_an_account_is_looked_for_before_the_pod_is_looked_at(api: Api):
    await api.post(PODS, {"metadata": {"name": "UPPER"}, "spec": {"serviceAccountName": "nobody"}})


async def test_an_account_is_looked_for_before_a_priority(api: Api):
    await api.post(PODS, pod(serviceAccountName="nobody", priorityClassName="nowhere"))


async def test_templates_of_pods_need_no_account(api: Api):
    await api.post("/apis/apps/v1/namespaces/{ns}/deployments", deployment())


async def test_a_pod_gets_the_default_account_and_its_token(api: Api):
    await given(api, account())
    await created(api, pod())


async def test_a_pod_gets_the_token_of_its_account(api: Api):
    await given(api, account("a"))
    await created(api, pod(serviceAccountName="a"))


async def test_every_container_finds_the_token(api: Api):
    await given(api, account())
    mounts = [{"name": "v", "mountPath": "/v"}]
    spec: dict[str, Any] = {
        "initContainers": [container("i")],
        "containers": [container(), container("d", volumeMounts=mounts)],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }
    await created(api, pod(**spec))


async def test_a_container_that_mounts_something_there_gets_no_token(api: Api):
    await given(api, account())
    mounts = [{"name": "v", "mountPath": MOUNT_PATH}]
    spec: dict[str, Any] = {"containers": [container(volumeMounts=mounts)], "volumes": [{"name": "v", "emptyDir": {}}]}
    await created(api, pod(**spec))


async def test_a_volume_of_that_name_is_taken(api: Api):
    await given(api, account())
    await created(api, pod(volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}]))


@pytest.mark.parametrize(
    ("of_account", "of_pod"), [(False, None), (False, True), (True, False), (None, False), (True, None)], ids=str
)
async def test_a_token_is_mounted_unless_somebody_minds(api: Api, of_account: bool | None, of_pod: bool | None):
    says: dict[str, Any] = {} if of_pod is None else {"automountServiceAccountToken": of_pod}
    await given(api, account() | ({} if of_account is None else {"automountServiceAccountToken": of_account}))
    await created(api, pod(**says))


async def test_a_pod_pulls_images_with_the_secrets_of_its_account(api: Api):
    await given(api, account(imagePullSecrets=[{"name": "x"}, {"name": "y"}]))
    await created(api, pod())
    await created(api, pod("q", imagePullSecrets=[{"name": "z"}]))


async def test_a_dry_run_needs_an_account_too(api: Api):
    await api.post(PODS, pod(serviceAccountName="nobody"), query={"dryRun": "All"})


async def test_what_a_pod_got_stays_when_it_changes(api: Api):
    await given(api, account())
    with api.unrecorded():
        await api.post(PODS, pod())
        await api.delete(ACCOUNTS + "/default")
        answer = await api.patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})
    api.note("status", answer.status)
    api.note("account", answer.body["spec"]["serviceAccountName"])


@pytest.mark.parametrize(
    "spec",
    [
        {"serviceAccountName": "default"},
        {"imagePullSecrets": [{"name": "s"}]},
        {"containers": [container(env=[variable("s")])]},
        {"containers": [container(envFrom=[{"secretRef": {"name": "s"}}])]},
        {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
        {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]},
        {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
        {},
    ],
    ids=["account", "pull", "env", "envFrom", "volume", "projected", "token", "nothing"],
)
async def test_a_mirror_of_a_static_pod_has_no_account(api: Api, spec: dict[str, Any]):
    body = pod(nodeName="n", **spec)
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "m"}
    with api.unrecorded():
        answer = await api.post(PODS, body)
    api.note(str(answer.status), answer.body.get("message") or answer.body["spec"].get("serviceAccountName"))


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
        {"volumes": [{"name": "v", "secret": {"secretName": "own"}}]},
        {"containers": [container(env=[variable("other")])]},
        {"containers": [container(env=[variable("own")])]},
        {"containers": [container(envFrom=[{"secretRef": {"name": "other"}}])]},
        {"initContainers": [container("i", env=[variable("other")])]},
        {"initContainers": [container("i", envFrom=[{"secretRef": {"name": "other"}}])]},
        {"imagePullSecrets": [{"name": "pull"}, {"name": "own"}]},
    ],
    ids=["volume", "own volume", "env", "own env", "envFrom", "init env", "init envFrom", "pull"],
)
async def test_an_account_can_have_all_secrets_named(api: Api, spec: dict[str, Any]):
    secrets = {"secrets": [{"name": "own"}], "imagePullSecrets": [{"name": "pull"}]}
    await given(api, account("a", ENFORCED, automountServiceAccountToken=False, **secrets))
    with api.unrecorded():
        answer = await api.post(PODS, pod(serviceAccountName="a", **spec))
    api.note(str(answer.status), answer.body.get("message"))


async def test_debugging_reads_only_secrets_that_are_named(api: Api):
    await given(api, account("a", ENFORCED, automountServiceAccountToken=False, secrets=[{"name": "own"}]))
    with api.unrecorded():
        await api.post(PODS, pod(serviceAccountName="a"))
        for name in ("other", "own"):
            more = {"name": f"e-{name}", "image": "busybox", "env": [variable(name)]}
            path = PODS + "/p/ephemeralcontainers"
            answer = await api.patch(path, {"spec": {"ephemeralContainers": [more]}}, type="strategic")
            told = {key: answer.body.get(key) for key in ("code", "reason", "message", "details")}
            api.note(str(answer.status), told)
